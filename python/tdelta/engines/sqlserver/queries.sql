-- The statements for SQL Server. `names.toml` has the vendor's page beside every view and column.

-- name: identity
SELECT CAST(SERVERPROPERTY('ProductVersion') AS NVARCHAR(128)) AS version,
CAST(SERVERPROPERTY('Edition') AS NVARCHAR(128)) AS edition, CAST(SERVERPROPERTY('EngineEdition') AS INT) AS engine,
SUSER_SNAME() AS who, CAST(SERVERPROPERTY('MachineName') AS NVARCHAR(128)) AS machine;

-- name: encryptor
-- Catalog views show a login only what it has a right to: a key that encrypts may have no name here.
SELECT COALESCE(c.name, a.name) AS name, k.encryptor_type AS kind,
CONVERT(NVARCHAR(50), k.encryptor_thumbprint, 1) AS thumbprint, k.key_algorithm AS algorithm, k.key_length AS length
FROM sys.dm_database_encryption_keys AS k
LEFT JOIN master.sys.certificates AS c ON c.thumbprint = k.encryptor_thumbprint
LEFT JOIN master.sys.asymmetric_keys AS a ON a.thumbprint = k.encryptor_thumbprint
WHERE k.encryption_state = 3 AND k.database_id <> 2 ORDER BY k.create_date DESC;

-- name: tempdb
SELECT encryption_state AS state FROM sys.dm_database_encryption_keys WHERE database_id = 2;

-- name: long
WAITFOR DELAY '00:01:10';

-- name: census
SELECT name AS listed FROM sys.databases UNION ALL SELECT name AS listed FROM sys.backup_devices;

-- name: settings
SELECT name AS name, CAST(value_in_use AS NVARCHAR(256)) AS value FROM sys.configurations;

-- name: model
-- Options that new databases inherit; tdelta's own sets those of logging and checkpoints itself (`options`).
SELECT v.name AS name, v.value AS value FROM sys.databases AS d CROSS APPLY (VALUES
(N'new databases: collation', CAST(d.collation_name AS NVARCHAR(128))),
(N'new databases: read committed snapshot', CAST(d.is_read_committed_snapshot_on AS NVARCHAR(128))),
(N'new databases: snapshot isolation', CAST(d.snapshot_isolation_state AS NVARCHAR(128))),
(N'new databases: automatic statistics', CONCAT(d.is_auto_create_stats_on, d.is_auto_update_stats_on, d.is_auto_update_stats_async_on)),
(N'new databases: forced parameterization', CAST(d.is_parameterization_forced AS NVARCHAR(128))),
(N'new databases: query store', CAST(d.is_query_store_on AS NVARCHAR(128)))) AS v (name, value) WHERE d.name = N'model'
UNION ALL SELECT N'files of tempdb' AS name, CAST(COUNT(*) AS NVARCHAR(128)) AS value FROM tempdb.sys.database_files WHERE type = 0;

-- name: recovery
SELECT N'new databases: accelerated recovery' AS name, CAST(is_accelerated_database_recovery_on AS NVARCHAR(1)) AS value
FROM sys.databases WHERE name = N'model';

-- name: flags
DBCC TRACESTATUS(-1) WITH NO_INFOMSGS;

-- name: services
SELECT servicename AS name, instant_file_initialization_enabled AS value FROM sys.dm_server_services;

-- name: machine
SELECT cpu_count AS cpus, physical_memory_kb AS kilobytes FROM sys.dm_os_sys_info;

-- name: rights
SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE') AS state,
HAS_PERMS_BY_NAME(NULL, NULL, 'CREATE ANY DATABASE') AS makes,
HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER ANY CONNECTION') AS ends,
HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER SERVER STATE') AS alters,
IS_SRVROLEMEMBER('sysadmin') AS administers, IS_SRVROLEMEMBER('diskadmin') AS devices,
HAS_PERMS_BY_NAME('msdb.dbo.backupset', 'OBJECT', 'SELECT') AS history;

-- name: room
-- The volume of the folder for new files, as far as a database has a file on it; a volume may be mounted within another.
SELECT TOP (1) v.available_bytes AS bytes FROM sys.master_files AS f
CROSS APPLY sys.dm_os_volume_stats(f.database_id, f.file_id) AS v
WHERE CHARINDEX(v.volume_mount_point, CAST(SERVERPROPERTY('InstanceDefaultDataPath') AS NVARCHAR(260))) = 1
ORDER BY LEN(v.volume_mount_point) DESC;

