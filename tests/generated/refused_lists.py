"""Bulk reads and summaries that are refused."""

import base64
import json
from typing import Any

from tests.generated.refusal import Refusal, refusal
from tests.generated.small_world import CN1, NOBODY


def _list(title: str, query: str, *words: str, **options: Any) -> Refusal:
    return refusal(f"list: {title}", f"GET /resource_providers?{query}", *words, **options)


def _summary(title: str, query: str, *words: str, **options: Any) -> Refusal:
    return refusal(f"summary: {title}", f"GET /summary?{query}", *words, **options)


def _token(*fields: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(fields).encode()).decode().rstrip("=")


_PARTS = "inventories, usages, traits, aggregates"

REFUSED_LISTS = (
    _list("nothing to include", "include=", "include", "''", _PARTS),
    _list("a part that is none", "include=trait", "include", "'trait'", "traits"),
    _list("a part in upper case", "include=Traits", "include", "'Traits'", "traits"),
    _list("a gap", "include=traits,,usages", "include", "''", _PARTS),
    _list("a blank", "include=traits,%20usages", "include", "' usages'", "usages"),
    _list("a part of an emoji", "include=%F0%9F%A5%9A", "include", _PARTS),
    _list("many parts", f"include={'traits,' * 2000}traits", "'include'", "at most 2000"),
    _list("parts twice", "include=traits&include=usages", "'include'", "only once"),
    _list("a limit of nothing", "limit=0", "limit", "'0'"),
    _list("a limit that is no number", "limit=x", "limit", "'x'"),
    _list("a limit twice", "limit=1&limit=2", "'limit'", "only once"),
    _list("an empty page", "after=", "after", "empty"),
    _list("a page that is none", "after=%C3%A9", "'after'", "'next'", "é"),
    _list("a page of other fields", f"after={_token(1, 2)}", "'after'", "'next'"),
    _list("a page below 0", f"after={_token('x', -1)}", "'after'", "'next'"),
    _list("a page beyond 64 bit", f"after={_token('x', 2**63)}", "'after'", "'next'"),
    _list("a page of another request", f"after={_token('x', 1)}", "'after'", "another request"),
    _list("a page that is too long", f"after={'x' * 1025}", "after", "1024"),
    _list("a tree that is none", "tree=nope", "tree", "nope"),
    _list("an unknown tree", f"tree={NOBODY}", "tree: ", NOBODY),
    _list("a tree twice", f"tree={CN1}&tree={CN1}", "'tree'", "only once"),
    _list("a class that is none", "include=traits&resources=NOPE:1", "resource class NOPE"),
    _list("an unknown parameter", "include=traits&color=red", "'color'"),
    *(
        _list(f"{name} before 1.39", f"{name}=1", f"'{name}' was unexpected", version="1.38")
        for name in ("include", "limit", "after", "tree")
    ),
    _summary("by nothing", "by=", "by", "''", "aggregates, traits"),
    _summary("by something else", "by=racks", "by", "'racks'", "aggregates, traits"),
    _summary("by twice", "by=traits&by=traits", "'by'", "only once"),
    _summary("an unknown class", "resource_class=NOPE", "resource_class", "NOPE"),
    _summary("no class", "resource_class=", "resource_class", "''"),
    _summary("a class in lower case", "resource_class=vcpu", "resource_class", "'vcpu'"),
    _summary("an unknown parameter", "color=red", "'color'"),
    refusal("summary: by POST", "POST /summary", "not allowed", status=405, body={}),
    _summary("before 1.39", "", status=404, version="1.38"),
)
