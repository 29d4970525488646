"""Output for people and programs: sentences, terminal text, live progress, the JSON document.

Everything here turns finished values into words; nothing is measured, estimated or decided. No function prints: text
is returned, so that a pipe, a terminal and a golden file see the same characters.
"""
