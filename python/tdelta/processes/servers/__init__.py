"""Private servers of tdelta's own: made, supervised, frozen while idle, removed."""
