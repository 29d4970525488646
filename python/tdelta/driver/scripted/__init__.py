"""The load loop in Python, for engines whose only good client is Python's: what crates/tdelta-core does, step for step.

Scripts, draws, spans, retries, pacing and planted costs mean here what they mean there, and the report has the same
shape; what an operation does depends on (seed, stream, number) alone in both. The loop itself costs microseconds a
statement and not tens of nanoseconds, so it is for engines whose statements take much longer, and what it costs is
measured (`tdelta.driver.scripted.clients.Noop`) and told with every run.
"""
