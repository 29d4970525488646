-- The published procedure as a batch, as many groups as table batches has rows. An insert from a table variable of 100 rows
-- stands for the array insert.
DROP TABLE IF EXISTS dml_groups
/
CREATE TABLE dml_groups (
    grp BIGINT NOT NULL,
    id BIGINT NOT NULL,
    name VARCHAR(100) NOT NULL,
    ts DATETIMEOFFSET NOT NULL
)
/
CREATE INDEX dml_groups_all ON dml_groups (grp, id, name, ts)
/
CREATE INDEX dml_groups_name ON dml_groups (grp, name)
/
SET NOCOUNT ON;
DECLARE @g BIGINT = 1, @last_group BIGINT, @id BIGINT, @name VARCHAR(100), @ts DATETIMEOFFSET;
DECLARE @rows TABLE (id BIGINT PRIMARY KEY, name VARCHAR(100) NOT NULL);
SELECT @last_group = COUNT(*) FROM batches;
INSERT INTO @rows (id, name) SELECT id, name FROM hundred;
WHILE @g <= @last_group
BEGIN
    BEGIN TRANSACTION;
    INSERT INTO dml_groups (grp, id, name, ts)
    SELECT @g, id, name, DATEADD(SECOND, @g, CAST('2024-01-01 00:00:00 +00:00' AS DATETIMEOFFSET)) FROM @rows;
    IF @g % 2 = 1
        DELETE FROM dml_groups WHERE grp = @g;
    ELSE
        UPDATE dml_groups SET name = REPLICATE('x', 80) WHERE grp = @g;
    SELECT @id = id, @name = name, @ts = ts FROM dml_groups WHERE grp = @g;
    COMMIT;
    SET @g = @g + 1;
END
