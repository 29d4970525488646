-- sysbench's table, by sysbench's name.
CREATE TABLE sbtest1 (
    id BIGINT NOT NULL PRIMARY KEY,
    k BIGINT NOT NULL,
    c CHAR(120) NOT NULL,
    pad CHAR(60) NOT NULL
);

CREATE INDEX k_1 ON sbtest1 (k);
