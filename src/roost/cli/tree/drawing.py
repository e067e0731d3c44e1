"""Trees as lines of text: guides, names, bars and numbers, within a width."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rich.cells import cell_len

from roost.cli.output import printable
from roost.cli.tree.forest import Amounts, Node
from roost.cli.tree.parts import (
    beginning,
    free_text,
    has_characters,
    inventory_notes,
    number,
    padded,
    remarks,
    right_aligned,
    scaled,
    sources,
    usage_style,
)

# A line is pieces of text, each with a style of rich.
Line = list[tuple[str, str]]

BAR_WIDTH = 16
BAR_WIDTH_MIN = 6
# Of names, whatever stands beside them.
NAME_WIDTH_MIN = 16
CLASS_WIDTH_MIN = 8
# Of resource classes, before the bars beside them are made shorter.
CLASS_WIDTH_LIKED = 30
# How much of the width the guides of a deep tree may take.
GUIDES_SHARE = 1 / 3
GUIDES_WIDTH_MAX = 300  # where any width will do

GUIDE, QUIET, REMARK = "dim", "dim", "cyan"


class Glyphs(NamedTuple):
    """The characters that are not letters or digits."""

    branch: str
    last: str
    beside: str  # continues the guide of a parent that has more children
    used: str
    reserved: str
    free: str
    cut: str  # instead of what is left out of a text


UNICODE = Glyphs("├─ ", "└─ ", "│  ", "█", "▒", "░", "…")
ASCII = Glyphs("|- ", "`- ", "|  ", "#", "=", ".", "~")
ABSENT = "   "


class Drawing:
    """Draws trees with the characters of an encoding."""

    def __init__(self, *, width: int | None, encoding: str, with_traits: bool = False) -> None:
        """Without a width nothing is cut."""
        self._width = width
        self._encoding = encoding
        self._with_traits = with_traits
        self._glyphs = UNICODE if has_characters(encoding, "".join(UNICODE)) else ASCII

    def lines(self, root: Node) -> Iterator[Line]:
        """A tree, from top to bottom."""
        # The node, and the guides before its name and before what stands below the name.
        waiting = [(root, "", "")]
        while waiting:
            node, guides, guides_below = waiting.pop()
            inside = guides_below + (self._glyphs.beside if node.children else ABSENT)
            yield from self._provider(node, self._fitting(guides), self._fitting(inside))
            for child in reversed(node.children):
                is_last = child is node.children[-1]
                branch = self._glyphs.last if is_last else self._glyphs.branch
                below = ABSENT if is_last else self._glyphs.beside
                waiting.append((child, guides_below + branch, guides_below + below))

    def note(self, text: str) -> Line:
        """A remark about the output."""
        return [(self.shortened(text, self._width), QUIET)]

    def _shown(self, text: str) -> str:
        """A text from the service with characters that a terminal has, and does not act upon."""
        text = printable(text)
        if text.isascii():
            return text
        return text.encode(self._encoding, "backslashreplace").decode(self._encoding)

    def shortened(self, text: str, width: int | None) -> str:
        """The beginning and the end of a text, so that it takes no more than this width."""
        text = self._shown(text)
        if width is None or cell_len(text) <= width:
            return text
        # Names often differ in their last characters.
        end_width = max(0, width - 1) // 3
        begin = beginning(text, max(0, width - 1 - end_width))
        end = "".join(reversed(beginning(text[::-1], end_width)))
        return (begin + self._glyphs.cut + end)[: max(0, width)]

    # -- one provider --------------------------------------------------------------------------

    def _provider(self, node: Node, guides: str, inside: str) -> Iterator[Line]:
        title = self._title(node, guides)
        said = self._shown(remarks(node, counts_traits=not self._with_traits))
        room = self._room("".join(text for text, _ in title))
        if said and (room is None or cell_len(said) + 2 <= room):
            title.append((f"  {said}", QUIET))
            said = ""
        yield title
        room = self._room(inside)
        lines = [*self._inventories(node, room)]
        if said:
            lines += self._wrapped([said], room, QUIET)
        if self._with_traits and node.details.traits:
            lines += self._wrapped(sorted(node.details.traits), room, REMARK)
        lines += (self._cut([(text, REMARK)], room) for text in sources(node))
        for line in lines:
            yield [(inside, GUIDE), *line]

    def _title(self, node: Node, guides: str) -> Line:
        provider = node.details.provider
        room = self._room(guides)
        uuid = self._shown(f"  {provider.uuid}")
        if room is not None and room - cell_len(uuid) < NAME_WIDTH_MIN:
            uuid = ""
        name = self.shortened(provider.name, None if room is None else room - cell_len(uuid))
        return [(guides, GUIDE), (name, "bold"), (uuid, QUIET)]

    def _inventories(self, node: Node, room: int | None) -> Iterator[Line]:
        if not node.amounts:
            return
        amounts = dict(sorted(node.amounts.items()))
        columns = [
            right_aligned([f"{number(each.used)} used" for each in amounts.values()]),
            right_aligned(
                [
                    f"{number(each.reserved)} reserved" if each.reserved else ""
                    for each in amounts.values()
                ]
            ),
            right_aligned([free_text(each) for each in amounts.values()]),
        ]
        numbers = ["  ".join(filter(None, row)) for row in zip(*columns, strict=True)]
        class_width = max(cell_len(self._shown(name)) for name in amounts)
        bar_width = BAR_WIDTH
        if room is not None:
            # The spaces and the percentage between the name, the bar and the numbers.
            free = room - len(numbers[0]) - len("    100%  ")
            bar_width = free - min(class_width, CLASS_WIDTH_LIKED)
            bar_width = max(BAR_WIDTH_MIN, min(BAR_WIDTH, bar_width))
            class_width = min(class_width, max(CLASS_WIDTH_MIN, free - bar_width))
        for (name, each), text in zip(amounts.items(), numbers, strict=True):
            style = usage_style(each)
            percent = "" if each.share is None else f"{min(999, int(100 * each.share))}%"
            line = [
                (padded(self.shortened(name, class_width), class_width) + "  ", ""),
                *self._bar(each, bar_width, style),
                (f"  {percent:>4}", style),
                (f"  {text}", "red" if each.over else ""),
            ]
            notes = "" if node.folded else inventory_notes(node.details.inventories[name])
            if room is None or len(notes) <= room - sum(cell_len(part) for part, _ in line):
                line.append((notes, QUIET))
            yield self._cut(line, room)

    def _bar(self, amounts: Amounts, width: int, style: str) -> Line:
        parts = scaled((amounts.used, amounts.withheld, amounts.free), width)
        used, reserved, free = parts
        rest = width - sum(parts)  # if there is nothing at all
        return [
            (self._glyphs.used * used, style),
            (self._glyphs.reserved * reserved, "blue"),
            (self._glyphs.free * (free + rest), QUIET),
        ]

    # -- width ---------------------------------------------------------------------------------

    def _fitting(self, guides: str) -> str:
        """The guides of a level; of a very deep one, the last of them."""
        most = GUIDES_WIDTH_MAX if self._width is None else int(self._width * GUIDES_SHARE)
        if len(guides) <= most:
            return guides
        return self._glyphs.cut + guides[len(guides) - most + 1 :]

    def _room(self, taken: str) -> int | None:
        """What is left of a line."""
        return None if self._width is None else max(0, self._width - cell_len(taken))

    def _cut(self, line: Line, room: int | None) -> Line:
        """The line without what does not fit."""
        cut: Line = []
        for text, style in line:
            text = self._shown(text)
            if room is not None:
                if cell_len(text) > room:
                    text = beginning(text, room - 1) + self._glyphs.cut if room else ""
                    cut.append((text, style))
                    break
                room -= cell_len(text)
            cut.append((text, style))
        return cut

    def _wrapped(self, parts: Iterable[str], room: int | None, style: str) -> Iterator[Line]:
        """The parts with commas between them, on as many lines as they need."""
        line = ""
        for part in parts:
            part = self._shown(part)
            longer = f"{line}, {part}" if line else part
            if line and room is not None and cell_len(longer) > room - 1:
                yield self._cut([(f"{line},", style)], room)
                longer = part
            line = longer
        yield self._cut([(line, style)], room)
