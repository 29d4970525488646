"""Texts and names as SQL has them, for workers, too: nothing here is slow to import."""


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
