"""docs/reference/client.md: every example, from top to bottom, and what it prints."""

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.client import errors
from roost.client.parameters import SUFFIXED, WHOLE
from roost.client.request import Request
from tests.keystone.stand_in import PASSWORD, Keystone, token
from tests.support.pages import blocks, programs
from tests.support.roost_server import RoostServer

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "client.md"


def examples(text: str) -> Iterator[tuple[int, str, str]]:
    """The line of each example, its code and its output."""
    for program, output in programs(blocks(text)):
        yield program.line, program.text, output


@pytest.mark.process
def test_every_example_prints_what_the_page_says(tmp_path: Path) -> None:
    with (
        RoostServer(f"sqlite:///{tmp_path / 'roost.db'}", tmp_path) as server,
        Keystone({"nova": token("nova")}, passwords={"nova": PASSWORD}) as keystone,
    ):
        keystone.services["placement"] = server.url
        there = {
            "http://127.0.0.1:8778": server.url,
            "https://keystone.example.org": keystone.url,
            "/var/lib/roost": str(tmp_path),
        }
        names: dict[str, object] = {"__name__": "__main__"}
        for line, code, expected in examples(PAGE.read_text()):
            for here, real in there.items():
                code, expected = code.replace(here, real), expected.replace(here, real)
            # The line numbers of a traceback are those of the page.
            program = compile("\n" * (line - 1) + code, str(PAGE), "exec")
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(program, names)
            assert printed.getvalue() == expected, f"line {line}"


def test_the_page_is_complete() -> None:
    text = PAGE.read_text()
    assert (errors.__doc__ or "").split("\n\n", 1)[1].strip() in text
    for name in (*WHOLE, *SUFFIXED):
        assert callable(getattr(Request, name))
        assert f"`{name}(" in text
