"""Engines that run within a process: what their twins, workers and actions have in common."""