-- name: others
SELECT COUNT(*) AS sessions
FROM sys.dm_exec_requests AS r JOIN sys.dm_exec_sessions AS s ON s.session_id = r.session_id
WHERE s.is_user_process = 1 AND r.session_id <> @@SPID;

-- name: lock_take
EXEC master.sys.sp_executesql N'DECLARE @got INT; EXEC @got = sys.sp_getapplock @Resource = @name, @LockMode = ''Exclusive'', @LockOwner = ''Session'', @LockTimeout = 0, @DbPrincipal = ''public''; SELECT CASE WHEN @got >= 0 THEN 1 ELSE 0 END AS got', N'@name NVARCHAR(255)', @name = {lock};

-- name: lock_seen
EXEC master.sys.sp_executesql N'SELECT CASE WHEN APPLOCK_TEST(''public'', @name, ''Exclusive'', ''Session'') = 0 THEN 1 ELSE 0 END AS seen', N'@name NVARCHAR(255)', @name = {lock};

-- name: lock_release
EXEC master.sys.sp_executesql N'DECLARE @got INT; EXEC @got = sys.sp_releaseapplock @Resource = @name, @LockOwner = ''Session'', @DbPrincipal = ''public''; SELECT @got AS released', N'@name NVARCHAR(255)', @name = {lock};

-- name: has_schema
SELECT 1 AS one FROM sys.databases WHERE name = {schema};

-- name: make_schema
CREATE DATABASE [{schema}];

-- name: options
ALTER DATABASE [{schema}] SET RECOVERY SIMPLE, PAGE_VERIFY CHECKSUM, AUTO_CLOSE OFF, AUTO_SHRINK OFF, DELAYED_DURABILITY = DISABLED, TARGET_RECOVERY_TIME = 60 SECONDS;

-- name: level
ALTER DATABASE [{schema}] SET COMPATIBILITY_LEVEL = {level};

-- name: write_mark
EXEC [{schema}].sys.sp_addextendedproperty @name = N'tdelta', @value = {mark};

-- name: make_key
EXEC [{schema}].sys.sp_executesql N'CREATE DATABASE ENCRYPTION KEY WITH ALGORITHM = {algorithm} ENCRYPTION BY SERVER {encryptor}';

-- name: rekey
EXEC [{schema}].sys.sp_executesql N'ALTER DATABASE ENCRYPTION KEY REGENERATE WITH ALGORITHM = {algorithm}';

-- name: checkpoint_schema
EXEC [{schema}].sys.sp_executesql N'CHECKPOINT';

-- name: drop_key
IF EXISTS (SELECT 1 FROM sys.dm_database_encryption_keys WHERE database_id = DB_ID({named})) EXEC [{schema}].sys.sp_executesql N'DROP DATABASE ENCRYPTION KEY';

-- name: encrypt
ALTER DATABASE [{schema}] SET ENCRYPTION ON;

-- name: decrypt
ALTER DATABASE [{schema}] SET ENCRYPTION OFF;

-- name: suspend
ALTER DATABASE [{schema}] SET ENCRYPTION SUSPEND;

-- name: resume
ALTER DATABASE [{schema}] SET ENCRYPTION RESUME;

-- name: conversion
SELECT encryption_state AS state, percent_complete AS percent_done, key_algorithm AS algorithm, key_length AS length,
CONVERT(NVARCHAR(30), regenerate_date, 126) AS regenerated
FROM sys.dm_database_encryption_keys WHERE database_id = DB_ID({named});

-- name: scan
SELECT encryption_scan_state AS scan FROM sys.dm_database_encryption_keys WHERE database_id = DB_ID({named});

-- name: await_scan
-- For an hour at most: a scan that was aborted or suspended does not end, which versions before 2019 do not show.
DECLARE @said NVARCHAR(400), @until DATETIME = DATEADD(HOUR, 1, GETUTCDATE());
WHILE EXISTS (SELECT 1 FROM sys.dm_database_encryption_keys WHERE database_id = DB_ID({named}) AND {unfinished})
BEGIN
IF GETUTCDATE() > @until OR EXISTS (SELECT 1 FROM sys.dm_database_encryption_keys WHERE database_id = DB_ID({named}) AND {stopped})
BEGIN
SELECT @said = CONCAT('the encryption scan does not end: encryption_state=', encryption_state, ', percent_complete=', percent_complete{scan})
FROM sys.dm_database_encryption_keys WHERE database_id = DB_ID({named});
{at_limit};
END;
WAITFOR DELAY '00:00:00.100';
END;

