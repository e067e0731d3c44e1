"""docs/reference/beyond.md is true: a running server gives every answer that the page shows.

The answers are also those that the OpenAPI document describes.
"""

import json
import re
from collections.abc import Iterator
from urllib.parse import quote

import httpx
import pytest

from tests.beyond.page import ANYTHING, PAGE, Section, Step, cloud, matches, sections
from tests.scenarios.reader import read_providers
from tests.support import answer_schemas
from tests.support.headers import HEADERS
from tests.support.names import uid
from tests.support.roost_server import RoostServer
from tests.support.world import build, load

TEXT = PAGE.read_text(encoding="utf-8")
SECTIONS = sections(TEXT)


class PagePlayer:
    """Plays the page on one server, from top to bottom, since sections may change the cloud."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self._played = 0
        self._last = httpx.Response(200, json={})

    def play(self, section: Section) -> None:
        for earlier in SECTIONS[self._played : SECTIONS.index(section)]:
            for step in earlier.steps:
                self._send(step)
        self._played = SECTIONS.index(section) + 1
        for step in section.steps:
            self._check(step)

    def _send(self, step: Step) -> httpx.Response:
        target = step.target
        for key in re.findall(r"<(\w+)>", target):
            target = target.replace(f"<{key}>", quote(str(self._last.json()[key])))
        # Reshapes are for other services.
        headers = {**HEADERS, "x-roles": "admin,service"}
        self._last = self._client.request(step.method, target, headers=headers, json=step.body)
        return self._last

    def _check(self, step: Step) -> None:
        answer = self._send(step)
        shown = f"{step.method} {step.target}\n{answer.status_code} {readable(answer.text)}"
        assert answer.status_code == step.status or (step.status is None and answer.is_success), (
            shown
        )
        if step.answer != ANYTHING:
            assert matches(step.answer, answer.json()), shown


def readable(text: str) -> str:
    """The text with names instead of UUIDs, as on the page."""
    for line in cloud(TEXT):
        name = line.split()[0]
        text = text.replace(uid(name), f"{{{name}}}")
    return text


@pytest.fixture(scope="module")
def player(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PagePlayer]:
    folder = tmp_path_factory.mktemp("beyond")
    with (
        RoostServer(f"sqlite:///{folder / 'roost.db'}", folder) as server,
        httpx.Client(base_url=server.url, timeout=30, event_hooks=answer_schemas.HOOKS) as client,
    ):
        load(build(*read_providers(cloud(TEXT))), client)
        yield PagePlayer(client)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.title)
def test_every_answer_is_as_the_page_says(player: PagePlayer, section: Section) -> None:
    player.play(section)


@pytest.mark.parametrize(
    ("expected", "found", "is_match"),
    [
        ('{"a": 1, "...": "..."}', '{"a": 1, "b": 2}', True),
        ('{"a": 1}', '{"a": 1, "b": 2}', False),
        ('{"a": "..."}', "{}", False),
        ('[1, "..."]', "[1, 2, 3]", True),
        ('[1, "..."]', "[]", False),
        ("[1, 2]", "[2, 1]", False),
        ('"one..."', '"one and two"', True),
        ('"one..."', '"two"', False),
    ],
)
def test_dots_match_anything(expected: str, found: str, is_match: bool) -> None:
    assert matches(json.loads(expected), json.loads(found)) is is_match
