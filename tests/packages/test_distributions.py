"""The distributions as users get them: their files, and what they say about themselves."""

import re
import shutil
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.utils import parse_sdist_filename, parse_wheel_filename

from tests.packages.contents import PROJECTS, ROOT, complaints, find, metadata_of

SETTINGS = {
    name: tomllib.loads((folder / "pyproject.toml").read_text())
    for name, (folder, _, _) in PROJECTS.items()
}
SOURCE = SETTINGS["roost"]["project"]["urls"]["Source"]


def version_of(distributions: Path) -> str:
    wheel, _ = find(distributions, "roost")
    return str(parse_wheel_filename(wheel.name)[1])


def test_all_are_one_version(distributions: Path) -> None:
    versions = set()
    for name in PROJECTS:
        wheel, source = find(distributions, name)
        versions |= {parse_wheel_filename(wheel.name)[1], parse_sdist_filename(source.name)[1]}
    assert len(versions) == 1


@pytest.mark.parametrize("name", PROJECTS)
def test_metadata_is_complete(distributions: Path, name: str) -> None:
    wheel, _ = find(distributions, name)
    metadata = metadata_of(wheel)
    assert metadata.summary
    assert metadata.keywords
    assert metadata.license_expression == "Apache-2.0"
    assert metadata.license_files
    assert metadata.description_content_type == "text/markdown"
    assert {
        "Homepage",
        "Documentation",
        "Source",
        "Issues",
        "Changelog",
    } <= metadata.project_urls.keys()
    for kind in ("Development Status", "Intended Audience", "Operating System", "Topic"):
        assert any(each.startswith(f"{kind} :: ") for each in metadata.classifiers), kind


def test_roost_placement_needs_roost_of_its_version(distributions: Path) -> None:
    wheel, _ = find(distributions, "roost_placement")
    needed = [str(each) for each in metadata_of(wheel).requires_dist or ()]
    assert f"roost=={version_of(distributions)}" in needed


def test_the_readme_links_to_the_files_of_its_version(distributions: Path) -> None:
    wheel, _ = find(distributions, "roost")
    text = metadata_of(wheel).description
    version = re.escape(version_of(distributions))
    linked = set(re.findall(rf"{SOURCE}/(?:blob|raw)/v{version}/([^)\"#\s]*)", text))
    assert "CHANGELOG.md" in linked
    assert all((ROOT / path).exists() for path in linked)
    # A picture is shown, and not the page about it.
    for picture in re.findall(rf"!\[[^\]]*\]\({SOURCE}/(\w+)/", text):
        assert picture == "raw"


def test_the_address_of_the_repository_is_the_same_everywhere() -> None:
    for settings in SETTINGS.values():
        assert settings["project"]["urls"] == SETTINGS["roost"]["project"]["urls"]
        for substitution in settings["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"][
            "substitutions"
        ]:
            assert f"{SOURCE}/" in substitution["replacement"]
    for path in ("debian/control", "debian/copyright", "CHANGELOG.md"):
        text = (ROOT / path).read_text()
        assert SOURCE in text
        assert set(re.findall(r"https://github\.com/[\w-]+/[\w-]+", text)) <= {SOURCE}, path


def test_files_too_many_and_too_few_are_noticed(distributions: Path, tmp_path: Path) -> None:
    folder = tmp_path / "changed"
    shutil.copytree(distributions, folder)
    wheel, _ = find(folder, "roost")
    good = wheel.rename(tmp_path / wheel.name)
    page = "roost/console/static/index.html"
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(wheel, "w") as target:
        for name in source.namelist():
            if name != page:
                target.writestr(name, source.read(name))
        target.writestr("roost/notes.txt", "")
    assert list(complaints(folder, version_of(folder))) == [
        f"{wheel.name} lacks {page}",
        f"{wheel.name} has roost/notes.txt besides",
    ]
    assert len(list(complaints(distributions, "0.0.1"))) == 4
