-- The contents of a schema on a server of MySQL's family. The names of columns are those of
-- `tdelta.engines.server.catalog.Catalog`. Tables that keep their history are of a type of their own (MariaDB).

-- name: tables
SELECT TABLE_NAME AS name,
CASE WHEN TABLE_TYPE NOT IN ('BASE TABLE', 'SYSTEM VERSIONED') OR TABLE_NAME = 'tdelta_mark' THEN NULL
WHEN ENGINE = 'InnoDB' THEN '' ELSE CONCAT(COALESCE(ENGINE, 'unreadable'), ', not InnoDB') END AS why,
DATA_LENGTH AS bytes
FROM information_schema.TABLES WHERE TABLE_SCHEMA = {schema};

-- name: columns
SELECT TABLE_NAME AS name, COLUMN_NAME AS col, LOWER(DATA_TYPE) AS base, COLUMN_TYPE AS type,
IS_NULLABLE = 'YES' AS is_nullable,
EXTRA LIKE '%VIRTUAL GENERATED%' OR COALESCE(GENERATION_EXPRESSION, '') IN ('ROW START', 'ROW END') AS is_virtual,
EXTRA LIKE '%VIRTUAL GENERATED%' OR EXTRA LIKE '%STORED GENERATED%'
OR COALESCE(GENERATION_EXPRESSION, '') IN ('ROW START', 'ROW END') AS is_generated
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {schema} ORDER BY TABLE_NAME, ORDINAL_POSITION;

-- name: indexes
SELECT TABLE_NAME AS name, INDEX_NAME AS idx, NON_UNIQUE = 0 AS is_unique, INDEX_NAME = 'PRIMARY' AS is_primary,
INDEX_TYPE = 'BTREE' AND SUB_PART IS NULL AS is_ordered, COLUMN_NAME AS col
FROM information_schema.STATISTICS s
WHERE TABLE_SCHEMA = {schema} AND NOT EXISTS (SELECT 1 FROM information_schema.COLUMNS c
WHERE c.TABLE_SCHEMA = s.TABLE_SCHEMA AND c.TABLE_NAME = s.TABLE_NAME AND c.COLUMN_NAME = s.COLUMN_NAME
AND c.GENERATION_EXPRESSION IN ('ROW START', 'ROW END'))
ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX;

-- name: foreign
SELECT TABLE_NAME AS name, COLUMN_NAME AS col FROM information_schema.KEY_COLUMN_USAGE
WHERE TABLE_SCHEMA = {schema} AND REFERENCED_TABLE_NAME IS NOT NULL;
