"""The dump of a small shop as SQL: ``python -m tests.support.shop_dump > shop.sql`` writes 10 MB."""

import random
import sys
from collections.abc import Iterable, Iterator

_TABLES = """\
CREATE TABLE customer (id INT PRIMARY KEY, name VARCHAR(60) NOT NULL, city VARCHAR(40), balance DECIMAL(12,2) NOT NULL);
CREATE TABLE product (id INT PRIMARY KEY, name VARCHAR(80) NOT NULL, price DECIMAL(10,2) NOT NULL, stock INT NOT NULL);
CREATE TABLE purchase (id INT PRIMARY KEY, customer INT NOT NULL REFERENCES customer (id), note VARCHAR(120));
CREATE TABLE purchase_line (purchase INT, line INT, product INT NOT NULL, amount INT NOT NULL,
  PRIMARY KEY (purchase, line));
CREATE INDEX purchase_customer ON purchase (customer);
"""
_ROWS_AT_ONCE = 500
_LINES = 3


def shop_dump(purchases: int) -> Iterator[str]:
    """The statements of the dump; the same for the same number."""
    drawn, customers, products = random.Random(41), max(1, purchases // 6), max(1, purchases // 30)
    owners, orders = [drawn.randrange(customers) for _ in range(purchases)], range(purchases)
    lines = ((order, line) for order in orders for line in range(_LINES))
    yield _TABLES
    yield from _rows("customer", (f"{i},'Customer {i}','City {i % 97}',{i % 1000}.50" for i in range(customers)))
    yield from _rows("product", (f"{i},'Product number {i}',{1 + i % 500}.99,{i % 300}" for i in range(products)))
    yield from _rows("purchase", (f"{i},{owners[i]},'a note on the parcel, {i:010}, and its delivery'" for i in orders))
    yield from _rows("purchase_line", (f"{i},{n},{drawn.randrange(products)},{1 + n}" for i, n in lines))


def _rows(table: str, rows: Iterable[str]) -> Iterator[str]:
    waiting = [f"({row})" for row in rows]
    for at in range(0, len(waiting), _ROWS_AT_ONCE):
        yield f"INSERT INTO {table} VALUES {','.join(waiting[at : at + _ROWS_AT_ONCE])};\n"


if __name__ == "__main__":
    sys.stdout.writelines(shop_dump(90_000))
