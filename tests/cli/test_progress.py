"""How commands show how far they are: on a terminal, in a log, and for programs."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.support.database_servers import free_port
from tests.support.terminal import COLUMNS, Terminal

# A command that takes a while, as those of roost are made. Its arguments: seconds for each of ten
# steps, seconds for something without steps.
PROGRAM = """
import sys, time, click
from roost import progress as shown
from roost.cli.progress_view import shown_progress
from roost.progress import track

shown.LINE_AFTER_SECONDS = 0.5
shown.LINE_EVERY_SECONDS = 0.2

@click.command()
@click.argument("step", type=float)
@click.argument("statement", type=float)
@click.option("--json", "as_json", is_flag=True)
def main(step, statement, as_json):
    with shown_progress(as_json=as_json) as progress:
        for number in track(progress, "reading allocations", range(10)):
            time.sleep(step)
            if number % 5 == 4:
                with progress.printing():
                    print("result", number, flush=True)
        progress.stage("adding an index")
        time.sleep(statement)
    print("done", flush=True)

main()
"""


def command(step: float, statement: float, *options: str) -> list[str]:
    return [sys.executable, "-c", PROGRAM, str(step), str(statement), *options]


def run_in_pipe(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=60)


LINE = re.compile(r"roost: reading allocations: (\d) of 10 \(\d0 %\), \d s")
HIDDEN_CURSOR = "\x1b[?25l"
RESULTS = ["result 4", "result 9", "done"]


def test_a_bar_on_a_terminal_disappears_when_the_work_is_done() -> None:
    with Terminal(command(0.15, 1.2)) as terminal:
        assert terminal.wait() == 0
    assert "reading allocations" in terminal.shown
    assert "5 of 10" in terminal.shown
    # A statement without steps shows for how long it runs.
    lines = [line.rstrip() for line in terminal.shown.split("\r\x1b[2K")]
    assert any(line.startswith("adding an index") and line.endswith(" 1 s") for line in lines)
    # Nothing has to be restored, whatever ends the program.
    assert HIDDEN_CURSOR not in terminal.shown
    # Only results are left, each on a line of its own.
    assert terminal.screen == [*RESULTS, ""]
    drawn = [line for part in terminal.shown.split("\r\n") for line in part.split("\r\x1b[2K")]
    assert all(len(line) < COLUMNS for line in drawn)


def test_quick_work_shows_nothing() -> None:
    with Terminal(command(0.01, 0)) as terminal:
        assert terminal.wait() == 0
    assert terminal.shown.splitlines() == RESULTS


def test_ctrl_c_ends_the_command_and_leaves_a_clean_terminal() -> None:
    with Terminal(command(0.3, 0)) as terminal:
        terminal.wait_for("reading allocations")
        terminal.interrupt()
        assert terminal.wait() == 1
    assert "Traceback" not in terminal.shown
    assert terminal.screen == ["", "Aborted!", ""]


def test_lines_in_a_log_are_few_and_whole() -> None:
    done = run_in_pipe(*command(0.15, 0.5))
    assert done.stdout.splitlines() == RESULTS
    lines = done.stderr.splitlines()
    assert 3 <= len(lines) <= 10
    assert LINE.fullmatch(lines[0])
    assert lines[-1] == "roost: adding an index: 0 s"


def test_programs_that_read_json_get_no_lines() -> None:
    assert run_in_pipe(*command(0.06, 0, "--json")).stderr == ""


def test_a_person_sees_the_bar_while_a_program_reads_json() -> None:
    with Terminal(command(0.15, 0, "--json"), stdout_is_terminal=False) as terminal:
        assert terminal.wait() == 0
    assert "5 of 10" in terminal.shown
    assert terminal.printed.splitlines() == RESULTS


def test_a_terminal_without_cursor_movements_gets_lines() -> None:
    with Terminal(command(0.15, 0), environment={"TERM": "dumb"}) as terminal:
        assert terminal.wait() == 0
    lines = terminal.shown.split("\r\n")
    assert any(LINE.fullmatch(line) for line in lines)
    assert "\x1b" not in terminal.shown


class TestWorkers:
    """The parent of the workers shows how far they are."""

    @pytest.fixture
    def program(self) -> list[str]:
        return [sys.executable, "-m", "tests.support.slow_workers", str(free_port()), "2"]

    def test_ctrl_c_while_they_load(self, program: list[str]) -> None:
        with Terminal(program) as terminal:
            terminal.wait_for("worker 1: reading providers")
            terminal.interrupt()
            assert terminal.wait() == 0
        assert [line for line in terminal.screen if "reading" in line] == []
        assert "Traceback" not in terminal.shown

    def test_the_terminal_has_one_bar(self, program: list[str]) -> None:
        with Terminal(program) as terminal:
            terminal.wait_for("worker 1: reading providers")
            [found] = re.findall(r"worker 1 started with process id (\d+)", terminal.shown)
            os.kill(int(found), signal.SIGKILL)
            terminal.wait_for("was killed by SIGKILL")
            terminal.wait_for("index loaded")
            # The one that takes its place loads, too.
            terminal.wait_for("index loaded", times=2)
            time.sleep(0.3)
            terminal.interrupt()
            assert terminal.wait() == 0
        assert [line for line in terminal.screen if "reading" in line] == []

    def test_a_log_has_lines(self, program: list[str]) -> None:
        with subprocess.Popen(program, stderr=subprocess.PIPE, text=True) as service:
            assert service.stderr is not None
            lines = []
            for line in service.stderr:
                lines.append(line)
                if "index loaded" in line:
                    break
            service.terminate()
            service.stderr.read()
        assert service.returncode == 0
        found = [line for line in lines if "[-] worker 1: reading providers: " in line]
        assert found[0] != found[-1]
        assert "of 8 (" in found[0]
