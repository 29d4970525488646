"""The figures of the page, one a file: each takes records and returns a `Figure` in two layouts with its numbers."""
