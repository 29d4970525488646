-- The statements for Oracle databases. No view of the diagnostics pack is touched. `names.toml` has the vendor's page
-- beside every view and column. PL/SQL blocks keep the semicolon of their END.

-- name: identity
SELECT product AS product, version AS version, SYS_CONTEXT('USERENV', 'SESSION_USER') AS who,
SYS_CONTEXT('USERENV', 'SERVER_HOST') AS machine
FROM product_component_version
WHERE product LIKE 'Oracle%';

-- `version` is that of the release, whichever update of it is installed.
-- name: update
SELECT version_full AS version FROM product_component_version WHERE product LIKE 'Oracle%';

-- name: sees_views
SELECT COUNT(*) AS found FROM session_privs WHERE privilege = 'SELECT ANY DICTIONARY';

-- name: roles
SELECT role AS role FROM session_roles;

-- name: privileges
SELECT privilege AS privilege FROM session_privs;

-- name: may_lock
SELECT COUNT(*) AS found FROM all_procedures WHERE owner = 'SYS' AND object_name = 'DBMS_LOCK';

-- name: default_tablespace
SELECT default_tablespace AS tablespace FROM user_users;

-- name: tablespaces
SELECT tablespace_name AS tablespace FROM dba_tablespaces
WHERE contents = 'PERMANENT' AND status = 'ONLINE' AND tablespace_name NOT IN ('SYSTEM', 'SYSAUX');

-- name: tablespace
SELECT encrypted AS encrypted FROM dba_tablespaces WHERE tablespace_name = {tablespace};

-- name: algorithm
SELECT e.encryptionalg AS algorithm, e.status AS status
FROM v$encrypted_tablespaces e JOIN v$tablespace t ON t.ts# = e.ts# AND t.con_id = e.con_id
WHERE t.name = {tablespace};

-- name: wallet
SELECT status AS status, wallet_type AS kind FROM v$encryption_wallet;

-- name: others_encrypted
SELECT contents AS contents, MAX(encrypted) AS encrypted
FROM dba_tablespaces
WHERE contents IN ('UNDO', 'TEMPORARY')
GROUP BY contents;

-- name: role
SELECT database_role AS role, open_mode AS mode_of, SYS_CONTEXT('USERENV', 'CON_NAME') AS container FROM v$database;

-- name: database_settings
SELECT log_mode AS log_mode, force_logging AS force_logging, flashback_on AS flashback_on FROM v$database;

-- name: tablespace_settings
SELECT block_size AS block_size, logging AS logging, force_logging AS force_logging, bigfile AS bigfile,
extent_management AS extent_management, allocation_type AS allocation_type,
segment_space_management AS segment_space_management, def_tab_compression AS def_tab_compression
FROM dba_tablespaces WHERE tablespace_name = {tablespace};

-- name: room
SELECT (m.tablespace_size - m.used_space) * t.block_size AS bytes
FROM dba_tablespace_usage_metrics m JOIN dba_tablespaces t ON t.tablespace_name = m.tablespace_name
WHERE m.tablespace_name = {tablespace};

-- name: recovery_room
SELECT SUM(r.space_limit - r.space_used + r.space_reclaimable) AS bytes FROM v$recovery_file_dest r
WHERE NOT EXISTS (SELECT 1 FROM v$archive_dest)
OR EXISTS (SELECT 1 FROM v$archive_dest d WHERE d.status = 'VALID' AND d.destination = 'USE_DB_RECOVERY_FILE_DEST');

-- name: sessions
SELECT COUNT(*) AS sessions FROM v$session
WHERE type = 'USER' AND status = 'ACTIVE' AND sid <> SYS_CONTEXT('USERENV', 'SID');

-- name: long
BEGIN DBMS_SESSION.SLEEP(70); END;;

-- name: census
SELECT username AS listed FROM all_users UNION ALL SELECT tablespace_name AS listed FROM dba_tablespaces;

-- name: settings
SELECT name AS name, display_value AS value FROM v$system_parameter;

