"""How often tests draw at random: a few times at each push, many times where ``TDELTA_THOROUGH`` is set."""

import os


def draws(at_a_push: int, thorough: int) -> int:
    """One of the two; the first so many of the same seeds are drawn at each push."""
    return thorough if os.environ.get("TDELTA_THOROUGH") else at_a_push
