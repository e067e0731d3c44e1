"""Versions, errors and identities: the parts of the API that need no service."""

import json

import pytest

from roost import errors
from roost.api import versions
from roost.api.access import authentication
from roost.api.http import error_response, error_table, error_wording
from roost.api.http.error_response import RequestFacts
from roost.api.http.messages import HTML, JSON, PLAIN
from roost.api.http_error import HttpError
from roost.api.routes import ROUTES

# ---------------------------------------------------------------------------------------------
# Versions


@pytest.mark.parametrize(
    ("header", "version"),
    [
        (None, "1.0"),
        ("placement 1.7", "1.7"),
        ("placement latest", "1.39"),
        ("compute 2.1", "1.0"),
        ("compute 2.1, placement 1.12", "1.12"),
        ("1.7", "1.0"),
    ],
)
def test_the_version_is_negotiated(header: str | None, version: str) -> None:
    assert str(versions.negotiate(header)) == version


@pytest.mark.parametrize(
    ("header", "status", "message"),
    [
        ("placement 0.5", 406, "Invalid microversion: Unacceptable version header: 0.5"),
        ("placement 1.40", 406, "Invalid microversion: Unacceptable version header: 1.40"),
        ("placement pony.horse", 400, "Invalid microversion: invalid version string: pony.horse"),
        ("placement 1.2.3", 400, "Invalid microversion: invalid version string: 1.2.3"),
    ],
)
def test_invalid_versions_are_refused(header: str, status: int, message: str) -> None:
    with pytest.raises(HttpError) as caught:
        versions.negotiate(header)
    assert caught.value.status == status
    assert caught.value.message.startswith(message)


def test_every_version_is_described() -> None:
    assert list(versions.VERSIONS) == [f"1.{minor}" for minor in range(40)]


# ---------------------------------------------------------------------------------------------
# Errors


def body_of(error: HttpError, **facts: str) -> dict[str, object]:
    body, kind = error_response.render(error, RequestFacts(**facts), JSON, "req-1", with_code=True)
    assert kind == "application/json"
    decoded: dict[str, object] = json.loads(body)
    return decoded


def test_errors_are_rendered_as_json() -> None:
    assert body_of(HttpError(409, "a\nb", "placement.concurrent_update")) == {
        "errors": [
            {
                "status": 409,
                "title": "Conflict",
                "detail": "There was a conflict when trying to complete your request.\n\n a b  ",
                "code": "placement.concurrent_update",
                "request_id": "req-1",
            }
        ]
    }


def test_an_error_may_quote_the_request() -> None:
    error = HttpError(405, "The method specified is not allowed for this resource.")
    detail = body_of(error, method="DELETE")["errors"][0]["detail"]  # type: ignore[index]
    assert detail == (
        "The method DELETE is not allowed for this resource. \n\n "
        "The method specified is not allowed for this resource."
    )


def test_unauthorized_has_a_different_body() -> None:
    assert set(body_of(HttpError(401))) == {"message", "code", "title"}


def test_errors_are_rendered_as_html_and_plain_text() -> None:
    error = HttpError(404, "<none>")
    page, kind = error_response.render(error, RequestFacts(), HTML, "req-1", with_code=False)
    assert kind == "text/html; charset=UTF-8"
    assert b"<h1>404 Not Found</h1>" in page
    assert b"&lt;none&gt;" in page
    text, kind = error_response.render(error, RequestFacts(), PLAIN, "req-1", with_code=False)
    assert kind == "text/plain; charset=UTF-8"
    assert text == b"404 Not Found\n\nThe resource could not be found.\n\n <none>  "


def error_and_subclasses(kind: type[errors.RoostError]) -> list[type[errors.RoostError]]:
    return [
        kind,
        *(more for child in kind.__subclasses__() for more in error_and_subclasses(child)),
    ]


@pytest.mark.parametrize("kind", error_and_subclasses(errors.BadRequest))
def test_bad_requests_are_400(kind: type[errors.RoostError]) -> None:
    assert error_table.entry_for(kind.__new__(kind)).status == 400


@pytest.mark.parametrize("kind", error_and_subclasses(errors.NotFound))
def test_not_found_errors_are_404(kind: type[errors.RoostError]) -> None:
    assert error_table.entry_for(kind.__new__(kind)).status == 404


@pytest.mark.parametrize("kind", error_and_subclasses(errors.Conflict))
def test_conflicts_are_409(kind: type[errors.RoostError]) -> None:
    assert error_table.entry_for(kind.__new__(kind)).status == 409


def test_unavailable_has_retry_after_and_no_details() -> None:
    error = error_table.to_http(errors.Unavailable("password of the database: secret"))
    assert error.status == 503
    assert error.headers == {"retry-after": "1"}
    assert error.message == ""


def test_handlers_may_reword_errors() -> None:
    wordings: error_wording.ErrorWordings = {
        errors.NotFound: error_wording.ErrorWording(sentence="Cannot {verb}: {error}", status=400)
    }
    with (
        pytest.raises(HttpError) as caught,
        error_wording.reword_errors(wordings, verb="sing"),
    ):
        raise errors.TraitNotFound("T{}")
    assert caught.value.status == 400
    assert caught.value.message == "Cannot sing: No such trait(s): T{}."
    with pytest.raises(errors.UnknownTrait), error_wording.reword_errors(wordings, verb="sing"):
        raise errors.UnknownTrait(["T"])


# ---------------------------------------------------------------------------------------------
# Identities


def identity(**headers: str) -> authentication.Identity:
    return authentication.identify_token(
        {f"HTTP_{name.upper()}": headers[name] for name in headers}
    )


def test_a_missing_token_is_unauthorized() -> None:
    with pytest.raises(HttpError) as caught:
        identity()
    assert caught.value.status == 401


def test_tokens_and_headers_make_an_identity() -> None:
    assert identity(x_auth_token="admin").roles == {"admin"}
    assert identity(x_auth_token="user").roles == frozenset()
    assert identity(x_auth_token="user").project == "user"
    assert identity(x_auth_token="user:home").project == "home"
    assert identity(x_auth_token="user:home", x_project_id="away").project == "away"
    assert identity(x_auth_token="admin", x_roles="Reader, MEMBER").roles == {"reader", "member"}
    assert identity(x_auth_token="").roles == frozenset()
    assert identity(x_auth_token="admin", openstack_system_scope="all").system_scope


# ---------------------------------------------------------------------------------------------
# Routes


def test_only_the_root_has_no_rule() -> None:
    assert [route.path for route in ROUTES if route.rule is None] == ["/"]


def test_each_version_has_one_handler_for_a_method_and_path() -> None:
    for minor in range(40):
        known = [(r.method, r.path) for r in ROUTES if r.since <= (1, minor) <= r.until]
        assert len(known) == len(set(known))
