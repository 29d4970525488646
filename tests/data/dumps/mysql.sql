
CREATE TABLE orders (id INT PRIMARY KEY, total INT NOT NULL);
INSERT INTO orders WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i, i * 7 FROM n;
CREATE PROCEDURE raise_total(IN wanted INT) UPDATE orders SET total = total + 1 WHERE id = wanted;
DELIMITER //
CREATE PROCEDURE look(IN wanted INT) BEGIN SELECT total FROM orders WHERE id = wanted; SELECT wanted; END//
