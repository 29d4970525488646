-- The published procedure, as many groups as table batches has rows; an insert from arrays is the array insert.
DROP TABLE IF EXISTS dml_groups
/
CREATE TABLE dml_groups (grp BIGINT NOT NULL, id BIGINT NOT NULL, name VARCHAR(100) NOT NULL, ts TIMESTAMPTZ NOT NULL)
/
CREATE INDEX dml_groups_all ON dml_groups (grp, id, name, ts)
/
CREATE INDEX dml_groups_name ON dml_groups (grp, name)
/
CREATE OR REPLACE PROCEDURE dml_routine() LANGUAGE plpgsql AS $$
DECLARE
    last_group BIGINT;
    ids BIGINT[];
    names VARCHAR[];
    fetched RECORD;
BEGIN
    SELECT COUNT(*) INTO last_group FROM batches;
    SELECT ARRAY_AGG(id ORDER BY id), ARRAY_AGG(name ORDER BY id) INTO ids, names FROM hundred;
    FOR g IN 1 .. last_group LOOP
        INSERT INTO dml_groups (grp, id, name, ts)
        SELECT g, one.id, one.name, TIMESTAMPTZ '2024-01-01 00:00:00+00' + g * INTERVAL '1 second'
        FROM UNNEST(ids, names) AS one (id, name);
        IF MOD(g, 2) = 1 THEN
            DELETE FROM dml_groups WHERE grp = g;
        ELSE
            UPDATE dml_groups SET name = LPAD(g::text, 80, 'x') WHERE grp = g;
        END IF;
        FOR fetched IN SELECT id, name, ts FROM dml_groups WHERE grp = g LOOP
        END LOOP;
        COMMIT;
    END LOOP;
END
$$
/
CALL dml_routine()
