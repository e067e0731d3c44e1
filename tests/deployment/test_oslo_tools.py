"""The generators of oslo.policy and oslo.config know the rules and options of roost."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("oslopolicy-sample-generator", '#"placement:reshaper:reshape": "rule:service_api"'),
        ("oslo-config-generator", "#url_prefix ="),
        ("oslopolicy-list-redundant", ""),
    ],
)
def test_the_generators_know_roost(program: str, expected: str) -> None:
    command = [str(Path(sys.executable).parent / program), "--namespace", "roost"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout
