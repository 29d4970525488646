"""Private servers on other hosts: driven there as here, by the same twins, in an actor of Ray's on each host."""
