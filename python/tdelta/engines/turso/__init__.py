"""Turso: embedded, SQLite's file format and dialect, encrypted page by page. Only its worker imports it."""
