-- The contents of a schema in the connected database; a partitioned table counts as one. The names of columns are
-- those of `tdelta.engines.server.catalog.Catalog`.

-- name: tables
SELECT c.relname AS name,
CASE WHEN c.relkind = 'f' THEN 'foreign' WHEN c.relkind IN ('r', 'p') AND NOT c.relispartition THEN '' END AS why,
coalesce((SELECT sum(pg_table_size(p.relid)) FROM pg_partition_tree(c.oid) p WHERE p.isleaf), pg_table_size(c.oid))::text
AS bytes
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = {schema} ORDER BY c.relname;

-- name: columns
SELECT c.relname AS name, a.attname AS col, t.typname AS base, format_type(a.atttypid, a.atttypmod) AS type,
(NOT a.attnotnull)::text AS is_nullable, (a.attgenerated = 'v')::text AS is_virtual,
(a.attgenerated <> '')::text AS is_generated
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_type t ON t.oid = a.atttypid
WHERE n.nspname = {schema} AND a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p')
ORDER BY c.relname, a.attnum;

-- name: indexes
SELECT c.relname AS name, ic.relname AS idx, i.indisunique::text AS is_unique, i.indisprimary::text AS is_primary,
(am.amname = 'btree' AND i.indpred IS NULL AND i.indisvalid
AND (k.attnum = 0 OR i.indcollation[k.place - 1] IN (0, a.attcollation)))::text AS is_ordered, a.attname AS col
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_class ic ON ic.oid = i.indexrelid JOIN pg_am am ON am.oid = ic.relam
CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place)
LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum AND k.attnum > 0
WHERE n.nspname = {schema} AND c.relkind IN ('r', 'p') AND k.place <= i.indnkeyatts
ORDER BY c.relname, ic.relname, k.place;

-- name: foreign
SELECT c.relname AS name, a.attname AS col
FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (f.conkey)
WHERE n.nspname = {schema} AND f.contype = 'f';

-- name: elsewhere
SELECT n.nspname AS schema, count(*)::text AS total
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ({schema}, 'information_schema') AND n.nspname !~ '^pg_'
GROUP BY n.nspname ORDER BY n.nspname;