-- name: databases
SELECT name AS name FROM sys.databases
WHERE state = 0 AND HAS_DBACCESS(name) = 1 AND (name LIKE N'tdelta[_]%' OR name IN ({named}));

-- name: resume_left
-- A run that was killed may have left its scan suspended.
IF EXISTS (SELECT 1 FROM sys.dm_database_encryption_keys WHERE database_id = DB_ID({named}) AND encryption_scan_state = 2) ALTER DATABASE [{schema}] SET ENCRYPTION RESUME;

-- name: mark
SELECT CAST(value AS NVARCHAR(128)) AS mark FROM [{schema}].sys.extended_properties WHERE class = 0 AND name = N'tdelta';

-- name: drop_schema
-- Between the two statements a monitoring agent may take the one place that is left: both are tried again.
DECLARE @left INT = 3;
WHILE @left > 0 AND DB_ID({named}) IS NOT NULL
BEGIN
BEGIN TRY
SET @left -= 1;
IF EXISTS (SELECT 1 FROM sys.databases WHERE name = {named} AND state = 0) ALTER DATABASE [{schema}] SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE [{schema}];
END TRY
BEGIN CATCH
IF @left = 0 BEGIN; THROW; END;
WAITFOR DELAY '00:00:01';
END CATCH;
END;

-- name: statistics
UPDATE STATISTICS [{table}] WITH FULLSCAN;

-- name: data_bytes
SELECT SUM(total_pages) * 8192 AS bytes FROM [{schema}].sys.allocation_units;

-- name: tables
SELECT t.name AS name, k.encryption_state AS state, k.key_algorithm AS algorithm, k.key_length AS length
FROM [{schema}].sys.tables AS t LEFT JOIN sys.dm_database_encryption_keys AS k ON k.database_id = DB_ID({named});

-- name: indexes
SELECT name AS name FROM [{schema}].sys.indexes WHERE name IS NOT NULL AND is_disabled = 0;

-- name: backup
BACKUP DATABASE [{schema}] TO {device} WITH COPY_ONLY, FORMAT, {compression}{transfer};

-- name: folders
SELECT CAST(SERVERPROPERTY('InstanceDefaultDataPath') AS NVARCHAR(260)) AS data,
CAST(SERVERPROPERTY('InstanceDefaultLogPath') AS NVARCHAR(260)) AS log;

-- name: make_device
EXEC master.sys.sp_addumpdevice N'disk', N'tdelta_backup_{schema}', N'{data}tdelta_backup_{schema}.bak';

-- name: restore
RESTORE DATABASE [{restored}] FROM [tdelta_backup_{schema}] WITH MOVE N'{schema}' TO N'{data}{restored}.mdf', MOVE N'{schema}_log' TO N'{log}{restored}.ldf';

-- name: answer
SELECT COUNT_BIG(*) AS found FROM [{restored}].dbo.[{first_table}];

-- name: drop_device
IF EXISTS (SELECT 1 FROM sys.backup_devices WHERE name = N'tdelta_backup_{schema}') EXEC master.sys.sp_dropdevice N'tdelta_backup_{schema}', N'DELFILE';

-- name: backed_up
SELECT TOP (1) CAST(backup_size AS BIGINT) AS backup_raw_bytes, CAST(compressed_backup_size AS BIGINT) AS backup_bytes
FROM msdb.dbo.backupset WHERE database_name = {named} ORDER BY backup_set_id DESC;

-- name: presize
IF EXISTS (SELECT 1 FROM [{schema}].sys.database_files WHERE name = N'{file}' AND size < {pages}) ALTER DATABASE [{schema}] MODIFY FILE (NAME = [{file}], SIZE = {megabytes}MB);

