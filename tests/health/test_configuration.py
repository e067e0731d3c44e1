"""The start and `roost status` agree on what is wrong with a configuration."""

import json
import logging
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result

from roost.api.http.messages import Application
from roost.assembly import LazyApplication, build_configured
from roost.cli.main import roost
from roost.cli.output import Failure
from roost.client.direct import direct
from roost.health.configuration import check_configuration
from roost.settings import SettingsError, load_settings, sources
from tests.keystone.stand_in import authtoken

KEYSTONE = authtoken("http://keystone:5000")
EMBEDDED = "roost/roost.db"


@pytest.fixture(autouse=True)
def unchanged_logging() -> Iterator[None]:
    """The service sets up the logging of its process, which here is that of the tests."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    for handler in [each for each in root.handlers if each not in handlers]:
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration folder; the embedded database would be in it, too."""
    monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(roost, arguments)


def failure_of(*arguments: str) -> Failure:
    done = run(*arguments)
    assert isinstance(done.exception, Failure), done.output
    assert "\n" not in str(done.exception)
    return done.exception


def statuses(*arguments: str) -> tuple[int, list[dict[str, str]]]:
    """The exit code of `roost status`, and its checks that did not succeed."""
    done = run("status", "--json", *arguments)
    checks = json.loads(done.stdout)["checks"]
    return done.exit_code, [each for each in checks if each["result"] != "success"]


def answer_of(path: str = "/traits") -> httpx.Response:
    """What any WSGI server would answer that loads `roost.wsgi:application`."""
    transport = httpx.WSGITransport(app=LazyApplication(build_configured))
    with httpx.Client(transport=transport, base_url="http://roost") as client:
        return client.get(path, headers={"openstack-api-version": "placement latest"})


SERVE = ("serve", "--port", "1")
DATABASE_COMMANDS = [("db", "sync"), ("db", "version"), ("db", "check", "--fix", "--yes")]
MISSPELT = "[api]\nauth_strategy = noauth2\n[placment_database]\nconnection = sqlite:////x.db\n"


