"""The server that is asked, one for each kind of database."""

import os
from collections.abc import Iterator

import pytest

from generated.subject import Subject
from servers import DATABASES

# Generated input goes to these; explicit examples always go to all of them.
GENERATED_DATABASES = os.environ.get("ROOST_DATABASES", "sqlite").split(",")


def _serve(
    kind: str, request: pytest.FixtureRequest, folders: pytest.TempPathFactory
) -> Iterator[Subject]:
    folder = folders.mktemp("generated")
    if kind == "sqlite":
        url = f"sqlite:///{folder / 'roost.db'}"
    else:
        url = request.getfixturevalue(kind).create_database()
    with Subject(url, folder) as subject:
        yield subject
        assert "Traceback" not in subject.server.output, subject.server.output


@pytest.fixture(scope="module", params=DATABASES)
def every_subject(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Subject]:
    """A server on each kind of database in turn."""
    yield from _serve(request.param, request, tmp_path_factory)


@pytest.fixture(scope="module", params=GENERATED_DATABASES)
def subject(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Subject]:
    """A server for generated input, on the kinds of database that were asked for."""
    yield from _serve(request.param, request, tmp_path_factory)
