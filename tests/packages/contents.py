"""What the distributions contain: the files of the repository that belong to them, and no others.

`python -m tests.packages.contents FOLDER VERSION` checks those in a folder, for scripts/release.
"""

import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from packaging.metadata import Metadata

ROOT = Path(__file__).parents[2]
# The folder of each distribution in the repository, the code in it, and where that lies in a wheel.
PROJECTS = {
    "roost": (ROOT, "src/roost", "roost"),
    "roost_placement": (ROOT / "compat", "placement", "placement"),
}
# What a source distribution has besides the code. hatchling adds the last two.
BESIDES = {
    "roost": {"README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", ".gitignore", "PKG-INFO"},
    "roost_placement": {
        *("README.md", "LICENSE", "hatch_build.py", "pyproject.toml", "scripts/placement-api"),
        *(".gitignore", "PKG-INFO"),
    },
}
# Links of Markdown and of HTML to a place that is not on the same page.
_LINK = re.compile(r"""(?:\]\(|(?:href|src)=")(?!#)([^)"\s]+)""")


def code_of(name: str) -> set[str]:
    """The files of a distribution's code in the repository, relative to its folder."""
    folder, code, _ = PROJECTS[name]
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", code]
    done = subprocess.run(listing, cwd=folder, capture_output=True, text=True, check=True)
    files = {file for file in done.stdout.split("\0") if file and (folder / file).exists()}
    # Types for the check of the console's modules.
    return {file for file in files if not file.endswith(".d.ts")}


def find(folder: Path, name: str) -> tuple[Path, Path]:
    """The wheel and the source distribution; exactly one of each."""
    [wheel] = folder.glob(f"{name}-*.whl")
    [source] = folder.glob(f"{name}-*.tar.gz")
    return wheel, source


def files_of(path: Path) -> set[str]:
    """Without the folder in which a source distribution has everything, and a wheel's own files."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return {name for name in wheel.namelist() if ".dist-info/" not in name}
    with tarfile.open(path) as source:
        return {member.name.partition("/")[2] for member in source if member.isfile()}


def raw_metadata_of(path: Path) -> bytes:
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            [name] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
            return wheel.read(name)
    with tarfile.open(path) as source:
        [member] = [each for each in source if re.fullmatch("[^/]+/PKG-INFO", each.name)]
        found = source.extractfile(member)
        assert found is not None
        return found.read()


def metadata_of(path: Path) -> Metadata:
    return Metadata.from_email(raw_metadata_of(path))


def complaints(folder: Path, version: str) -> Iterator[str]:
    """What is wrong with the distributions in a folder, a line each."""
    for name, (_, code, place) in PROJECTS.items():
        wheel, source = find(folder, name)
        expected = code_of(name)
        in_wheel = {file.replace(code, place, 1) for file in expected}
        scripts = {file for file in files_of(wheel) if ".data/scripts/" in file}
        yield from differences(wheel, files_of(wheel) - scripts, in_wheel)
        yield from differences(source, files_of(source), expected | BESIDES[name])
        for path in (wheel, source):
            metadata = metadata_of(path)
            if str(metadata.version) != version:
                yield f"{path.name} is version {metadata.version} instead of {version}"
            for link in _LINK.findall(metadata.description):
                if "://" not in link:
                    yield f"{path.name} has a README with a relative link: {link}"
        if raw_metadata_of(wheel) != raw_metadata_of(source):
            yield f"{wheel.name} and {source.name} have different metadata"


def differences(path: Path, found: set[str], expected: set[str]) -> Iterator[str]:
    yield from (f"{path.name} lacks {file}" for file in sorted(expected - found))
    yield from (f"{path.name} has {file} besides" for file in sorted(found - expected))


def main() -> None:
    folder, version = sys.argv[1:]
    found = list(complaints(Path(folder), version))
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
