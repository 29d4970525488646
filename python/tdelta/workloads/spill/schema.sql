-- A key and no other index, so that nothing is found in the order or the groups that the transactions ask for.
CREATE TABLE visits (
    id BIGINT NOT NULL PRIMARY KEY,
    visitor BIGINT NOT NULL,
    day INTEGER NOT NULL,
    paid BIGINT NOT NULL,
    note VARCHAR(112) NOT NULL
);
