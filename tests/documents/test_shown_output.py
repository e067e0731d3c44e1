"""What counts as the output that a page shows."""

import pytest

from tests.support.shown_output import matched

ONE = "3f0d5b1c-0000-4000-8000-000000000001"
TWO = "3f0d5b1c-0000-4000-8000-000000000002"
THREE = "3f0d5b1c-0000-4000-8000-000000000003"


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ([], []),
        (["a", "...", "d"], ["a", "b", "c", "d"]),
        (["a", "..."], ["a"]),
        (["..."], ["a", "b"]),
        (["a ... d"], ["a b c d"]),
        (["a"], ["a   "]),
        (["host     0.1"], ["host    12.3"]),
        (["age  who", "4 s  me"], ["age   who", "12 s  me"]),
        (["at 2026-01-02T03:04:05Z"], ["at 2027-11-12T13:14:15Z"]),
        (["position kpLPAAr1In6mV88Bks8AHDcE"], ["position kZLPABx5vA5Mb0wG0wG0"]),
        ([ONE, ONE, TWO], [TWO, TWO, ONE]),
    ],
)
def test_it_is_the_same(shown: list[str], printed: list[str]) -> None:
    assert matched(shown, printed, {}) is not None


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ([], ["a"]),
        (["a"], []),
        (["a", "c"], ["a", "b", "c"]),
        (["a", "...", "d"], ["a", "b"]),
        (["a ... d"], ["a b c"]),
        (["a.b"], ["axb"]),
        (["  a"], ["a"]),
        (["a  b"], ["a b"]),
        (["7 free"], ["8 free"]),
        (["ratio 1.5 now"], ["ratio 2.5 now"]),
        ([ONE, ONE], [ONE, TWO]),
        ([ONE, TWO], [ONE, ONE]),
    ],
)
def test_it_is_not_the_same(shown: list[str], printed: list[str]) -> None:
    assert matched(shown, printed, {}) is None


def test_a_uuid_of_a_page_keeps_its_meaning() -> None:
    known = matched([f"made {ONE}"], [f"made {THREE}"], {})
    assert known == {ONE: THREE}
    assert matched([ONE, TWO], [THREE, ONE], known) == {ONE: THREE, TWO: ONE}
    assert matched([ONE], [TWO], known) is None
    assert matched([TWO], [THREE], known) is None
