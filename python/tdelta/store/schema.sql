-- The store of tdelta, schema version 1. Every column is described in docs/formats.md. Those of what a trial
-- measured are the fields of the record (rows.py).

CREATE TABLE runs (
    number INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    seed INTEGER NOT NULL,
    created_unix_seconds REAL NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('planned', 'running', 'done', 'interrupted', 'failed')),
    settings TEXT NOT NULL,
    machine TEXT NOT NULL,
    versions TEXT NOT NULL,
    result TEXT
);

CREATE TABLE run_facts (
    run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (run_id, key)
);

CREATE TABLE trials (
    trial INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    round INTEGER NOT NULL,
    block INTEGER NOT NULL,
    position INTEGER NOT NULL,
    condition_key TEXT NOT NULL,
    condition TEXT NOT NULL,
    instance TEXT NOT NULL,
    started_unix_seconds REAL NOT NULL,
    {measured},
    UNIQUE (run_id, block, position),
    UNIQUE (run_id, block, condition_key)
);

CREATE TABLE histograms (
    trial INTEGER NOT NULL REFERENCES trials (trial) ON DELETE CASCADE,
    name TEXT NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (trial, name)
);

CREATE TABLE calibrations (
    number INTEGER PRIMARY KEY,
    calibration_id TEXT NOT NULL UNIQUE,
    created_unix_seconds REAL NOT NULL,
    engine TEXT NOT NULL,
    workload TEXT NOT NULL,
    key TEXT NOT NULL,
    calibration TEXT NOT NULL
);

CREATE TABLE seals (
    part TEXT PRIMARY KEY,
    digest TEXT NOT NULL
);
