"""Servers of the user: reached, asked by SQL alone, and given a schema."""
