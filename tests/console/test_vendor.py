"""Vendored libraries are the files that their packages have, and are used under their licences."""

import hashlib
import re

import pytest

from tests.console.static_files import VENDOR

README = (VENDOR / "README.md").read_text()
# file, package, version, file in the package, licence, sum
ROW = re.compile(
    r"^\| `(\S+)` \| ([^|]+) \| ([\d.]+) \| `\S+` \| ([^|]+) \| `([0-9a-f]{64})` \|$", re.MULTILINE
)
LIBRARIES = ROW.findall(README)


@pytest.mark.parametrize(
    ("name", "checksum"), [(name, checksum) for name, _, _, _, checksum in LIBRARIES]
)
def test_a_library_is_unmodified(name: str, checksum: str) -> None:
    assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == checksum


def test_every_library_is_listed() -> None:
    present = {path.name for path in VENDOR.iterdir()} - {"README.md", "preact.d.ts"}
    licences = {name for name in present if name.startswith("LICENSE.")}
    assert {name for name, *_ in LIBRARIES} == present - licences
    assert set(re.findall(r"`(LICENSE\.\w+)`", README)) == licences


@pytest.mark.parametrize("name", [name for name, *_ in LIBRARIES if name.endswith(".js")])
def test_a_library_has_types(name: str) -> None:
    assert (VENDOR / name).with_suffix(".d.ts").exists()
