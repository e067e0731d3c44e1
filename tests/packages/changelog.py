"""CHANGELOG.md, which has the form of https://keepachangelog.com: a section for each release.

`python -m tests.packages.changelog VERSION` prints the notes of a release, for scripts/release.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

PATH = Path(__file__).parents[2] / "CHANGELOG.md"
UNRELEASED = "Unreleased"
# In this order, as far as a release has them.
KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")

_RELEASE = re.compile(
    r"^## \[(?P<version>[^\]]+)\](?: - (?P<date>\d{4}-\d\d-\d\d))?$", re.MULTILINE
)
_LINK = re.compile(r"^\[[^\]]+\]: \S+\n?", re.MULTILINE)


class NotReady(Exception):
    """Why the changelog is not that of a release, in a line."""


class Release(NamedTuple):
    version: str
    date: str | None  # as in 2026-01-31; only "Unreleased" has none
    text: str  # what is below the title

    @property
    def kinds(self) -> list[str]:
        return re.findall(r"^### (.+)$", self.text, re.MULTILINE)


def releases(text: str) -> list[Release]:
    """All sections, from the newest to the oldest."""
    titles = list(_RELEASE.finditer(text))
    ends = [title.start() for title in titles[1:]] + [len(text)]
    return [
        Release(title["version"], title["date"], _LINK.sub("", text[title.end() : end]).strip())
        for title, end in zip(titles, ends, strict=True)
    ]


def notes(text: str, version: str) -> str:
    """What the changelog says about the version that is to be released; raises `NotReady`."""
    unreleased, *others = releases(text)
    if unreleased.version != UNRELEASED:
        raise NotReady(f"CHANGELOG.md does not begin with a section [{UNRELEASED}]")
    if unreleased.text:
        raise NotReady(f"CHANGELOG.md: move what is below [{UNRELEASED}] to [{version}]")
    if not others or others[0].version != version:
        raise NotReady(f"CHANGELOG.md: [{version}] is not the section below [{UNRELEASED}]")
    if others[0].date is None:
        raise NotReady(f"CHANGELOG.md: give [{version}] a date, as in ## [{version}] - 2026-01-31")
    if f"\n[{version}]: " not in text:
        raise NotReady(f"CHANGELOG.md: [{version}] has no address at the end of the file")
    return others[0].text


def main() -> None:
    try:
        print(notes(PATH.read_text(), sys.argv[1]))
    except NotReady as reason:
        sys.exit(str(reason))


if __name__ == "__main__":
    main()
