"""Private servers: found, made, filled, driven and searched, whichever engine they are."""