-- name: plans
SELECT CONVERT(NVARCHAR(20), s.query_plan_hash, 1) AS plan_hash,
SUBSTRING(t.text, s.statement_start_offset / 2 + 1,
(CASE WHEN s.statement_end_offset = -1 THEN DATALENGTH(t.text) ELSE s.statement_end_offset END - s.statement_start_offset) / 2 + 1) AS text
FROM sys.dm_exec_query_stats AS s
CROSS APPLY sys.dm_exec_sql_text(s.sql_handle) AS t
CROSS APPLY sys.dm_exec_plan_attributes(s.plan_handle) AS a
WHERE a.attribute = 'dbid' AND CAST(a.value AS INT) = DB_ID({named});

-- name: session
SELECT @@SPID AS id;

-- name: traced_statements
-- Of tdelta's own database, and not those that ask for what is here.
SELECT DISTINCT CONVERT(NVARCHAR(20), s.query_hash, 1) AS id FROM sys.dm_exec_query_stats AS s
CROSS APPLY sys.dm_exec_plan_attributes(s.plan_handle) AS a CROSS APPLY sys.dm_exec_sql_text(s.sql_handle) AS t
WHERE a.attribute = 'dbid' AND CAST(a.value AS INT) = DB_ID() AND t.text NOT LIKE '%sys.dm[_]%';

-- name: traced
SELECT 'cpu_ns' AS name, SUM(total_worker_time) * 1000 AS value FROM sys.dm_exec_query_stats
WHERE CONVERT(NVARCHAR(20), query_hash, 1) IN ({statements})
UNION ALL SELECT 'session_reads' AS name, reads AS value FROM sys.dm_exec_sessions WHERE session_id = {session}
UNION ALL SELECT 'session_writes' AS name, writes AS value FROM sys.dm_exec_sessions WHERE session_id = {session}
UNION ALL SELECT 'session_logical_reads' AS name, logical_reads AS value FROM sys.dm_exec_sessions WHERE session_id = {session}
UNION ALL SELECT 'session_wait_ms' AS name, SUM(wait_time_ms) AS value FROM sys.dm_exec_session_wait_stats WHERE session_id = {session};

-- name: counters
SELECT 'file reads' AS name, SUM(num_of_reads) AS value FROM sys.dm_io_virtual_file_stats(NULL, NULL)
UNION ALL SELECT 'file bytes read' AS name, SUM(num_of_bytes_read) AS value FROM sys.dm_io_virtual_file_stats(NULL, NULL)
UNION ALL SELECT 'file bytes written' AS name, SUM(num_of_bytes_written) AS value FROM sys.dm_io_virtual_file_stats(NULL, NULL)
UNION ALL SELECT 'file read stall ms' AS name, SUM(io_stall_read_ms) AS value FROM sys.dm_io_virtual_file_stats(NULL, NULL)
UNION ALL SELECT 'file write stall ms' AS name, SUM(io_stall_write_ms) AS value FROM sys.dm_io_virtual_file_stats(NULL, NULL)
UNION ALL SELECT 'tempdb bytes written' AS name, SUM(num_of_bytes_written) AS value FROM sys.dm_io_virtual_file_stats(2, NULL)
UNION ALL SELECT 'temporary_bytes' AS name, SUM(u.internal_objects_alloc_page_count + u.user_objects_alloc_page_count) * 8192 AS value
FROM sys.dm_db_session_space_usage AS u JOIN sys.dm_exec_sessions AS s ON s.session_id = u.session_id
WHERE SUBSTRING(s.context_info, 1, 11) = 0x7464656c74612072756e20
UNION ALL SELECT 'wait ms' AS name, SUM(wait_time_ms) AS value FROM sys.dm_os_wait_stats
UNION ALL SELECT 'wait for a CPU ms' AS name, SUM(signal_wait_time_ms) AS value FROM sys.dm_os_wait_stats
UNION ALL SELECT 'wait for pages ms' AS name, SUM(wait_time_ms) AS value FROM sys.dm_os_wait_stats WHERE wait_type LIKE 'PAGEIOLATCH%'
UNION ALL SELECT 'wait for the log ms' AS name, SUM(wait_time_ms) AS value FROM sys.dm_os_wait_stats WHERE wait_type = 'WRITELOG'
UNION ALL SELECT 'pages_read' AS name, SUM(cntr_value) AS value FROM sys.dm_os_performance_counters
WHERE object_name LIKE '%Buffer Manager%' AND counter_name = 'Page reads/sec'
UNION ALL SELECT 'pages_written' AS name, SUM(cntr_value) AS value FROM sys.dm_os_performance_counters
WHERE object_name LIKE '%Buffer Manager%' AND counter_name = 'Page writes/sec';