class TestOtherDatabase:
    """The embedded one is only for those who have configured nothing."""

    @pytest.mark.parametrize("arguments", [SERVE, *DATABASE_COMMANDS], ids=" ".join)
    def test_a_named_folder_without_the_file(self, folder: Path, arguments: Sequence[str]) -> None:
        refused = failure_of(*arguments)
        assert refused.exit_code == 2
        assert f"connection is not set: expected the URL of a database; there is no {folder}" in (
            str(refused)
        )
        assert answer_of().status_code == 503
        assert not (folder / EMBEDDED).exists()
        assert run("db", "sync", "--database", f"sqlite:///{folder}/x.db").exit_code == 0
        with direct(f"sqlite:///{folder}/x.db") as client:
            assert client.traits()

    def test_a_link_to_nothing(self, folder: Path) -> None:
        (folder / "placement.conf").symlink_to(folder / "nothing")
        assert str(failure_of(*SERVE)) == (
            f"no such configuration file: {folder}/placement.conf, which is a link"
        )

    def test_nothing_is_configured(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OS_PLACEMENT_CONFIG_DIR")
        monkeypatch.setattr(sources, "CONFIG_FOLDER_DEFAULT", str(folder / "etc"))
        assert run("db", "sync").exit_code == 0
        assert (folder / EMBEDDED).exists()

    def test_a_variable_alone(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OS_PLACEMENT_CONFIG_DIR")
        monkeypatch.setattr(sources, "CONFIG_FOLDER_DEFAULT", str(folder / "etc"))
        monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", f"sqlite:///{folder}/x.db")
        assert run("db", "sync").exit_code == 0
        assert (folder / "x.db").exists()
        assert not (folder / EMBEDDED).exists()
        monkeypatch.setenv("OS_API__AUTH_STRATEGY", "noauth2")
        assert answer_of("/").status_code == 200

    def test_a_folder_for_it_that_cannot_be_made(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        (folder / "placement.conf").write_text(KEYSTONE)
        monkeypatch.setenv("XDG_DATA_HOME", str(folder / "placement.conf"))
        assert answer_of().status_code == 503
        assert "roost of the embedded database cannot be made: Not a directory" in caplog.text


def test_an_error_that_nobody_foresaw_is_a_503_and_its_origin_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def build() -> Application:
        raise TypeError("hunter2")

    transport = httpx.WSGITransport(app=LazyApplication(build))
    with httpx.Client(transport=transport, base_url="http://roost") as client:
        answer = client.get("/traits")
        assert answer.status_code == 503
        assert "hunter2" not in answer.text
        assert client.get("/livez").status_code == 200
    assert "not started: TypeError" in caplog.messages
    assert "in build" in caplog.text


def test_after_a_correction_requests_are_answered_without_a_restart(folder: Path) -> None:
    transport = httpx.WSGITransport(app=LazyApplication(build_configured))
    with httpx.Client(transport=transport, base_url="http://roost") as client:
        assert client.get("/").status_code == 503
        database = f"[placement_database]\nconnection = sqlite:///{folder}/x.db\n"
        (folder / "placement.conf").write_text(f"{KEYSTONE}{database}")
        assert client.get("/").status_code == 200


def test_a_file_on_the_command_line_that_is_not_there_is_wrong_usage(folder: Path) -> None:
    for command in (("status",), SERVE):
        assert run(*command, "--config-file", str(folder / "nowhere.conf")).exit_code == 2


class TestMisspeltDatabase:
    """Nothing starts on, or writes to, a database that nobody meant."""

    @pytest.mark.parametrize("arguments", [SERVE, *DATABASE_COMMANDS], ids=" ".join)
    @pytest.mark.parametrize("way", ["folder", "--config-file", "--config-dir"])
    def test_no_command_uses_the_embedded_one(
        self, folder: Path, arguments: Sequence[str], way: str
    ) -> None:
        path = folder / ("placement.conf" if way == "folder" else "other.conf")
        path.write_text(MISSPELT)
        given = {
            "folder": (),
            "--config-file": (way, str(path)),
            "--config-dir": (way, str(folder)),
        }
        refused = failure_of(*arguments, *given[way])
        assert refused.exit_code == 2
        assert str(refused) == (
            f"[placment_database] is unknown: expected [placement_database] (in {path})"
        )
        assert not (folder / EMBEDDED).exists()

    def test_status_says_the_same(self, folder: Path) -> None:
        (folder / "placement.conf").write_text(MISSPELT)
        refused = failure_of("status")
        assert str(refused) == str(failure_of("db", "sync"))
        assert refused.exit_code == 255

    def test_other_servers_answer_503_and_log_why(
        self, folder: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (folder / "placement.conf").write_text("[placement_database]\nconection = x\n")
        assert answer_of().status_code == 503
        assert "[placement_database]conection is unknown" in caplog.text
        assert not (folder / EMBEDDED).exists()

    def test_the_client_without_a_server_refuses(self, folder: Path) -> None:
        (folder / "placement.conf").write_text(MISSPELT)
        with pytest.raises(SettingsError, match="placment_database"), direct():
            pass

    def test_a_folder_without_files_is_no_configuration(self, folder: Path) -> None:
        empty = folder / "empty"
        empty.mkdir()
        refused = failure_of("db", "sync", "--config-dir", str(empty))
        assert (refused.exit_code, str(refused)) == (2, f"no *.conf file in {empty}")


def test_files_of_a_folder_are_read_last_and_in_order(folder: Path) -> None:
    (folder / "given.conf").write_text("[placement_database]\nconnection = sqlite:////none/1.db\n")
    (folder / "drop").mkdir()
    for number in (2, 3):
        text = f"[placement_database]\nconnection = sqlite:////none/{number}.db\n"
        (folder / "drop" / f"{number}.conf").write_text(text)
    refused = failure_of(
        *("db", "version", "--config-dir", str(folder / "drop")),
        *("--config-file", str(folder / "given.conf")),
    )
    assert "/none/3.db" in str(refused)


WRONG = {
    "an empty keystone_authtoken": ("", "[keystone_authtoken] does not say how to reach it"),
    "a misspelt keystone_authtoken": (
        KEYSTONE.replace("authtoken]", "authtokn]"),
        "[keystone_authtokn] (closest: [keystone_authtoken])",
    ),
    "a plugin that is missing": (
        KEYSTONE.replace("= password", "= magic"),
        "[keystone_authtoken] cannot be used: The plugin magic could not be found",
    ),
    "a value of a library": (
        f"{KEYSTONE}http_connect_timeout = soon\n",
        "[keystone_authtoken]http_connect_timeout = soon: expected an integer",
    ),
    "a database that nobody knows": (
        f"{KEYSTONE}[placement_database]\nconnection = oracle://x/y\n",
        "[placement_database]connection = oracle://x/y: roost knows no database oracle",
    ),
    "a parameter of the URL": (
        f"{KEYSTONE}[placement_database]\nconnection = mysql://x/y?sslmode=require\n",
        "the driver pymysql knows no parameter sslmode (closest: ssl_mode)",
    ),
    "a log file": (
        f"{KEYSTONE}[DEFAULT]\nlog_file = /none/x.log\n",
        "[DEFAULT]log_file = /none/x.log: expected a file that can be written (No such file",
    ),
    "a log level": (
        f"{KEYSTONE}[DEFAULT]\ndefault_log_levels = roost=LOUD\n",
        "[DEFAULT]default_log_levels = roost=LOUD: expected logger=LEVEL",
    ),
    "a policy": (
        f"{KEYSTONE}[oslo_policy]\npolicy_file = broken.yaml\n",
        "broken.yaml",
    ),
}


class TestLogFile:
    def test_the_check_does_not_create_it(self, folder: Path) -> None:
        """As root it would take it away from the user of the service."""
        path = folder / "roost.log"
        text = f"[DEFAULT]\nlog_file = {path}\n[placement_database]\nconnection = {{}}\n"
        (folder / "placement.conf").write_text(f"{KEYSTONE}{text.format('sqlite:////none/x.db')}")
        _, wrong = statuses()
        assert [each["name"] for each in wrong] == ["database"]
        check_configuration(load_settings())
        assert not path.exists()

    def test_an_empty_one_is_none(self, folder: Path) -> None:
        text = (
            f"[DEFAULT]\nlog_file =\n[placement_database]\nconnection = sqlite:///{folder}/x.db\n"
        )
        (folder / "placement.conf").write_text(f"{KEYSTONE}{text}")
        assert run("db", "sync").exit_code == 0
        assert statuses() == (0, [])
        assert answer_of("/").status_code == 200


@pytest.mark.parametrize("name", WRONG)
def test_what_stops_the_start_is_a_failure_in_status(
    folder: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    text, expected = WRONG[name]
    (folder / "placement.conf").write_text(text)
    (folder / "broken.yaml").write_text("[not a policy")
    refused = failure_of(*SERVE)
    assert refused.exit_code == 2
    assert expected in str(refused)
    code, wrong = statuses()
    assert code == 2
    assert any(expected in each["detail"] for each in wrong), wrong
    assert answer_of().status_code == 503
    assert f"not started: {refused}" in caplog.messages


def test_a_missing_driver_stops_the_start(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{KEYSTONE}[placement_database]\nconnection = mysql+mysqldb://me:hunter2@db/x\n"
    (folder / "placement.conf").write_text(text)
    monkeypatch.setitem(sys.modules, "pymysql", None)
    expected = "its driver pymysql is not installed"
    refused = failure_of(*SERVE)
    assert expected in str(refused)
    assert "pip install 'roost[mysql]'" in str(refused)
    code, wrong = statuses()
    assert code == 2
    assert [each["name"] for each in wrong] == ["database"]
    assert expected in wrong[0]["detail"]
    assert expected in str(failure_of("db", "sync"))
    assert "hunter2" not in str(refused) + wrong[0]["detail"]


def test_an_unknown_option_is_a_warning_in_both(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = f"[placement_database]\nconnection = sqlite:///{folder}/x.db\nmax_pol_size = 1\n"
    (folder / "placement.conf").write_text(f"{KEYSTONE}{database}[plcement]\nx = 1\n")
    expected = (
        "unknown, so without effect: [plcement] (closest: [placement]), "
        "[placement_database]max_pol_size (closest: max_pool_size)"
    )
    assert run("db", "sync").exit_code == 0
    code, wrong = statuses()
    assert code == 1
    assert [(each["name"], each["detail"]) for each in wrong] == [("unknown options", expected)]
    with caplog.at_level(logging.INFO):
        assert answer_of("/").status_code == 200
    assert (logging.WARNING, expected) in [
        (each.levelno, each.getMessage()) for each in caplog.records
    ]


def test_the_driver_in_use_is_said(folder: Path) -> None:
    url = "postgresql+psycopg2://127.0.0.1:1/x"
    (folder / "placement.conf").write_text(f"{KEYSTONE}[placement_database]\nconnection = {url}\n")
    line = "[placement_database]connection names psycopg2; using psycopg, which is installed"
    done = run("status", "--json")
    checks = {each["name"]: each["detail"] for each in json.loads(done.stdout)["checks"]}
    assert checks["driver"] == line
    assert run("db", "sync").stderr == f"roost: {line}\n"


def test_a_policy_of_json_is_a_failure_that_does_not_stop_the_start(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "policy.yaml").write_text('{"placement:traits:list": "role:admin"}')
    database = f"[placement_database]\nconnection = sqlite:///{folder}/x.db\n"
    (folder / "placement.conf").write_text(f"{KEYSTONE}{database}")
    assert run("db", "sync").exit_code == 0
    code, wrong = statuses()
    assert (code, [each["name"] for each in wrong]) == (2, ["policy"])
    assert answer_of("/").status_code == 200
    assert "is JSON, which is not accepted any more" in caplog.text
