"""The process that runs other projects' tests reports what they do, and hides nothing."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.suites.project import Worker, WorkerEnded
from tests.support.database_servers import free_port
from tests.support.roost_server import command

EXAMPLES = "tests.suites.examples"


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    with Worker({}, tmp_path / "worker.log") as worker:
        yield worker


def outcomes(worker: Worker, name: str) -> dict[str, str]:
    return {found.test.rpartition(".")[2]: found.outcome for found in worker.run(name)}


def test_every_outcome_is_reported_once(worker: Worker) -> None:
    assert outcomes(worker, f"{EXAMPLES}.Example") == {
        "test_passes": "passed",
        "test_fails": "failed",
        "test_fails_twice": "failed",
        "test_raises": "failed",
        "test_fails_in_a_part": "failed",
        "test_is_skipped": "skipped",
        "test_is_expected_to_fail": "xfailed",
        "test_passes_unexpectedly": "failed",
    }


def test_the_reasons_are_reported(worker: Worker) -> None:
    [found] = worker.run(f"{EXAMPLES}.Example.test_fails_twice")
    assert "in the body" in found.text
    assert "in the cleanup" in found.text


def test_a_class_that_cannot_be_set_up_fails(worker: Worker) -> None:
    [found] = worker.run(f"{EXAMPLES}.BrokenClass")
    assert found.outcome == "failed"
    assert "an error of the class" in found.text


def test_a_module_that_is_missing_fails(worker: Worker) -> None:
    [found] = worker.run("tests.suites.missing")
    assert found.outcome == "failed"
    assert "missing" in found.text


def test_tests_are_listed_by_name(worker: Worker) -> None:
    assert worker.names(f"{EXAMPLES}.BrokenClass") == [f"{EXAMPLES}.BrokenClass.test_is_never_run"]


def test_the_end_of_the_process_is_an_error(worker: Worker) -> None:
    with pytest.raises(WorkerEnded, match="ended with 3"):
        list(worker.run(f"{EXAMPLES}.EndOfTheProcess"))


def test_the_tests_speak_to_the_service_that_they_are_given(tmp_path: Path) -> None:
    """Where nobody listens, they fail: they do not ask the reference inside of their process."""
    database_url = f"sqlite:///{tmp_path / 'roost.db'}"
    subprocess.run(command("db", "sync", "--database", database_url), check=True)
    url = f"http://127.0.0.1:{free_port()}"
    settings = {"ROOST_SUITE_URL": url, "ROOST_SUITE_DATABASE": database_url}
    with Worker(settings, tmp_path / "worker.log") as worker:
        [found] = worker.run("osc_placement.tests.functional.test_trait.TestTrait.test_list_traits")
    assert found.outcome == "failed"
    assert f"Unable to establish connection to {url}" in found.text
