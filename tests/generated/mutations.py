"""Requests that are almost valid: a valid request, changed in one place or in several."""

import dataclasses
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st

from roost.api.versions import VERSIONS
from tests.generated import hostile
from tests.generated.catalogue import Valid
from tests.generated.changes import Draw, changed, changed_text, changed_value, places
from tests.generated.odd_json import write
from tests.generated.subject import ROLES, TOKEN, version_header
from tests.generated.wire import RawRequest

MUTATION_COUNT_MAX = 3

PARAMETERS = (
    *("resources", "required", "member_of", "in_tree", "limit", "group_policy", "root_required"),
    *("same_subtree", "name", "uuid", "associated", "project_id", "user_id", "consumer_type"),
)
SUFFIXES = ("", "1", "2", "_A", "0", "01", "a" * 64, "a" * 65, "-", "é", "\n", " ", "[]", "\0", "%")
METHODS = (
    *(b"GET", b"PUT", b"POST", b"DELETE", b"HEAD", b"PATCH", b"OPTIONS", b"TRACE", b"CONNECT"),
    *(b"get", b"FOO", b"PROPFIND", b"WEBSOCKET", b"X!", b"G T", b"\xff"),
)
VERSION_HEADERS = (
    *(b"", b"placement", b"placement ", b"placement latest", b"latest", b"1.39", b"compute 2.1"),
    *(b"placement 0.9", b"placement 1.40", b"placement 2.0", b"placement 1", b"placement 1.2.3"),
    *(b"placement -1.0", b"placement 1.x", b"placement \xb2.\xb3", b"placement 1.\xff", b"\xff"),
    *(b"placement 1." + b"9" * 5000, b"placement 1.1, placement 1.2", b",,,", b"placement\t1.5"),
)
CONTENT_TYPES = (
    *(b"", b"text/plain", b"application/xml", b"application/json; charset=latin-1", b"\xff", b";"),
    *(b"application/json;", b"APPLICATION/JSON", b"application/json, text/plain", b"*/*", b"json"),
    *(b"application/x-www-form-urlencoded", b"multipart/form-data; boundary=b"),
)
ACCEPTS = (
    *(b"", b"*/*", b"application/json", b"text/html", b"text/plain", b"image/png", b";;;", b"\xff"),
    *(b"a/b/c;q=2", b"text/html;q=x", b"*/*;q=", b"application/json;q=0", b"text/*, */*;q=0.1"),
)
OTHER_HEADERS = (
    *((b"x-roles", b"reader"), (b"x-roles", b"\xff,,"), (b"x-project-id", b"\xff")),
    *((b"openstack-system-scope", b"all"), (b"x-auth-token", b""), (b"x-auth-token", b"\xff:\xff")),
    *((b"x-forwarded-host", b"\xff"), (b"x-forwarded-proto", b"a b"), (b"forwarded", b"host=\xff")),
    *((b"expect", b"100-continue"), (b"if-none-match", b"*"), (b"range", b"bytes=9-1")),
    *((b"if-modified-since", b"never"), (b"cookie", b"\xff=;"), (b"content-encoding", b"gzip")),
    *((b"origin", b"http://a"), (b"x-http-method-override", b"DELETE"), (b"host", b"\xff")),
    *((b"bad header", b"x"), (b"x-\xff", b"x"), (b"x-a", b"\0"), (b"connection", b"upgrade")),
)


@dataclasses.dataclass
class Draft:
    """A request that is being mutated."""

    method: bytes
    segments: list[str]  # segments of the path
    query: list[tuple[str, str]]
    body: Any  # None for no body, bytes are sent as they are, anything else is sent as JSON
    headers: dict[bytes, bytes]
    quoting: str = "usual"
    chunked: bool = False
    ascii_only: bool = True

    def finish(self) -> RawRequest:
        path = "/".join(_quoted(segment, self.quoting) for segment in self.segments)
        pairs = "&".join(
            f"{_quoted(name, self.quoting)}={_quoted(value, self.quoting)}"
            for name, value in self.query
        )
        target = f"{path}?{pairs}" if pairs else path
        return RawRequest(
            self.method,
            target.encode("utf-8", "surrogatepass"),
            tuple(self.headers.items()),
            self._content(),
            self.chunked,
        )

    def _content(self) -> bytes | None:
        if self.body is None or isinstance(self.body, bytes):
            return self.body
        return write(self.body, ascii_only=self.ascii_only).encode("utf-8", "surrogatepass")


