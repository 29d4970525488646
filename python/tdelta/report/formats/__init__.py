"""The formats of ``tdelta show`` and ``tdelta export``: one module for each; `tdelta.cli.formats` has a line for each.

A format of the answer is a function from `Answered` to text or bytes. Names and labels are their owner's and may hold
anything, so each format escapes what it is given; none decides anything.
"""
