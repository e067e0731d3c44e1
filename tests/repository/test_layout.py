"""The layout that the documents describe is the one that exists."""

import ast
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "roost"
ARCHITECTURE = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.name != "__init__.py")

# A reader must be able to take in a folder as a whole, and to read a module in one sitting.
MODULES_MAX = 18
LINES_MAX = 350

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
_MODULE_PATH = re.compile(r"`([\w/.-]+\.py)`")
_FOLDER_PATH = re.compile(r"`((?:\w+/)+)`")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documents_name_modules_that_exist(document: Path) -> None:
    """A path is given from the root, compat or src/roost; a bare name may be in any folder."""
    names = {path.name for path in (*MODULES, *ROOT.glob("tests/**/*.py"))}
    for path in _MODULE_PATH.findall(document.read_text()):
        exists = (
            (ROOT / path).exists()
            or (ROOT / "compat" / path).exists()
            or (SOURCE / path).exists()
            or (SOURCE / "api" / path).exists()
            or ("/" not in path and path in names)
        )
        assert exists, f"{document.name} names {path}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documents_have_no_marks_of_a_merge(document: Path) -> None:
    lines = document.read_text().splitlines()
    assert [line for line in lines if line.startswith(("<" * 7, ">" * 7))] == []


def test_architecture_names_folders_that_exist() -> None:
    for path in _FOLDER_PATH.findall(ARCHITECTURE):
        found = [*SOURCE.glob(f"**/{path}"), *ROOT.glob(path)]
        assert found, path


def test_architecture_names_every_package() -> None:
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert {name for name in packages if f"`{name}/`" not in ARCHITECTURE} == set()


def test_no_folder_has_too_many_modules() -> None:
    counts = Counter(path.parent.relative_to(SOURCE).as_posix() for path in MODULES)
    assert {folder: count for folder, count in counts.items() if count > MODULES_MAX} == {}


def test_no_module_is_too_long() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in MODULES}
    assert {str(path): count for path, count in lengths.items() if count > LINES_MAX} == {}


def test_the_second_distribution_only_calls_roost() -> None:
    """Rules live in roost. So it needs nothing else, except to change a value of the settings."""
    paths = sorted((ROOT / "compat" / "placement").rglob("*.py"))
    assert paths
    allowed = {*sys.stdlib_module_names, "roost", "placement", "msgspec"}
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path} has a relative import"
                imported = {node.module or ""}
            elif isinstance(node, ast.Import):
                imported = {name.name for name in node.names}
            else:
                continue
            assert {name.partition(".")[0] for name in imported} <= allowed, path


def test_no_module_of_the_second_distribution_is_too_long() -> None:
    for path in (ROOT / "compat").rglob("*.py"):
        assert len(path.read_text().splitlines()) <= LINES_MAX, path
