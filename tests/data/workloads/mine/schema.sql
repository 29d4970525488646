CREATE TABLE parents (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(9) NOT NULL);
CREATE TABLE children (
    parent_id BIGINT NOT NULL,
    line BIGINT NOT NULL,
    born BIGINT,
    PRIMARY KEY (parent_id, line)
);
CREATE INDEX by_name ON parents (name);
