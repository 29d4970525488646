-- The store of tdelta, schema version 5. Every column is described in docs/store.md.

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
    operations INTEGER NOT NULL,
    elapsed_ns INTEGER NOT NULL,
    transactions TEXT NOT NULL,
    statements TEXT NOT NULL,
    errors TEXT NOT NULL,
    retries TEXT NOT NULL,
    cpu_user_seconds REAL NOT NULL,
    cpu_system_seconds REAL NOT NULL,
    client_cpu_user_seconds REAL NOT NULL DEFAULT 0,
    client_cpu_system_seconds REAL NOT NULL DEFAULT 0,
    asked_read_bytes INTEGER NOT NULL,
    asked_written_bytes INTEGER NOT NULL,
    device_read_bytes INTEGER NOT NULL,
    device_written_bytes INTEGER NOT NULL,
    minor_faults INTEGER NOT NULL,
    major_faults INTEGER NOT NULL,
    voluntary_switches INTEGER NOT NULL,
    involuntary_switches INTEGER NOT NULL,
    engine_counters TEXT NOT NULL,
    files_bytes TEXT NOT NULL,
    checkpoint_ns INTEGER NOT NULL,
    planted_cpu_ns INTEGER NOT NULL,
    planted_elapsed_ns INTEGER NOT NULL,
    late_starts INTEGER NOT NULL,
    backlog_max INTEGER NOT NULL,
    executed_operations INTEGER NOT NULL,
    stopped_by TEXT NOT NULL,
    pressure TEXT NOT NULL,
    traced TEXT NOT NULL DEFAULT '{}',
    run_delay_ns INTEGER,
    client_run_delay_ns INTEGER,
    others_delay_ns INTEGER,
    standstill TEXT NOT NULL DEFAULT '',
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
