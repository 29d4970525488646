-- The published procedure, as many groups as table batches has rows. An insert from a table of 100 rows stands for the array
-- insert, which procedures here do not have.
DROP TABLE IF EXISTS dml_groups
/
CREATE TABLE dml_groups (grp BIGINT NOT NULL, id BIGINT NOT NULL, name VARCHAR(100) NOT NULL, ts DATETIME(6) NOT NULL)
/
CREATE INDEX dml_groups_all ON dml_groups (grp, id, name, ts)
/
CREATE INDEX dml_groups_name ON dml_groups (grp, name)
/
DROP PROCEDURE IF EXISTS dml_routine
/
CREATE PROCEDURE dml_routine()
BEGIN
    DECLARE g, last_group BIGINT;
    SELECT COUNT(*) INTO last_group FROM batches;
    SET g = 1;
    WHILE g <= last_group DO
        START TRANSACTION;
        INSERT INTO dml_groups (grp, id, name, ts)
        SELECT g, id, name, TIMESTAMP '2024-01-01 00:00:00' + INTERVAL g SECOND FROM hundred ORDER BY id;
        IF MOD(g, 2) = 1 THEN
            DELETE FROM dml_groups WHERE grp = g;
        ELSE
            UPDATE dml_groups SET name = LPAD(g, 80, 'x') WHERE grp = g;
        END IF;
        BEGIN
            DECLARE is_over INT DEFAULT 0;
            DECLARE an_id BIGINT;
            DECLARE a_name VARCHAR(100);
            DECLARE a_time DATETIME(6);
            DECLARE of_group CURSOR FOR SELECT id, name, ts FROM dml_groups WHERE grp = g;
            DECLARE CONTINUE HANDLER FOR NOT FOUND SET is_over = 1;
            OPEN of_group;
            REPEAT
                FETCH of_group INTO an_id, a_name, a_time;
            UNTIL is_over = 1 END REPEAT;
            CLOSE of_group;
        END;
        COMMIT;
        SET g = g + 1;
    END WHILE;
END
/
CALL dml_routine()
