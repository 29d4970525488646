"""A database as users have it, built by a process that goes without closing it: its last row is in the log only."""

import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

CUSTOMERS, ORDERS, LINES, DETAILS, LOGS, SMALL = 6_000, 18_000, 36_000, 6_000, 9_000, 24
SHOP_ROWS = CUSTOMERS + 1 + ORDERS + LINES + DETAILS + LOGS + sum(range(SMALL))
SHOP_TABLES = 6 + SMALL
DETAILS_TABLE = 'Order Details; :x "quoted" (2)'

SCHEMA = (
    "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT UNIQUE, city TEXT COLLATE NOCASE,"
    " balance INTEGER DEFAULT 0 CHECK (balance >= 0), shown TEXT AS (upper(name)) VIRTUAL)",
    "CREATE INDEX customers_city ON customers (city, name)",
    "CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, customer_id INTEGER NOT NULL REFERENCES customers (id),"
    " placed INTEGER, status TEXT CHECK (status IN ('new', 'paid', 'sent')), note TEXT, total REAL)",
    "CREATE INDEX orders_customer ON orders (customer_id, placed)",
    "CREATE INDEX orders_new ON orders (placed) WHERE status = 'new'",
    "CREATE TABLE lines (order_id INTEGER REFERENCES orders (id), line INTEGER, product TEXT, quantity INT, price REAL,"
    " PRIMARY KEY (order_id, line)) WITHOUT ROWID",
    'CREATE TABLE "Order Details; :x ""quoted"" (2)" ("select" TEXT PRIMARY KEY, "a b" TEXT) STRICT',
    "CREATE TABLE logs (message TEXT, level INTEGER)",
    "CREATE TABLE audit (at INTEGER, what TEXT)",
    "CREATE VIEW rich AS SELECT * FROM customers WHERE balance > 500",
)
TRIGGERS = (
    "CREATE TRIGGER customers_audit AFTER UPDATE ON customers BEGIN INSERT INTO audit VALUES (new.id, 'updated'); END",
    "CREATE TRIGGER logs_refuse BEFORE INSERT ON logs WHEN new.level > 8 BEGIN SELECT RAISE(ABORT, 'too loud'); END",
)


def left_open(path: Path) -> Path:
    """Have a process of its own build a shop at ``path``, which it does not close."""
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, __file__, str(path)], check=True)
    return path


def build(path: str) -> None:
    """Six tables with rows, foreign keys, indexes, triggers and a view, and 24 small ones, in WAL mode."""
    draw = random.Random(20_261_122)
    database = sqlite3.connect(path, isolation_level=None)
    pragmas = ("journal_mode = wal", "wal_autocheckpoint = 0", "synchronous = off", "user_version = 42")
    for pragma in pragmas:
        database.execute(f"PRAGMA {pragma}")
    database.execute("BEGIN")
    for statement in SCHEMA:
        database.execute(statement)
    for table, columns, rows in filled(draw):
        marks = ", ".join("?" * len(columns.split(",")))
        database.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)
    for trigger in TRIGGERS:
        database.execute(trigger)
    for number in range(SMALL):
        name = f"small_{number}"
        database.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, name TEXT, parent INTEGER REFERENCES {name})")
        database.executemany(f"INSERT INTO {name} (name) VALUES (?)", [("a name",)] * number)
    database.execute("COMMIT")
    database.execute("PRAGMA wal_checkpoint(truncate)")
    last = (CUSTOMERS + 1, "in the log only", "log@example.org")
    database.execute("INSERT INTO customers (id, name, email) VALUES (?, ?, ?)", last)
    os._exit(0)  # a close would fold the log in


def filled(draw: random.Random) -> Iterator[tuple[str, str, Iterator[tuple[object, ...]]]]:
    text: Callable[[int], str] = lambda length: "".join(draw.choices("abcdefghijklmnop qrstuvwxyz", k=length))  # noqa: E731
    cities, states = ["Bern", "Basel", "chur"], ["new", "paid", "sent"]
    yield (
        "customers",
        "id, name, email, city, balance",
        (
            (i, text(20), f"u{i}@example.org", draw.choice(cities), draw.randrange(1000))
            for i in range(1, CUSTOMERS + 1)
        ),
    )
    yield (
        "orders",
        "customer_id, placed, status, note, total",
        ((draw.randint(1, CUSTOMERS), i, draw.choice(states), text(60), draw.random()) for i in range(ORDERS)),
    )
    yield (
        "lines",
        "order_id, line, product, quantity, price",
        ((i // 3 + 1, i % 3, text(20), draw.randrange(9), draw.random()) for i in range(LINES)),
    )
    yield '"Order Details; :x ""quoted"" (2)"', '"select", "a b"', ((f"key {i:06}", text(60)) for i in range(DETAILS))
    yield "logs", "message, level", ((text(80), i % 10) for i in range(LOGS))


if __name__ == "__main__":
    build(sys.argv[1])
