"""Drawings become part of their page, so that they follow its colours when a reader changes them.

In the repository they are pictures like any other, with colours of their own. In the site they have
those of `docs/stylesheets/roost.css`.
"""

import re
from pathlib import Path

_PICTURE = re.compile(r"^!\[([^\]]*)\]\(((?:[^)]*/)?images/[^)]*\.svg)\)$", re.MULTILINE)


def inline(markdown: str, folder: Path) -> str:
    """The text of a page in this folder, with its drawings in place of the links to them."""

    def draw(match: re.Match[str]) -> str:
        text, path = match.groups()
        drawing = re.sub(r"\s*\n\s*", " ", (folder / path).read_text()).strip()
        drawing = re.sub(r'aria-label="[^"]*"', f'aria-label="{text}"', drawing, count=1)
        return f'<figure class="drawing">{drawing}</figure>'

    return _PICTURE.sub(draw, markdown)
