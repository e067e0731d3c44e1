"""Links from documents to files of the repository, as the site needs them.

In the repository a page links to a file where it is: `../../deploy/uwsgi.ini`. The site has no such
files, but pages that show them. A link to a file that no page shows is left as it is, so that
mkdocs reports it.
"""

import posixpath
import re
from collections.abc import Mapping

_LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
_CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def adapt(text: str, source: str, page: str, shown: Mapping[str, str]) -> str:
    """The text of a file of the repository, with links that work on a page of the site.

    Paths in `shown` and `source` are relative to the repository, and the pages to docs/.
    """

    def replace(match: re.Match[str]) -> str:
        target, mark, anchor = match[1].partition("#")
        if not target or ":" in target:
            return match[1]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        found = shown.get(path) or (path.removeprefix("docs/") if _is_page(path) else None)
        if found is None:
            return match[1]
        return posixpath.relpath(found, posixpath.dirname(page) or ".") + mark + anchor

    parts, end = [], 0
    for block in _CODE.finditer(text):
        parts += [_LINK.sub(replace, text[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, _LINK.sub(replace, text[end:])])


def _is_page(path: str) -> bool:
    return path.startswith("docs/")
