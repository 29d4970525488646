"""The machine, the pressure on it, and its room: facts that go with every run.

Read from ``/proc`` and ``/sys``; what a kernel does not tell is None or left out, never guessed. No host name and no
user name is ever read into a fact. Beside the facts stands one measurement, `measure_cipher_cost`: what a page of AES
costs on this CPU.
"""
