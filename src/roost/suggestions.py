"""What a mistyped name probably meant, for errors that help.

The work is bounded, whatever names there are. A name that is longer than any known one gets no
suggestion. Of very many known names the first are looked at, and the likeliest of them compared.
"""

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from heapq import nlargest
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from roost.quoting import quote_names, quote_value

# Characters of a name that gets a suggestion. A parameter has a suffix of up to 64.
NAME_LENGTH_MAX = 100
# Known names that are looked at, and those of them that are compared letter by letter.
KNOWN_MAX = 3000
COMPARED_MAX = 20
# Names in one sentence that get a suggestion.
SUGGESTED_MAX = 3
# The share of the longer name that both must have in common, in order.
SIMILARITY_MIN = 0.55

# Where the suffix of a parameter may begin, after a word: `_NET`, `1`, `-a`, `NET`.
_SUFFIX_BEGIN = re.compile(r"(?<=[a-z])[^a-z]")


def unknown(kind: str, name: str, known: Iterable[str], *, suffixed: Iterable[str] = ()) -> str:
    """A sentence about a name that is none of the known ones, without a full stop.

    `suffixed` are names that may be followed by the suffix of a request group.

        unknown parameter 'resource'; did you mean 'resources'?
    """
    known, suffixed = list(known), list(suffixed)
    found = nearest(name, known, suffixed=suffixed)
    if found is not None:
        return f"unknown {kind} {quote_value(name)}; did you mean {quote_value(found)}?"
    expected = sorted({*known, *suffixed})
    if not expected:
        return f"unknown {kind} {quote_value(name)}"
    return f"unknown {kind} {quote_value(name)}; expected one of {quote_names(expected)}"


def suggest(sentence: str, names: Iterable[str], known: Iterable[str]) -> str:
    """The sentence about unknown names, with what they probably meant: `...; did you mean VCPU?`"""
    known = list(islice(known, KNOWN_MAX))
    found = [nearest(name, known) for name in islice(names, SUGGESTED_MAX)]
    meant = quote_names(name for name in found if name is not None)
    return f"{sentence.removesuffix('.')}; did you mean {meant}?" if meant else sentence


def nearest(name: str, known: Iterable[str], *, suffixed: Iterable[str] = ()) -> str | None:
    """The known name that is most like this one; None if none is like it.

    Case does not count. A suffix stays as it is: of `resorces_NET` only `resorces` is compared.
    """
    if len(name) > NAME_LENGTH_MAX:
        return None
    texts = [_Compared(name, "", each) for each in islice(known, KNOWN_MAX)]
    stems = list(suffixed)
    texts += [_Compared(stem, suffix, each) for stem, suffix in _splits(name) for each in stems]
    # Letters are counted much faster than they are put in order.
    matchers = {stem: _Matcher(stem) for stem, _ in _splits(name)}
    by_letters = ((matchers[each.typed].letters_shared(each.known), each) for each in texts)
    likely = nlargest(COMPARED_MAX, by_letters, key=itemgetter(0))
    best, best_rank = None, (SIMILARITY_MIN, 0, -NAME_LENGTH_MAX)
    for shared, each in likely:
        if shared < best_rank[0]:
            break
        # Of two that are as near, the one of the same length: a mistyped letter is more likely
        # than a missing one.
        similarity = matchers[each.typed].similarity(each.known)
        rank = similarity, len(each.suffix), -abs(len(each.known) - len(each.typed))
        if rank > best_rank:
            best, best_rank = each.known + each.suffix, rank
    return best


class _Compared(NamedTuple):
    typed: str  # without the suffix
    suffix: str
    known: str


def _splits(name: str) -> Iterator[tuple[str, str]]:
    """The ways to read a name as a stem and a suffix."""
    yield name, ""
    for match in _SUFFIX_BEGIN.finditer(name):
        yield name[: match.start()], name[match.start() :]


class _Matcher:
    """Compares one text with many. Each result is a share of the longer text."""

    def __init__(self, text: str) -> None:
        self._length = len(text)
        # It remembers what it knows of its second text.
        self._matcher = SequenceMatcher(None, "", text.lower(), autojunk=False)

    def letters_shared(self, other: str) -> float:
        """How many letters both have, in any order; 0 if the lengths differ too much."""
        shorter, longer = sorted((self._length, len(other)))
        if shorter < SIMILARITY_MIN * longer:
            return 0
        self._matcher.set_seq1(other.lower())
        return self._matcher.quick_ratio() * (shorter + longer) / (2 * longer)

    def similarity(self, other: str) -> float:
        """How many letters both have, in order."""
        length = self._length + len(other)
        self._matcher.set_seq1(other.lower())
        # The ratio of the matcher is a share of both texts together.
        return self._matcher.ratio() * length / (2 * max(self._length, len(other), 1))
