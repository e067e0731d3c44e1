"""A page that is wrong fails."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import page_player
from tests.support.page_player import PagePlayer

Play = Callable[[str], None]


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Plays a page with a program `roost` that is a few lines of shell."""
    monkeypatch.setattr(page_player, "SECONDS_MAX", 3)
    program = tmp_path / "roost"
    program.write_text(
        "#!/bin/sh\n"
        'case "$1" in\n'
        "serve) echo ready; while :; do sleep 0.1; done ;;\n"
        "events) echo waiting; tail -n +1 -f changes ;;\n"
        "fail) echo 'roost: it failed' >&2; exit 1 ;;\n"
        "place) cat /proc/sys/kernel/random/uuid ;;\n"
        "esac\n"
    )
    program.chmod(0o755)
    (tmp_path / "python").symlink_to(sys.executable)

    def play(page: str) -> None:
        folder, scratch = tmp_path / "folder", tmp_path / "scratch"
        folder.mkdir()
        scratch.mkdir()
        path = os.pathsep.join([str(tmp_path), "/usr/bin", "/bin"])
        with PagePlayer(
            environment={"PATH": path}, folder=folder, scratch=scratch, there={"THERE": "here"}
        ) as player:
            player.play("page.md", page)

    return play


def console(*lines: str, title: str = "") -> str:
    return "\n".join([f'```console title="{title}"' if title else "```console", *lines, "```\n"])


FILE = '```text title="list.txt"\none\ntwo\n```\n'
UUID = "3f0d5b1c-0000-4000-8000-000000000001"
ANOTHER = "3f0d5b1c-0000-4000-8000-000000000002"


@pytest.mark.parametrize(
    "page",
    [
        console("$ echo one", "one", "$ echo two \\", "  three", "two three"),
        console("$ number=1", "$ echo $((number + 1)) '", "three'", "2", "three"),
        FILE + console("$ wc -l < list.txt", "2"),
        console("$ echo THERE", "here"),
        console("$ roost fail", "roost: it failed"),
        console("$ false", "$ echo $?", "1"),
        console("$ id=$(roost place)", "$ echo $id $id", f"{UUID} {UUID}"),
        console("$ roost place | tee id", UUID, f"$ echo {UUID} | diff - id"),
        console("$ name=one", title="1") + console("$ echo name=$name", "name=", title="2"),
        console("$ touch changes", "$ roost events --follow", "waiting", title="1")
        + console("$ echo changed >> changes")
        + console("waiting", "changed", "^C", "$ echo again", "again", title="1"),
        console("$ roost serve", "ready"),
        "```python\nprint(6 * 7)\n```\n```text\n42\n```\n",
        "```python\nx = 1\n```\n\nA drawing:\n\n```text\n42\n```\n",
        "```sh\nrm -rf /\n```\n",
    ],
)
def test_a_page_that_is_right(play: Play, page: str) -> None:
    play(page)


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (console("$ echo one", "two"), "page.md:2: \\$ echo one\none"),
        (console("$ echo one"), "page.md:2"),
        (console("$ true", "$ true", "done"), "page.md:3"),
        (console("$ false"), "page.md:2: status 1"),
        (console("$ roost fail", "..."), "page.md:2: status 1"),
        (console("$ echo one; false", "one"), "page.md:2: status 1"),
        (console("$ roost nothing", "roost: it failed"), "page.md:2"),
        (console("$ roost place", UUID, "$ roost place", UUID), "page.md:4"),
        (console("$ roost place | tee id", UUID, "$ cat id", ANOTHER), "page.md:4"),
        (console("$ roost serve", "never"), "page.md:2 waited for it:\nready"),
        (console("$ touch changes", "$ roost events --follow", "...") + console("one"), "waited"),
        ("```python\nprint(6 * 7)\n```\n```text\n43\n```\n", "page.md:2: .*\n42"),
        ("```python\nprint(6 * 7)\n```\n", "page.md:2: .*\n42"),
        ("```python\nraise SystemExit(1)\n```\n", "page.md:2: status 1"),
        ("```ruby\nputs 1\n```\n", "what is a ruby block"),
    ],
)
def test_a_page_that_is_wrong(play: Play, page: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        play(page)
