"""Findings of a run: each module has a record, the model that fills it and the blocks that show it."""
