"""The databases that tdelta can test: one folder an engine, which holds all that knows it, and one registry line."""
