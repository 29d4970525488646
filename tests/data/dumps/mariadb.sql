
CREATE TABLE customers (id BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT, name VARCHAR(80) NOT NULL,
  mail VARCHAR(80) UNIQUE, score DOUBLE,
  loud VARCHAR(80) AS (upper(name)) VIRTUAL, half DOUBLE AS (score / 2) STORED, KEY by_name (name),
  KEY by_start (name(3)), FULLTEXT KEY words (name));
CREATE TABLE `line items` (customer BIGINT UNSIGNED NOT NULL, n SMALLINT NOT NULL, note TEXT, PRIMARY KEY (customer, n),
  FOREIGN KEY (customer) REFERENCES customers (id));
CREATE TABLE codes (code CHAR(3) NOT NULL, word VARCHAR(10), UNIQUE KEY (code));
CREATE TABLE loose (x INT);
CREATE TABLE old (id INT PRIMARY KEY) ENGINE = MyISAM;
CREATE VIEW seen AS SELECT * FROM customers;
INSERT INTO customers (id, name, mail, score)
  SELECT seq, concat('aé', seq), concat(seq, '@'), seq - 1 FROM seq_1_to_4000;
INSERT INTO `line items` SELECT seq, seq MOD 5, 'aaa' FROM seq_1_to_100;
INSERT INTO codes VALUES ('abc', 'Aabcdef'), ('abd', NULL);
INSERT INTO loose VALUES (1);