def _quoted(text: str, quoting: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    match quoting:
        case "everything":
            return "".join(f"%{byte:02X}" for byte in data)
        case "lower":
            return quote(data, safe="").lower()
        case "nothing":
            # A blank would end the request target, and a line break the request head.
            return re.sub(r"[\s\0]", "+", text)
        case "latin-1":
            return quote(text.encode("latin-1", "replace"), safe="")
        case "broken":
            return quote(data, safe="") + "%"
        case "overlong":
            return quote(data, safe="").replace("A", "%C1%81")
        case "plus":
            return quote(data, safe="").replace("%20", "+")
    return quote(data, safe=":,!")


QUOTINGS = ("everything", "lower", "nothing", "latin-1", "broken", "overlong", "plus")


@st.composite
def mutated(draw: Draw, valid: Sequence[Valid]) -> RawRequest:
    """One of the valid requests, changed in one place or in several."""
    start = draw(st.sampled_from(valid))
    draft = Draft(
        start.method.encode(),
        start.path.split("/"),
        list(start.query),
        start.body,
        dict([TOKEN, ROLES, version_header(start.version)]),
    )
    if start.body is not None:
        draft.headers[b"content-type"] = b"application/json"
    # Paths, queries and bodies are mutated more often than methods and headers.
    inside = [change_path_segment, *([change_body] * 6 if start.body is not None else [])]
    inside += [change_query] * (6 if start.query else 1)
    around = [change_path, change_method, change_version, change_header, change_form, change_body]
    for _ in range(draw(st.integers(1, MUTATION_COUNT_MAX))):
        draw(st.sampled_from(inside * 2 + around))(draw, draft)
    return draft.finish()


# ---------------------------------------------------------------------------------------------
# Methods, versions, headers, encodings and paths


def change_method(draw: Draw, draft: Draft) -> None:
    draft.method = draw(st.sampled_from(METHODS))


def change_version(draw: Draw, draft: Draft) -> None:
    if draw(st.booleans()):
        name, value = version_header(draw(st.sampled_from(list(VERSIONS))))
    else:
        name, value = b"openstack-api-version", draw(st.sampled_from(VERSION_HEADERS))
    draft.headers[name] = value


def change_header(draw: Draw, draft: Draft) -> None:
    name, value = draw(
        st.one_of(
            st.sampled_from(CONTENT_TYPES).map(lambda value: (b"content-type", value)),
            st.sampled_from(ACCEPTS).map(lambda value: (b"accept", value)),
            st.sampled_from(OTHER_HEADERS),
            st.sampled_from((b"x-auth-token", b"content-type")).map(lambda name: (name, None)),
        )
    )
    if value is None:
        draft.headers.pop(name, None)
    else:
        draft.headers[name] = value


def change_form(draw: Draw, draft: Draft) -> None:
    """Send the same request in another encoding."""
    match draw(st.sampled_from(("quoting", "chunked", "unescaped"))):
        case "quoting":
            draft.quoting = draw(st.sampled_from(QUOTINGS))
        case "chunked":
            draft.chunked = True
        case "unescaped":
            draft.ascii_only = False


def change_path(draw: Draw, draft: Draft) -> None:
    position = draw(st.integers(1, len(draft.segments)))
    match draw(st.sampled_from(("insert", "end", "drop", "repeat"))):
        case "insert":
            draft.segments.insert(position, draw(hostile.texts))
        case "end":
            draft.segments.append("")
        case "drop":
            del draft.segments[position:]
            draft.segments += [""] if len(draft.segments) == 1 else []
        case "repeat":
            draft.segments += draft.segments[1:]


def change_path_segment(draw: Draw, draft: Draft) -> None:
    position = draw(st.integers(1, len(draft.segments) - 1))
    draft.segments[position] = draw(changed_text(draft.segments[position]))


# ---------------------------------------------------------------------------------------------
# Query strings


def change_query(draw: Draw, draft: Draft) -> None:
    known = st.builds(str.__add__, st.sampled_from(PARAMETERS), st.sampled_from(SUFFIXES))
    names = known | hostile.texts
    if not draft.query:
        draft.query.append((draw(names), draw(hostile.texts)))
        return
    position = draw(st.integers(0, len(draft.query) - 1))
    name, value = draft.query[position]
    match draw(st.sampled_from(("value", "value", "value", "name", "repeat", "drop", "add"))):
        case "value":
            draft.query[position] = (name, draw(changed_text(value)))
        case "name":
            draft.query[position] = (draw(st.one_of(names, changed_text(name))), value)
        case "repeat":
            draft.query.append((name, draw(st.one_of(st.just(value), changed_text(value)))))
        case "drop":
            del draft.query[position]
        case "add":
            draft.query.insert(position, (draw(names), draw(hostile.texts)))


# ---------------------------------------------------------------------------------------------
# Bodies


def change_body(draw: Draw, draft: Draft) -> None:
    way = draw(st.sampled_from(("value",) * 8 + ("raw", "bytes", "instead", "none")))
    draft.headers.setdefault(b"content-type", b"application/json")
    if isinstance(draft.body, bytes) or (draft.body is None and way in ("value", "bytes")):
        way = "raw"
    match way:
        case "value":
            place = draw(st.sampled_from(places(draft.body)))
            draft.body = changed(draft.body, place, lambda value: draw(changed_value(value)))
        case "raw":
            draft.body = draw(hostile.raw_bodies)
        case "bytes":
            content = write(draft.body).encode("utf-8", "surrogatepass")
            start = draw(st.integers(0, len(content)))
            end = draw(st.integers(start, min(len(content), start + 4)))
            draft.body = content[:start] + draw(st.binary(max_size=4)) + content[end:]
        case "instead":
            draft.body = draw(hostile.values)
        case "none":
            draft.body = None
