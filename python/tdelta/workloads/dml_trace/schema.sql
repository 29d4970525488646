-- The published table and its two indexes; a time is whole seconds. It has no key of its own, as there.
CREATE TABLE batches (
    grp BIGINT NOT NULL PRIMARY KEY,
    made BIGINT NOT NULL
);

CREATE TABLE dml_trace (
    grp BIGINT NOT NULL,
    id BIGINT NOT NULL,
    name VARCHAR(100) NOT NULL,
    ts BIGINT NOT NULL
);

CREATE TABLE hundred (
    id BIGINT NOT NULL PRIMARY KEY,
    name VARCHAR(100) NOT NULL
);

CREATE INDEX dml_trace_all ON dml_trace (grp, id, name, ts);
CREATE INDEX dml_trace_name ON dml_trace (grp, name);