-- name: statements
-- By the clock of SET STATISTICS TIME, of all statements in tdelta's own database but those that ask for what is here.
SELECT v.name AS name, SUM(v.value) AS value FROM sys.dm_exec_query_stats AS s
CROSS APPLY sys.dm_exec_plan_attributes(s.plan_handle) AS a CROSS APPLY sys.dm_exec_sql_text(s.sql_handle) AS t
CROSS APPLY (VALUES ('statement CPU microseconds', s.total_worker_time), ('statement elapsed microseconds', s.total_elapsed_time),
('statement logical reads', s.total_logical_reads)) AS v (name, value)
WHERE a.attribute = 'dbid' AND CAST(a.value AS INT) = DB_ID() AND t.text NOT LIKE '%sys.dm[_]%' GROUP BY v.name;

-- name: own_session
-- The session that asks also runs loads and rebuilds; these leave no plan behind.
SELECT 'asking session CPU ms' AS name, cpu_time AS value FROM sys.dm_exec_sessions WHERE session_id = @@SPID;

-- name: executed
SELECT cntr_value AS batches FROM sys.dm_os_performance_counters
WHERE object_name LIKE '%SQL Statistics%' AND counter_name = 'Batch Requests/sec';

-- name: cpu
SELECT (process_kernel_time_ms + process_user_time_ms) / 1000.0 AS seconds FROM sys.dm_os_sys_info;

-- name: checkpoint
CHECKPOINT;

-- name: drop_clean
DBCC DROPCLEANBUFFERS;

-- name: mark_session
SET CONTEXT_INFO 0x{mark};

-- name: marked_sessions
SELECT CAST(session_id AS NVARCHAR(10)) AS id FROM sys.dm_exec_sessions
WHERE SUBSTRING(context_info, 1, {length}) = 0x{mark} AND session_id <> @@SPID;

-- name: end_session
KILL {session};

-- name: session_off
SET IMPLICIT_TRANSACTIONS, CURSOR_CLOSE_ON_COMMIT, XACT_ABORT, NUMERIC_ROUNDABORT, ARITHIGNORE OFF;

-- name: session_counts
-- Without it every statement of a batch answers with how many rows it changed, ahead of the rows of its query.
SET NOCOUNT ON;

-- name: session_on
SET ANSI_NULLS, ANSI_NULL_DFLT_ON, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL, QUOTED_IDENTIFIER ON;

-- name: session_rows
SET ROWCOUNT 0;

-- name: session_text
SET TEXTSIZE 2147483647;

-- name: session_language
SET LANGUAGE us_english;

-- name: session_isolation
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

-- name: in_force
SELECT SIGN(@@OPTIONS & 2) AS implicit_transactions, SIGN(@@OPTIONS & 4) AS cursor_close_on_commit,
SIGN(@@OPTIONS & 16384) AS xact_abort, SIGN(@@OPTIONS & 8192) AS numeric_roundabort, SIGN(@@OPTIONS & 128) AS arithignore,
SIGN(@@OPTIONS & 512) AS nocount, SIGN(@@OPTIONS & 32) AS ansi_nulls, SIGN(@@OPTIONS & 1024) AS ansi_null_dflt_on,
SIGN(@@OPTIONS & 16) AS ansi_padding, SIGN(@@OPTIONS & 8) AS ansi_warnings, SIGN(@@OPTIONS & 64) AS arithabort,
SIGN(@@OPTIONS & 4096) AS concat_null_yields_null, SIGN(@@OPTIONS & 256) AS quoted_identifier,
@@TEXTSIZE AS [textsize], @@LANGUAGE AS [language], transaction_isolation_level AS isolation_level
FROM sys.dm_exec_sessions WHERE session_id = @@SPID;

-- name: hurry
SET LOCK_TIMEOUT {milliseconds};

-- name: parallel
-- Only if it differs, because setting it empties the database's plan cache.
IF NOT EXISTS (SELECT 1 FROM sys.database_scoped_configurations WHERE name = N'MAXDOP' AND value = {cpus})
ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = {cpus};
