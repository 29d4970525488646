-- The published procedure as a block, as many groups as table batches has rows.
BEGIN
    EXECUTE IMMEDIATE 'DROP TABLE dml_groups PURGE';
EXCEPTION
    WHEN OTHERS THEN
        IF SQLCODE <> -942 THEN RAISE; END IF;
END;
/
CREATE TABLE dml_groups (
    grp NUMBER NOT NULL,
    id NUMBER NOT NULL,
    name VARCHAR2(100) NOT NULL,
    ts TIMESTAMP WITH TIME ZONE NOT NULL
)
/
CREATE INDEX dml_groups_all ON dml_groups (grp, id, name, ts)
/
CREATE INDEX dml_groups_name ON dml_groups (grp, name)
/
DECLARE
    TYPE numbers IS TABLE OF NUMBER INDEX BY PLS_INTEGER;
    TYPE texts IS TABLE OF VARCHAR2(100) INDEX BY PLS_INTEGER;
    ids numbers;
    names texts;
    last_group PLS_INTEGER;
    began TIMESTAMP WITH TIME ZONE := TIMESTAMP '2024-01-01 00:00:00 +00:00';
BEGIN
    SELECT COUNT(*) INTO last_group FROM batches;
    SELECT id, name BULK COLLECT INTO ids, names FROM hundred ORDER BY id;
    FOR g IN 1 .. last_group LOOP
        FORALL i IN 1 .. ids.COUNT
            INSERT INTO dml_groups (grp, id, name, ts) VALUES (g, ids(i), names(i), began + NUMTODSINTERVAL(g, 'SECOND'));
        IF MOD(g, 2) = 1 THEN
            DELETE FROM dml_groups WHERE grp = g;
        ELSE
            UPDATE dml_groups SET name = LPAD(g, 80, 'x') WHERE grp = g;
        END IF;
        FOR fetched IN (SELECT id, name, ts FROM dml_groups WHERE grp = g) LOOP
            NULL;
        END LOOP;
        COMMIT;
    END LOOP;
END;
