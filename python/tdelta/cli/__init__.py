"""The command line: one file a command. It parses, calls and prints; it measures, judges and words nothing."""
