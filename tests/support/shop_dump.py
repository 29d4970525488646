"""The dump of a small shop: four tables with foreign keys, an index and a view, as SQL that the servers' clients take.

``python -m tests.support.shop_dump > shop.sql`` writes 10 MB; a number behind it is the number of orders.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator

_TABLES = """\
CREATE TABLE customer (id INT PRIMARY KEY, name VARCHAR(60) NOT NULL, city VARCHAR(40), balance DECIMAL(12,2) NOT NULL);
CREATE TABLE product (id INT PRIMARY KEY, name VARCHAR(80) NOT NULL, price DECIMAL(10,2) NOT NULL, stock INT NOT NULL);
CREATE TABLE purchase (id INT PRIMARY KEY, customer INT NOT NULL REFERENCES customer (id), note VARCHAR(120));
CREATE TABLE purchase_line (purchase INT NOT NULL, line INT NOT NULL, product INT NOT NULL, amount INT NOT NULL,
  PRIMARY KEY (purchase, line));
CREATE INDEX purchase_customer ON purchase (customer);
"""
_VIEW = "CREATE VIEW spent AS SELECT customer, count(*) AS purchases FROM purchase GROUP BY customer;\n"
_ROWS_AT_ONCE = 500
_LINES = 3


def shop_dump(purchases: int = 60_000) -> Iterator[str]:
    """The statements of the dump; the same for the same number."""
    drawn = random.Random(41)
    customers, products = max(1, purchases // 6), max(1, purchases // 30)
    yield _TABLES
    yield from _rows("customer", (f"{i},'Customer {i}','City {i % 97}',{i % 1000}.50" for i in range(customers)))
    yield from _rows("product", (f"{i},'Product number {i}',{1 + i % 500}.99,{i % 300}" for i in range(products)))
    notes = ("leave it at the door please", "a present, no invoice in the parcel", "call before delivery")
    yield from _rows(
        "purchase", (f"{i},{drawn.randrange(customers)},'{notes[i % 3]} {i:08}'" for i in range(purchases))
    )
    lines = (f"{i},{n},{drawn.randrange(products)},{1 + n}" for i in range(purchases) for n in range(_LINES))
    yield from _rows("purchase_line", lines)
    yield _VIEW


def _rows(table: str, rows: Iterator[str]) -> Iterator[str]:
    waiting: list[str] = []
    for row in rows:
        waiting.append(f"({row})")
        if len(waiting) == _ROWS_AT_ONCE:
            yield f"INSERT INTO {table} VALUES {','.join(waiting)};\n"
            waiting.clear()
    if waiting:
        yield f"INSERT INTO {table} VALUES {','.join(waiting)};\n"


if __name__ == "__main__":
    sys.stdout.writelines(shop_dump(*map(int, sys.argv[1:])))
