"""What a page shows of an output, compared with what was printed.

A line `...` stands for any number of lines, and `...` in a line for any text. Times and ages, how
many seconds something took, and how wide the columns of a table are do not count, nor do spaces at
the end of a line. UUIDs may differ, but a UUID of the page stands for one UUID of the run, wherever
it occurs.
"""

import re
from collections.abc import Mapping, Sequence

ANYTHING = "..."

UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
# What differs from run to run.
_VARYING = (
    r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?",  # a time
    r"(?<= )\d+\.\d(?![^\n])",  # seconds, at the end of a line of a table
    r"\b\d+ (?:s|min)(?= old\b|  )",  # an age
    r"\bk[\w-]{15,}",  # a position in the change feed
)
_PART = re.compile("|".join((f"({UUID.pattern})", *(f"({each})" for each in _VARYING), r"(\.{3})")))


def matched(
    shown: Sequence[str], printed: Sequence[str], known: Mapping[str, str]
) -> dict[str, str] | None:
    """Which UUID of the run each UUID of the page is; None if the page shows something else.

    `known` has those that earlier outputs have told.
    """
    pattern = _Pattern(known)
    text = "".join(f"{line.rstrip()}\n" for line in printed)
    found = re.fullmatch("".join(map(pattern.of_line, shown)), text)
    if found is None:
        return None
    everything = {**known, **{uuid: found[name] for uuid, name in pattern.groups.items()}}
    return everything if len({*everything.values()}) == len(everything) else None


class _Pattern:
    """The regular expression of an output, with a named group for each UUID that is new."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self._known = known
        self.groups: dict[str, str] = {}

    def of_line(self, line: str) -> str:
        line = line.rstrip()
        if line.strip() == ANYTHING:
            return "(?:.*\n)*?"
        pieces, end = [], 0
        for part in _PART.finditer(line):
            pieces += [_literal(line[end : part.start()]), self._of_part(part)]
            end = part.end()
        return "".join((*pieces, _literal(line[end:]), "\n"))

    def _of_part(self, part: re.Match[str]) -> str:
        if part[0] == ANYTHING:
            return ".*"
        if part[1] is None:
            assert part.lastindex is not None
            return _VARYING[part.lastindex - 2]
        if part[0] in self._known:
            return re.escape(self._known[part[0]])
        if part[0] in self.groups:
            return f"(?P={self.groups[part[0]]})"
        self.groups[part[0]] = name = f"uuid{len(self.groups)}"
        return f"(?P<{name}>{UUID.pattern})"


def _literal(text: str) -> str:
    """Columns are as wide as what varies in them."""
    return re.sub(r"(?:\\ ){2,}", " {2,}", re.escape(text))
