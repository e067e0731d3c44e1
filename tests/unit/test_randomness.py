"""Each process has random numbers of its own, however it was started."""

import subprocess
import sys

import pytest

PROGRAM = """
import os
from roost.operations.randomness import RANDOM

if not os.fork():
    os.write(1, f"{RANDOM.getrandbits(64)}\\n".encode())
    os._exit(0)
os.wait()
print(RANDOM.getrandbits(64))
"""


@pytest.mark.process
def test_a_forked_process_has_others() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    child, parent = done.stdout.split()
    assert child != parent
