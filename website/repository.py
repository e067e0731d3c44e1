"""Files of the repository that the site shows as pages."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from website import links
from website.markdown import anchor, code

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
}
_FILES = "reference/deploy-files.md"
_LANGUAGES = {
    ".cfg": "text",
    ".conf": "apache",
    ".env": "ini",
    ".ini": "ini",
    ".json": "json",
    ".py": "python",
    ".rules": "yaml",
    ".service": "ini",
    ".toml": "toml",
    ".yaml": "yaml",
    ".yml": "yaml",
}
PAGES = (*DOCUMENTS.values(), _FILES)
# A file that is longer than this is no reading matter: it is named, and not shown.
_LINES_MAX = 400


def pages() -> Iterator[tuple[str, str]]:
    shown = shown_at()
    for source, page in DOCUMENTS.items():
        yield page, links.adapt((ROOT / source).read_text(), source, page, shown)
    yield _FILES, "\n".join(_deploy_files())


def logo() -> bytes:
    """The icon of the console."""
    return (ROOT / "src/roost/console/static/icon.svg").read_bytes()


def shown_at() -> Mapping[str, str]:
    """Where the site shows a file or a folder: a page, perhaps with an anchor."""
    shown = dict(DOCUMENTS)
    shown["README.md"] = "index.md"
    shown["compat"] = shown["compat/README.md"] = "how-to/deployment.md"
    shown["docs/decisions"] = "decisions/README.md"
    shown["docs/examples/driver"] = f"{_FILES}#a-driver"
    for path in _files():
        shown.setdefault(str(path.parent), _FILES)
        shown[str(path)] = f"{_FILES}#{anchor(str(path))}"
    return shown


def _files() -> list[Path]:
    found = [*ROOT.glob("deploy/**/*"), *ROOT.glob("docs/examples/driver/*")]
    return sorted(
        path.relative_to(ROOT)
        for path in found
        # What Python leaves beside a program is not to be deployed.
        if path.is_file() and "__pycache__" not in path.parts
    )


def _deploy_files() -> Iterator[str]:
    yield "# Files to deploy and to start from"
    yield ""
    yield "The folder `deploy/` of the repository has examples that are tested with every change."
    yield "Copy them, and change what your machines need. [Running roost](../operations/running.md)"
    yield "and [Deployment tools](../how-to/deployment.md) say where each belongs."
    yield ""
    for path in _files():
        if path.parts[0] == "deploy":
            yield from _file(path, 2)
    yield "## A driver"
    yield ""
    yield "A whole driver for the agent, with its packaging and its test. [Writing a"
    yield "driver](../how-to/drivers.md) explains it."
    yield ""
    for path in _files():
        if path.parts[0] == "docs":
            yield from _file(path, 3)


def _file(path: Path, level: int) -> Iterator[str]:
    text = (ROOT / path).read_text()
    yield f"{'#' * level} {path} {{#{anchor(str(path))}}}"
    yield ""
    lines = len(text.splitlines())
    if lines > _LINES_MAX:
        yield f"{lines} lines, to be read by a program: take it from the repository."
        yield ""
    else:
        yield from code(text, _LANGUAGES.get(path.suffix, "text"))
