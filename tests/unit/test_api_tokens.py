"""The `next` of a page of a list, which the next request sends as `after`."""

import pytest

from roost.api.http_error import HttpError
from roost.api.parsing.query_string import split
from roost.api.parsing.tokens import page_token, parse_page_token

LIST = "resource_providers"


def test_a_token_gives_back_the_id_that_the_page_ended_with() -> None:
    token = page_token(LIST, split("in_tree=x&limit=2"), 7)
    assert parse_page_token(token, LIST, split(f"limit=5&after={token}&in_tree=x")) == 7


def test_a_token_fits_into_a_url() -> None:
    token = page_token(LIST, split("name=" + 1000 * "%C3%A4"), 2**63 - 1)
    assert token.isascii()
    assert token.replace("-", "").replace("_", "").isalnum()
    assert len(token) < 100


@pytest.mark.parametrize(
    "query", ["", "in_tree=y", "in_tree=x&name=y", "in_tree=x&in_tree=x", "name=x"]
)
def test_a_token_of_other_parameters_is_refused(query: str) -> None:
    token = page_token(LIST, split("in_tree=x"), 7)
    with pytest.raises(HttpError, match="another request: repeat all but 'limit'") as refused:
        parse_page_token(token, LIST, split(query))
    assert refused.value.status == 400


def test_the_order_of_values_matters_only_within_one_parameter() -> None:
    token = page_token(LIST, split("required=A&required=B&in_tree=x"), 7)
    assert parse_page_token(token, LIST, split("in_tree=x&required=A&required=B")) == 7
    with pytest.raises(HttpError, match="another request"):
        parse_page_token(token, LIST, split("in_tree=x&required=B&required=A"))


def test_a_token_of_another_list_is_refused() -> None:
    token = page_token("allocations", split("tree=x"), 7)
    with pytest.raises(HttpError, match="another request"):
        parse_page_token(token, LIST, split("tree=x"))


@pytest.mark.parametrize(
    "token", ["", "x", "MTI", "ä", "WyJ4IiwtMV0", "WzEsMl0", "====", "a" * 9999]
)
def test_a_text_that_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(HttpError, match="'after' is not what an answer gave as 'next'") as refused:
        parse_page_token(token, LIST, {})
    assert refused.value.status == 400
    assert len(str(refused.value)) < 300
