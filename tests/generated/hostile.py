"""Values that no client should send: texts, numbers, and everything that JSON can express."""

from typing import Any

from hypothesis import strategies as st

from tests.generated import small_world
from tests.generated.odd_json import Members, Token

UUIDS = (
    small_world.CN1,
    small_world.SPARE,
    small_world.SS1,
    small_world.NOBODY,
    small_world.AGGREGATE_1,
    small_world.CONSUMER_1,
    small_world.CONSUMER_NEW,
    "00000000-0000-0000-0000-000000000000",
)
NAMES = (
    "VCPU",
    "DISK_GB",
    small_world.CLASS,
    small_world.CLASS_UNUSED,
    small_world.TRAIT,
    small_world.TRAIT_STANDARD,
    small_world.SHARING,
    "CUSTOM_NEW",
    "cn2",
    "all",
    "unknown",
)
STRANGE_UUIDS = (
    small_world.CN1.upper(),
    small_world.CN1.replace("-", ""),
    f"{{{small_world.CN1}}}",
    f"urn:uuid:{small_world.CN1}",
    f" {small_world.CN1}",
    f"{small_world.CN1}\n",
    small_world.CN1[:-1],
    small_world.CN1.replace("c", "ç"),
    small_world.CN1.replace("0", "\uff10"),
    "-" * 36,
    "0" * 32,
)
STRANGE_NUMBERS = (
    *(
        "-1",
        "0",
        "-0",
        "00",
        "+1",
        "1_0",
        "1.5",
        "1e3",
        "0x10",
        "\u0663",
        "\uff19",
        "²",
        "1 ",
        " 1",
    ),
    *(str(2**31 - 1), str(2**31), str(2**63 - 1), str(2**63), str(2**64), "9" * 400),
    *("NaN", "Infinity", "None", "null", "true"),
)
STRANGE_TEXTS = (
    *("", " ", "\t", "\n", "\r\n", "\0", "\x1f", "\x7f", "\x85", "\u2028", "\ufeff", "\ufffd"),
    *("é", "ß", "İ", "ﬀ", "e\u0301", "\u202e", "😀", "\ud800", "\udfff", "\ud800\udc00x"),
    *("%", "%s", "%(a)s", "%00", "{}", "{0}", "{error}", "{uuid}", "{", "}", "$", "^$", ".*"),
    *("'", '"', "\\", "`", "' OR 1=1 --", "_", "%_%", "../..", "//", ";", "#", "?", "&", "="),
    *("!", "!!", "in:", "!in:", "in:,", "in:in:", "startswith:", ",", ":", ",,", "::", "VCPU:"),
    *("custom_x", "CUSTOM_", "CUSTOM_é", "CUSTOM_A\n", "CUSTOM_\0", "CUSTOM-A", "vcpu", "VCPU "),
    *("A" * 200, "A" * 201, "A" * 255, "A" * 256, "é" * 255, "😀" * 200, "A" * 20_000),
    *("CUSTOM_" + "A" * 248, "CUSTOM_" + "A" * 249, "a" * 64, "a" * 65),
)

texts = st.one_of(
    st.sampled_from(STRANGE_TEXTS),
    st.sampled_from(UUIDS),
    st.sampled_from(STRANGE_UUIDS),
    st.sampled_from(NAMES),
    st.sampled_from(STRANGE_NUMBERS),
    st.text(st.characters(codec=None), max_size=20),
)

STRANGE_TOKENS = (
    *("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1e400", "0.1e-9999", "01", "+1", "1."),
    *("9" * 5000, "-" + "9" * 400, "1" + "0" * 19, "0x10", "nul", "", "'a'", '"\\x"', '"\\u12"'),
    *('"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"', '"\0"', '"\n"', '"', "//", "[", "{", "]]"),
)
numbers = st.one_of(
    st.sampled_from((-1, 0, 1, 2, 10, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64)),
    st.sampled_from((-(2**31), -(2**31) - 1, -(2**63), -(2**63) - 1, 10**30)),
    st.sampled_from((1.0, 1.5, -0.0, 0.1, 1e10, 1e30, 3.4e38, 3.5e38, 1e300, 1e308, 5e-324, 1e-45)),
    st.sampled_from((-1.5, -1e10, -3.4e38, -3.5e38, -1e308, 2147483647.0, 2147483648.0, 1e19)),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
)


def nested(depth: int) -> Token:
    return Token("[" * depth + "]" * depth)


scalars = st.one_of(
    st.none(), st.booleans(), numbers, texts, st.sampled_from(STRANGE_TOKENS).map(Token)
)


def _containers(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.lists(items, max_size=3),
        st.dictionaries(texts, items, max_size=3),
        st.lists(st.tuples(texts, items), max_size=3).map(Members),
    )


values = st.one_of(
    scalars,
    st.sampled_from(([], {}, [[]], {"": {}}, [None], [1, 1])),
    st.sampled_from((20, 31, 32, 33, 500, 100_000)).map(nested),
    st.recursive(scalars, _containers, max_leaves=4),
)

# Bodies that are not JSON, or not UTF-8.
raw_bodies = st.one_of(
    st.sampled_from(
        (
            *(b"", b" ", b"\0", b"\xff", b"\xef\xbb\xbf{}", b"{", b"}", b"[]", b"null", b'"', b"1"),
            *(b'{"a": 1, "a": 2}', b'{"name": "\xff"}', b'{"name": "\xed\xa0\x80"}', b"{} {}"),
            *("{}".encode("utf-16"), "{}".encode("utf-32"), b'{"name": "a"}\0', b"{'name': 1}"),
            *(b"name=a&uuid=b", b"<a/>", b"--b\r\n\r\n--b--", b"[" * 100_000, b'{"a":' * 100_000),
        )
    ),
    st.binary(max_size=60),
)
