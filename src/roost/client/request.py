"""A request for candidates: what to search for, as a value.

It is written with methods, or read from a query string, a URL or a mapping. The names of parameters
are checked here, so that a mistyped one is found before anything is sent. Values are not: the
service says what is wrong with them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode

from roost.client.errors import InvalidRequest
from roost.client.parameters import (
    Parameter,
    bad_suffix,
    body_of,
    checked,
    is_suffix,
    query_part,
    texts_of,
)
from roost.model import Value
from roost.quoting import quote_value


class Request(Value, frozen=True):
    """What to search for. Each method returns a new request, with more in it.

        Request().resources(VCPU=2).required("HW_CPU_X86_AVX2").group("_NET", SRIOV_NET_VF=1)

    `str` of it is its query string.
    """

    parameters: tuple[tuple[str, str], ...] = ()  # in the order of the query string

    @classmethod
    def parse(cls, text: str, *, also: Iterable[str] = ()) -> Self:
        """The request in a query string, or in a URL that was copied from a log.

        `also` are names of parameters that this request may have besides those of a search.
        """
        query = query_part(text)
        try:
            pairs = parse_qsl(
                query, keep_blank_values=True, strict_parsing=bool(query), errors="strict"
            )
        except ValueError:
            example = "resources=VCPU:1&required=TRAIT"
            raise InvalidRequest(f"not a query like {example}: {quote_value(text)}") from None
        return cls(parameters=checked(pairs, also))

    @classmethod
    def of(
        cls, given: "Request | str | Mapping[str, Parameter]", *, also: Iterable[str] = ()
    ) -> "Request":
        """The request that a caller means."""
        if isinstance(given, Request):
            return given
        if isinstance(given, str):
            return cls.parse(given, also=also)
        pairs = [(name, text) for name, value in given.items() for text in texts_of(name, value)]
        return cls(parameters=checked(pairs, also))

    def __str__(self) -> str:
        return urlencode(self.parameters, safe=":,!")

    def __repr__(self) -> str:
        return f"Request.parse({str(self)!r})"

    # -- the group without a suffix ---------------------------------------------------------------

    def resources(self, amounts: Mapping[str, int] | None = None, /, **more: int) -> Self:
        """Ask for an amount of each resource class: `resources(VCPU=2, MEMORY_MB=4096)`."""
        return self._with_amounts("resources", {**(amounts or {}), **more})

    def required(self, *traits: str) -> Self:
        """Ask for traits: `A`, `!A` for one that must not be there, `in:A,B` for one of several."""
        return self._with_traits("required", traits)

    def member_of(self, *aggregates: str) -> Self:
        """Ask for aggregates, by UUID: all of them. `!`, `in:` and `!in:` may stand before one."""
        return self._with_each("member_of", aggregates)

    def in_tree(self, uuid: str) -> Self:
        """Ask for providers of the tree that this provider is in."""
        return self.with_one("in_tree", uuid)

    def in_subtree(self, uuid: str) -> Self:
        """Ask for this provider or its descendants. Only roost has this."""
        return self.with_one("in_subtree", uuid)

    # -- a group with a suffix --------------------------------------------------------------------

    def group(
        self,
        suffix: str,
        amounts: Mapping[str, int] | None = None,
        /,
        *,
        required: str | Iterable[str] = (),
        member_of: str | Iterable[str] = (),
        in_tree: str | None = None,
        in_subtree: str | None = None,
        can_split: str | Iterable[str] = (),
        **more: int,
    ) -> Self:
        """Ask for a group: what one provider serves. `group("_NET", SRIOV_NET_VF=1)`."""
        if not is_suffix(suffix):
            raise bad_suffix(suffix)
        found = self._with_amounts(f"resources{suffix}", {**(amounts or {}), **more})
        found = found._with_traits(f"required{suffix}", _several(required))
        found = found._with_each(f"member_of{suffix}", _several(member_of))
        if in_tree is not None:
            found = found.with_one(f"in_tree{suffix}", in_tree)
        if in_subtree is not None:
            found = found.with_one(f"in_subtree{suffix}", in_subtree)
        return found._with_list(f"can_split{suffix}", _several(can_split))

    # -- rules between groups ---------------------------------------------------------------------

    def same_subtree(self, *suffixes: str) -> Self:
        """Ask that providers of one subtree serve these groups; `!` excludes one from it."""
        return self._with_each("same_subtree", [",".join(suffixes)])

    def isolate(self, *suffixes: str) -> Self:
        """Ask that different providers serve these groups. Only roost has this."""
        return self._with_each("isolate", [",".join(suffixes)])

    def group_policy(self, policy: str) -> Self:
        """`isolate`: different providers serve the groups that have a suffix; or `none`."""
        return self.with_one("group_policy", policy)

    def can_split(self, *resource_classes: str) -> Self:
        """Let several providers of a tree serve the amount of a class. Only roost has this."""
        return self._with_list("can_split", resource_classes)

    # -- the root of the tree ---------------------------------------------------------------------

    def root_required(self, *traits: str) -> Self:
        """Ask for traits of the root, in the forms of `required`."""
        return self._with_traits("root_required", traits)

    def root_member_of(self, *aggregates: str) -> Self:
        """Ask for aggregates of the root, in the forms of `member_of`. Only roost has this."""
        return self._with_each("root_member_of", aggregates)

    # -- the answer -------------------------------------------------------------------------------

    def order(self, by: str) -> Self:
        """Which trees come first: `pack`, `spread`, `root`, `random`. Only roost has this."""
        return self.with_one("order", by)

    def limit(self, count: int) -> Self:
        """Ask for at most so many candidates."""
        return self.with_one("limit", str(count))

    def after(self, position: str) -> Self:
        """Ask for the page after the one that ended with `next`. Only roost has this."""
        return self.with_one("after", position)

    # -- how it is sent ---------------------------------------------------------------------------

    def query(self) -> dict[str, list[str]]:
        """The parameters with their values."""
        found: dict[str, list[str]] = {}
        for name, value in self.parameters:
            found.setdefault(name, []).append(value)
        return found

    @property
    def length_in_url(self) -> int:
        """The length of the query string with every character quoted that may be."""
        return len(urlencode(self.parameters))

    def body(self) -> dict[str, Any]:
        """The same request as the body of POST /allocation_candidates."""
        return body_of(self.query())

    # -- one parameter more -----------------------------------------------------------------------

    def with_one(self, name: str, value: str) -> Self:
        """A parameter that has one value: another one takes its place."""
        others = tuple(pair for pair in self.parameters if pair[0] != name)
        return type(self)(parameters=(*others, (name, value)))

    def _with_amounts(self, name: str, amounts: Mapping[str, int]) -> Self:
        return self._with_list(name, [f"{each}:{amount}" for each, amount in amounts.items()])

    def _with_traits(self, name: str, traits: Iterable[str]) -> Self:
        """More traits. Before 1.39 only the last of repeated parameters counts, so one has all."""
        traits = list(traits)
        found = self._with_list(name, [each for each in traits if not each.startswith("in:")])
        return found._with_each(name, [each for each in traits if each.startswith("in:")])

    def _with_list(self, name: str, entries: Sequence[str]) -> Self:
        """More entries of a parameter that is a list."""
        if not entries:
            return self
        text = ",".join(entries)
        for position, (known, value) in enumerate(self.parameters):
            if known == name and not value.startswith("in:"):
                pair = (name, f"{value},{text}")
                before, rest = self.parameters[:position], self.parameters[position + 1 :]
                return type(self)(parameters=(*before, pair, *rest))
        return self._with_each(name, [text])

    def _with_each(self, name: str, values: Iterable[str]) -> Self:
        """A parameter, repeated for each value."""
        return type(self)(parameters=(*self.parameters, *((name, value) for value in values)))


def _several(given: str | Iterable[str]) -> Sequence[str]:
    return (given,) if isinstance(given, str) else tuple(given)
