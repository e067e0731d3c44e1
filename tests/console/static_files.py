"""The files that the console serves, for tests that read them."""

import re
from pathlib import Path

STATIC = Path(__file__).parents[2] / "src" / "roost" / "console" / "static"
VENDOR = STATIC / "vendor"
INDEX = STATIC / "index.html"
DOCS = STATIC / "docs.html"
PAGES = (INDEX, DOCS)

# Everything that is in the wheel.
FILES = sorted(
    path for path in STATIC.rglob("*") if path.is_file() and not path.name.endswith(".d.ts")
)
OWN = [path for path in FILES if not path.is_relative_to(VENDOR)]
MODULES = [path for path in OWN if path.suffix == ".js"]

_COMMENT = re.compile(r"/\*.*?\*/|(?<![:\"'`\\/])//[^\n]*", re.DOTALL)
_IMPORT = re.compile(r"""(?:\bfrom\s*|\bimport\s*\(?\s*)["']([^"']+)["']""")


def name(path: Path) -> str:
    return path.relative_to(STATIC).as_posix()


def code(path: Path) -> str:
    """A module without its comments; roughly, which is enough to look for words."""
    return _COMMENT.sub("", path.read_text())


def imports(path: Path) -> list[str]:
    """What a module imports, as it says, statically or when it needs it."""
    return _IMPORT.findall(code(path))
