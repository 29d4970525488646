-- The statements that a PostgreSQL server is asked.

-- name: write_pages
DO $$ BEGIN IF (SELECT count(*) FROM pg_available_extensions WHERE name IN ('pg_buffercache', 'pg_prewarm')) = 2
THEN CREATE EXTENSION pg_buffercache; EXECUTE format('COPY (SELECT relfilenode, relblocknumber FROM pg_buffercache
WHERE relforknumber = 0 AND reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())) TO %L',
current_setting('data_directory') || '/tdelta_pages'); DROP EXTENSION pg_buffercache; END IF; END $$;

-- name: read_pages
DO $$ BEGIN EXECUTE format('COPY tdelta_pages FROM %L', current_setting('data_directory') || '/tdelta_pages'); END $$;

-- name: fetch_pages
DO $$ BEGIN PERFORM pg_prewarm(relation, 'buffer', 'main', block, block) FROM (SELECT
pg_filenode_relation(0, file) AS relation, block FROM tdelta_pages) AS pages WHERE relation IS NOT NULL
AND block < pg_relation_size(relation) / current_setting('block_size')::int; END $$;

-- The kind of file system that the server itself sees under its data directory: the last one mounted at the longest
-- mount point, in which blanks and backslashes are octal digits.
-- name: file_system
SELECT m[2] FROM regexp_split_to_table(pg_read_file('/proc/self/mountinfo', 0, 1048576), E'\n')
WITH ORDINALITY AS lines (line, number), regexp_match(line, '^\S+ \S+ \S+ \S+ (\S+) .* - (\S+) ') AS m
WHERE starts_with(current_setting('data_directory') || '/',
rtrim(replace(replace(m[1], '\040', ' '), '\134', '\'), '/') || '/')
ORDER BY length(m[1]) DESC, number DESC LIMIT 1;

-- name: database_counters
SELECT c.name, c.value::bigint FROM (
SELECT sum(blks_read) AS blks_read, sum(blks_hit) AS blks_hit, sum(temp_files) AS temp_files,
sum(temp_bytes) AS temp_bytes, sum(blk_read_time) AS read_ms, sum(blk_write_time) AS write_ms FROM pg_stat_database) AS d,
LATERAL (VALUES ('pages_read', blks_read), ('buffer_reads', blks_read), ('buffer_requests', blks_hit + blks_read),
('temporary_files', temp_files), ('temporary_bytes', temp_bytes),
('read_microseconds', (read_ms * 1000)::numeric), ('write_microseconds', (write_ms * 1000)::numeric)) AS c (name, value);

-- name: checkpointer_counters
SELECT 'checkpoints', num_timed + num_requested FROM pg_stat_checkpointer;

-- name: bgwriter_counters
SELECT 'checkpoints', checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter;

-- name: bgwriter_writes
SELECT 'pages_written', buffers_checkpoint + buffers_clean + buffers_backend FROM pg_stat_bgwriter;

-- name: io_writes
SELECT 'pages_written', sum(writes)::bigint FROM pg_stat_io WHERE object = 'relation';

-- name: io_bytes_writes
SELECT 'pages_written', (sum(write_bytes) / current_setting('block_size')::int)::bigint
FROM pg_stat_io WHERE object = 'relation';

-- name: log_counter
SELECT 'log_bytes', pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint;

-- The machine is the address at which this session reached the server, which names no host where it is a loopback's.
-- name: identity
SELECT version() AS text, current_setting('server_version') AS version, current_user AS who,
CASE WHEN NOT inet_server_addr() <<= '127.0.0.0/8' AND inet_server_addr() <> '::1' THEN host(inet_server_addr()) END
AS machine;

-- name: rights
SELECT quote_ident(current_database()) AS base, quote_ident(current_user) AS who,
has_database_privilege(current_database(), 'CREATE')::text AS may;

-- name: long
SELECT pg_sleep(70);

-- name: census
SELECT nspname AS listed FROM pg_namespace WHERE nspname NOT LIKE 'pg\_%'
UNION ALL SELECT datname AS listed FROM pg_database;

-- name: others
SELECT count(*)::text FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid();

-- name: settings
SELECT name, setting || coalesce(' ' || unit, '') AS value FROM pg_settings;

-- An advisory lock by the hash of the name, which sessions of all databases see. An oid has no sign.
-- name: lock_take
SELECT pg_try_advisory_lock(hashtext({lock}), hashtext({lock}));

-- name: lock_seen
SELECT (count(*) > 0)::int FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2
AND classid::text = (hashtext({lock})::bigint & 4294967295)::text
AND objid::text = (hashtext({lock})::bigint & 4294967295)::text;

-- name: lock_release
SELECT pg_advisory_unlock(hashtext({lock}), hashtext({lock}));

-- name: make_schema
DO $tdelta$ BEGIN CREATE SCHEMA "{schema}"; COMMENT ON SCHEMA "{schema}" IS {mark}; END $tdelta$;

-- name: marks
SELECT nspname AS name, obj_description(oid, 'pg_namespace') AS mark FROM pg_namespace
WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
AND obj_description(oid, 'pg_namespace') LIKE {like} ORDER BY nspname;

-- name: marked_sessions
SELECT pid::text AS id FROM pg_stat_activity
WHERE application_name = {mark} AND usename = current_user AND pid <> pg_backend_pid();

-- Tables with their indexes and what they keep out of line.
-- name: data_bytes
SELECT sum(pg_total_relation_size(c.oid))::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname = {schema};

-- name: extension
SELECT extname FROM pg_extension WHERE extname IN ('pg_tde', 'open_pg_tde');

-- name: tells_encryption
SELECT oid::regproc::text FROM pg_proc WHERE proname IN ('pg_tde_is_encrypted', 'open_pg_tde_is_encrypted') LIMIT 1;

-- name: tables
SELECT c.relname AS name, {state} AS state FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = {schema} AND c.relkind IN ('r', 'p') ORDER BY c.relname;
