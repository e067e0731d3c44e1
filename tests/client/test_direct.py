"""The client without a server: which databases it refuses, and how it says so."""

from pathlib import Path

import pytest

from roost.client import ClientError, DatabaseNotReady, direct
from tests.support.database_servers import free_port


def refusal_of(url: str, *, sync: bool = False) -> str:
    with pytest.raises(DatabaseNotReady) as refused, direct(url, sync=sync):
        pass
    assert isinstance(refused.value, ClientError)
    message = str(refused.value)
    assert "\n" not in message
    assert "secret" not in message
    return message


def test_a_database_without_tables(tmp_path: Path) -> None:
    path = tmp_path / "roost.db"
    url = f"sqlite:///{path}"
    advice = (
        f"the database has no tables yet: run `roost db sync --database {url}`, or pass sync=True "
        "to direct"
    )
    assert refusal_of(url) == advice
    # Who only looks creates nothing.
    assert not path.exists()
    path.touch()
    assert refusal_of(url) == advice
    with direct(url, sync=True) as client:
        assert client.providers() == []
    with direct(url) as client:
        assert client.providers() == []


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_a_server_that_does_not_run(scheme: str, sync: bool) -> None:
    message = refusal_of(f"{scheme}://roost:secret@127.0.0.1:{free_port()}/roost", sync=sync)
    assert message.startswith("The database cannot be reached")


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'nowhere' / 'roost.db'}"
    assert "unable to open database file" in refusal_of(url, sync=True)


@pytest.mark.parametrize("sync", [False, True])
def test_a_file_that_is_something_else(tmp_path: Path, sync: bool) -> None:
    path = tmp_path / "roost.db"
    path.write_text("a letter, and not a database\n" * 100)
    assert "file is not a database" in refusal_of(f"sqlite:///{path}", sync=sync)
