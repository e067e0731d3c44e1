"""Pages of Markdown: the fenced blocks that tests run."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

_BLOCK = re.compile(r'^```(\w+)(?: title="([^"\n]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    kind: str  # the word after the fence: console, python, ...
    text: str
    title: str  # of ```yaml title="rack.yaml"; empty if there is none
    line: int  # the number of its first line in the page
    follows: bool  # whether nothing stands between the block before and this one


def blocks(page: str) -> list[Block]:
    found = []
    end = -1
    for match in _BLOCK.finditer(page):
        kind, title, text = match.groups(default="")
        line = page.count("\n", 0, match.start(3)) + 1
        found.append(Block(kind, text, title, line, follows=match.start() == end + 1))
        end = match.end()
    return found


def programs(found: Sequence[Block]) -> Iterator[tuple[Block, str]]:
    """The programs among blocks, each with what the `text` block right after it says it prints."""
    nothing = Block("", "", "", 0, follows=False)
    for block, after in pairwise((*found, nothing)):
        if block.kind == "python" and not block.title:
            yield block, after.text if after.kind == "text" and after.follows else ""
