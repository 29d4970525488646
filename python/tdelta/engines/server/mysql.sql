-- The statements that servers of MySQL's family are asked.

-- name: identity
SELECT VERSION() AS version, @@version_comment AS comment, CURRENT_USER() AS user, @@hostname AS machine;

-- name: schemas
SELECT SCHEMA_NAME AS name FROM information_schema.SCHEMATA;

-- name: long
SELECT SLEEP(70);

-- Neither server can comment a schema in the statement that makes it.
-- name: mark
CREATE TABLE {schema}.tdelta_mark (run VARCHAR(64) PRIMARY KEY) ENGINE = InnoDB COMMENT = {mark};

-- name: marks
SELECT TABLE_SCHEMA AS name, TABLE_COMMENT AS mark FROM information_schema.TABLES WHERE TABLE_NAME = 'tdelta_mark';

-- name: empty_schemas
SELECT SCHEMA_NAME AS name FROM information_schema.SCHEMATA WHERE NOT EXISTS (SELECT 1 FROM
information_schema.TABLES WHERE TABLE_SCHEMA = SCHEMA_NAME);

-- name: data_bytes
SELECT SUM(DATA_LENGTH + INDEX_LENGTH) FROM information_schema.TABLES WHERE TABLE_SCHEMA = {schema};

-- name: marked_sessions
SELECT ID AS id FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND IS_USED_LOCK({lock}) = ID;

-- name: tables
SELECT TABLE_NAME AS name FROM information_schema.TABLES
WHERE TABLE_SCHEMA = {schema} AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED');

-- name: compressed
SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')
AND TABLE_SCHEMA = 'tdelta' AND COALESCE(CREATE_OPTIONS, '') {like};

-- name: options_of_encryption
SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'tdelta'
AND CREATE_OPTIONS LIKE '%ENCRYPT%' ORDER BY TABLE_NAME;
