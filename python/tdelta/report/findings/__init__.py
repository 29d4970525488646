"""Findings as people read them: a module for each kind, with its text for a terminal and its blocks for the page."""
