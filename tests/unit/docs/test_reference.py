"""The reference pages are those that scripts/reference writes."""

import subprocess
import sys

from support.reference import SCRIPT


def test_the_reference_pages_are_up_to_date() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