-- name: lock_take
SELECT CASE WHEN SYS.DBMS_LOCK.REQUEST(ORA_HASH({lock}, 1073741823), 6, 0) IN (0, 4) THEN 1 ELSE 0 END AS got FROM dual;

-- name: lock_seen
SELECT CASE WHEN COUNT(*) > 0 THEN 1 ELSE 0 END AS seen FROM v$lock
WHERE type = 'UL' AND id1 = ORA_HASH({lock}, 1073741823);

-- name: lock_release
SELECT SYS.DBMS_LOCK.RELEASE(ORA_HASH({lock}, 1073741823)) AS released FROM dual;

-- name: has_schema
SELECT 1 AS one FROM all_users WHERE username = UPPER({schema});

-- name: make_schema
CREATE USER {schema} NO AUTHENTICATION DEFAULT TABLESPACE {tablespace} QUOTA UNLIMITED ON {tablespace};

-- name: make_tablespace
DECLARE said VARCHAR2(4000); BEGIN
SELECT MAX(value) INTO said FROM v$system_parameter WHERE name = 'db_create_file_dest';
IF said IS NULL THEN RAISE_APPLICATION_ERROR(-20001, 'DB_CREATE_FILE_DEST is not set: it says where the files of a new tablespace go'); END IF;
EXECUTE IMMEDIATE 'CREATE TABLESPACE {tablespace} DATAFILE SIZE 64M AUTOEXTEND ON NEXT 64M';
SELECT encrypted INTO said FROM dba_tablespaces WHERE tablespace_name = '{tablespace}';
IF said <> 'NO' THEN RAISE_APPLICATION_ERROR(-20002, 'this database encrypts every new tablespace, so none can begin plain'); END IF;
EXECUTE IMMEDIATE 'ALTER USER {schema} DEFAULT TABLESPACE {tablespace} QUOTA UNLIMITED ON {tablespace}'; END;;

-- name: convert
ALTER TABLESPACE {tablespace} ENCRYPTION {mode} {how};

-- name: offline
ALTER TABLESPACE {tablespace} OFFLINE NORMAL;

-- name: online
ALTER TABLESPACE {tablespace} ONLINE;

-- name: own_tablespace
SELECT COUNT(*) AS found FROM dba_users WHERE username = UPPER({schema}) AND default_tablespace = {tablespace};

-- name: executed
SELECT value AS executed FROM v$con_sysstat WHERE name = 'execute count';

-- name: make_mark
CREATE TABLE {schema}.tdelta_mark (run VARCHAR2(64) PRIMARY KEY);

-- name: write_mark
COMMENT ON TABLE {schema}.tdelta_mark IS {mark};

-- name: marks
SELECT LOWER(owner) AS name, comments AS mark FROM all_tab_comments WHERE table_name = 'TDELTA_MARK';

-- name: unmarked
SELECT LOWER(u.username) AS name FROM dba_users u
WHERE SUBSTR(u.username, 1, 7) = 'TDELTA_' AND u.authentication_type = 'NONE' AND u.created > SYSDATE - 1
AND NOT EXISTS (SELECT 1 FROM dba_objects o
WHERE o.owner = u.username AND o.object_name <> 'TDELTA_MARK' AND o.object_type <> 'INDEX');

-- name: drop_unmarked
-- Without CASCADE, so that it fails where there is more than the table for the mark.
BEGIN BEGIN EXECUTE IMMEDIATE 'DROP TABLE {schema}.tdelta_mark PURGE';
EXCEPTION WHEN OTHERS THEN IF SQLCODE <> -942 THEN RAISE; END IF; END;
EXECUTE IMMEDIATE 'DROP USER {schema}'; END;;

