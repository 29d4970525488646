"""Output of ``tdelta analyze``: text for a terminal, a JSON document, an HTML page with its figures."""
