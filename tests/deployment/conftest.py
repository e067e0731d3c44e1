"""What the tests of roost-placement share: one installation, because making it takes a while."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deployment.installation import Installation


@pytest.fixture(scope="session")
def installation() -> Iterator[Installation]:
    with tempfile.TemporaryDirectory(prefix="roost-installation-") as name:
        # Other users run it, too: Apache is not run by root.
        Path(name).chmod(0o755)
        installation = Installation(Path(name))
        installation.create()
        yield installation