-- name: drop_schema
-- The user goes last, with its mark: where this is cut, a later run finds it and knows its tablespace.
DECLARE own NUMBER; BEGIN
SELECT COUNT(*) INTO own FROM dba_tablespaces WHERE tablespace_name = '{tablespace}';
IF own > 0 THEN BEGIN EXECUTE IMMEDIATE 'ALTER TABLESPACE {tablespace} ONLINE'; EXCEPTION WHEN OTHERS THEN NULL; END;
FOR made IN (SELECT table_name FROM dba_tables WHERE owner = UPPER('{schema}') AND table_name <> 'TDELTA_MARK'
AND nested = 'NO' AND (iot_type IS NULL OR iot_type = 'IOT')) LOOP
EXECUTE IMMEDIATE 'DROP TABLE {schema}."' || made.table_name || '" CASCADE CONSTRAINTS PURGE'; END LOOP;
EXECUTE IMMEDIATE 'DROP TABLESPACE {tablespace}'; END IF;
EXECUTE IMMEDIATE 'DROP USER {schema} CASCADE'; END;;

-- name: use_schema
ALTER SESSION SET CURRENT_SCHEMA = {schema};

-- name: drop_table
BEGIN EXECUTE IMMEDIATE 'DROP TABLE {table} CASCADE CONSTRAINTS PURGE';
EXCEPTION WHEN OTHERS THEN IF SQLCODE <> -942 THEN RAISE; END IF; END;;

-- name: statistics
BEGIN DBMS_STATS.GATHER_TABLE_STATS(SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA'), UPPER({table})); END;;

-- name: data_bytes
SELECT SUM(bytes) AS bytes FROM dba_segments WHERE owner = UPPER({schema});

-- name: tables
SELECT LOWER(t.table_name) AS name, s.encrypted AS encrypted
FROM dba_tables t JOIN dba_tablespaces s ON s.tablespace_name = t.tablespace_name
WHERE t.owner = UPPER({schema}) AND t.table_name <> 'TDELTA_MARK';

-- name: indexes
SELECT LOWER(index_name) AS name FROM dba_indexes WHERE owner = UPPER({schema}) AND status <> 'UNUSABLE';

-- The pluggable database's own, where sessions count; blocks and redo are written by processes of the whole instance.
-- name: counters
SELECT CASE name WHEN 'physical reads' THEN 'pages_read' WHEN 'redo size' THEN 'log_bytes' ELSE name END AS name,
value AS value
FROM v$con_sysstat
WHERE name IN ('physical reads', 'physical read bytes', 'redo size', 'db block gets', 'consistent gets',
'user commits', 'physical reads direct')
UNION ALL SELECT CASE name WHEN 'physical writes' THEN 'pages_written' WHEN 'redo writes' THEN 'log_writes'
ELSE name END AS name, value AS value
FROM v$sysstat
WHERE name IN ('physical writes', 'physical write bytes', 'redo writes');

-- name: temporary_counters
SELECT 'temporary_bytes' AS name, s.value * p.value AS value
FROM v$con_sysstat s JOIN v$system_parameter p ON p.name = 'db_block_size'
WHERE s.name = 'physical writes direct temporary tablespace';

-- name: block_counters
SELECT 'pages_encrypted' AS name, SUM(blocks_encrypted) AS value FROM v$encrypted_tablespaces
UNION ALL SELECT 'pages_decrypted' AS name, SUM(blocks_decrypted) AS value FROM v$encrypted_tablespaces;

-- Blocks are encrypted by background processes, too, which serve all pluggable databases of the instance.
-- name: cpu
SELECT SUM(value) / 1000000 AS seconds
FROM (SELECT value AS value FROM v$con_sys_time_model WHERE stat_name = 'DB CPU'
UNION ALL SELECT value AS value FROM v$sys_time_model WHERE stat_name = 'background cpu time');

-- name: checkpoint
ALTER SYSTEM CHECKPOINT;

-- name: flush_cache
ALTER SYSTEM FLUSH BUFFER_CACHE;

-- name: mark_session
BEGIN DBMS_APPLICATION_INFO.SET_CLIENT_INFO({mark}); END;;

-- name: marked_sessions
SELECT sid || ',' || serial# AS id FROM v$session
WHERE client_info = {mark} AND sid <> SYS_CONTEXT('USERENV', 'SID');

-- name: end_session
ALTER SYSTEM KILL SESSION '{session}' IMMEDIATE;

-- name: session_format
ALTER SESSION SET NLS_LANGUAGE = 'AMERICAN' NLS_TERRITORY = 'AMERICA' NLS_NUMERIC_CHARACTERS = '.,'
NLS_DATE_FORMAT = 'YYYY-MM-DD HH24:MI:SS' NLS_TIMESTAMP_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF'
NLS_SORT = 'BINARY' NLS_COMP = 'BINARY' NLS_LENGTH_SEMANTICS = 'CHAR';

-- name: session_zone
ALTER SESSION SET TIME_ZONE = '+00:00';

-- name: session_isolation
ALTER SESSION SET ISOLATION_LEVEL = READ COMMITTED;

-- name: in_force
SELECT MAX(CASE parameter WHEN 'NLS_LANGUAGE' THEN value END) AS nls_language,
MAX(CASE parameter WHEN 'NLS_TERRITORY' THEN value END) AS nls_territory,
MAX(CASE parameter WHEN 'NLS_NUMERIC_CHARACTERS' THEN value END) AS nls_numeric_characters,
MAX(CASE parameter WHEN 'NLS_DATE_FORMAT' THEN value END) AS nls_date_format,
MAX(CASE parameter WHEN 'NLS_TIMESTAMP_FORMAT' THEN value END) AS nls_timestamp_format,
MAX(CASE parameter WHEN 'NLS_SORT' THEN value END) AS nls_sort,
MAX(CASE parameter WHEN 'NLS_COMP' THEN value END) AS nls_comp,
MAX(CASE parameter WHEN 'NLS_LENGTH_SEMANTICS' THEN value END) AS nls_length_semantics,
MAX(TO_CHAR(CURRENT_TIMESTAMP, 'TZH:TZM')) AS time_zone
FROM nls_session_parameters;

-- name: hurry
ALTER SESSION SET DDL_LOCK_TIMEOUT = {seconds};

-- name: memory_manual
ALTER SESSION SET WORKAREA_SIZE_POLICY = MANUAL;

-- name: memory_sort
ALTER SESSION SET SORT_AREA_SIZE = {bytes};

-- name: memory_hash
ALTER SESSION SET HASH_AREA_SIZE = {bytes};

-- name: session_id
SELECT SYS_CONTEXT('USERENV', 'SID') AS sid FROM dual;

-- name: traced_counters
SELECT CASE n.name WHEN 'redo size' THEN 'log_bytes' ELSE n.name END AS name, s.value AS value
FROM v$sesstat s JOIN v$statname n ON n.statistic# = s.statistic#
WHERE s.sid = {session} AND n.name IN ('physical reads', 'consistent gets', 'db block gets', 'redo size');

-- name: traced_cpu
SELECT 'cpu_ns' AS name, value * 1000 AS value FROM v$sess_time_model WHERE sid = {session} AND stat_name = 'DB CPU';

-- name: traced_statements
SELECT DISTINCT sql_id AS id FROM v$sql
WHERE parsing_schema_name = SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA') AND command_type IN (2, 6, 7);

-- name: traced_rows
SELECT 'rows_changed' AS name, SUM(rows_processed) AS value FROM v$sqlstats WHERE sql_id IN ({statements});

-- A new file for each trace, so that it has nothing of earlier ones.
-- name: trace_begin
BEGIN EXECUTE IMMEDIATE 'ALTER SESSION SET TRACEFILE_IDENTIFIER = ''tdelta' || TO_CHAR(SYSTIMESTAMP, 'DDDHH24MISSFF3') || '''';
DBMS_MONITOR.SESSION_TRACE_ENABLE(waits => FALSE, binds => FALSE); END;;

-- name: trace_end
BEGIN DBMS_MONITOR.SESSION_TRACE_DISABLE; END;;

-- name: trace_lines
SELECT c.payload AS line FROM v$diag_trace_file_contents c
WHERE c.trace_filename = (SELECT REGEXP_SUBSTR(i.value, '[^/\]+$') FROM v$diag_info i WHERE i.name = 'Default Trace File');

-- name: explain
EXPLAIN PLAN FOR {statement};

-- name: explained
SELECT plan_table_output AS line FROM TABLE(DBMS_XPLAN.DISPLAY(NULL, NULL, 'BASIC'));
