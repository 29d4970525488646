"""Load agents, twins on hosts and fleets of runs: tdelta's processes on this machine or on more, by Ray.

Ray places, starts, watches and ends load agents (`load_agents`), which share the operations of each trial (`chunks`):
the hot path is tdelta's load loop, in a worker process on each node. One process of its own imports Ray (`cluster`);
the session speaks to it (`bridge`), and adds up what the agents measured (`merging`). Objects on several nodes are in
`hosts`, one run on each node in `fleet`.
"""
