"""Load agents: several processes, on this machine or on more, that share the operations of each trial.

Ray places, starts, watches and ends them. What is in the hot path is tdelta's load loop, in a worker process on each
node (`host`), which is given its segment of the operations and asked for what it measured. One process of its own, the
coordinator (`coordinator`), imports Ray; the session speaks to it as to any worker (`pool`), sets the start of each
trial, and adds up what the agents measured (`merging`).
"""
