"""Values and files that cannot be used: one line with section, option, value and expectation."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from oslo_config import cfg

from roost.settings import (
    OPTIONS,
    Settings,
    SettingsError,
    files_of_folder,
    library_configuration,
    load_settings,
)
from roost.settings.bad_values import expectation


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty configuration folder, so that tests do not read the machine's own."""
    monkeypatch.delenv("OS_PLACEMENT_CONFIG_DIR", raising=False)
    monkeypatch.setattr("roost.settings.sources.CONFIG_FOLDER_DEFAULT", str(tmp_path))
    return tmp_path


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that every user may enter; those of pytest are for its own user."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def written(folder: Path, *lines: str) -> Path:
    path = folder / "given.conf"
    path.write_text("\n".join(lines) + "\n")
    return path


def refusal(*files: Path) -> str:
    """The one line that says why these files are refused."""
    with pytest.raises(SettingsError) as caught:
        library_configuration(load_settings(config_files=files))
    line = str(caught.value)
    assert "\n" not in line
    # What Python calls things is of no use to an operator.
    for foreign in ("LocationInfo", "Locations.", "invalid literal", "object at 0x", "Errno", "'"):
        assert foreign not in line
    return line


NOBODY = 65534

AT_LEAST_0 = "expected an integer, at least 0"
SWITCH = "expected true or false"


@pytest.mark.parametrize(
    ("section", "option", "value", "expected"),
    [
        ("DEFAULT", "debug", "maybe", SWITCH),
        ("DEFAULT", "use_json", "2", SWITCH),
        ("api", "auth_strategy", "magic", "expected one of keystone, noauth2"),
        (
            "roost",
            "summary_metrics",
            "total,all",
            "expected a list with commas, each one of total, aggregates, traits",
        ),
        ("roost", "summary_metrics_max", "0", "expected an integer, at least 1"),
        (
            *("placement", "allocation_candidates_generation_strategy", "widest"),
            "expected one of depth-first, breadth-first",
        ),
        ("placement", "allocation_conflict_retry_count", "-1", AT_LEAST_0),
        ("placement", "allocation_conflict_retry_count", "1.5", AT_LEAST_0),
        ("placement", "max_allocation_candidates", "-2", "expected an integer, at least -1"),
        ("placement_database", "max_pool_size", "five", AT_LEAST_0),
        ("placement_database", "max_pool_size", "-5", AT_LEAST_0),
        ("placement_database", "max_overflow", "-2", "expected an integer, at least -1"),
        ("placement_database", "pool_timeout", "-1", AT_LEAST_0),
        ("placement_database", "connection_recycle_time", "1h", "expected an integer, at least -1"),
        ("placement_database", "mysql_wsrep_sync_wait", "99", "expected an integer from 0 to 15"),
        ("placement_database", "sync_on_startup", "soon", SWITCH),
        ("roost", "event_streams_max", "many", AT_LEAST_0),
        ("roost", "hold_seconds_max", "0", "expected a number"),
        ("roost", "hold_seconds_max", "61", "expected a number"),
        ("roost", "search_seconds_max", "long", "expected a number, at least 0.1"),
        ("roost", "search_seconds_max", "0", "expected a number, at least 0.1"),
        ("roost", "search_seconds_max", "nan", "expected a number, at least 0.1"),
        ("roost", "search_seconds_max", "inf", "expected a number, at least 0.1"),
        ("roost", "body_seconds_max", "1e999", "expected a number, at least 0.1"),
        ("roost", "answer_bytes_max", "0", "expected an integer, at least 1048576"),
        ("roost", "body_bytes_max", "1MB", "expected an integer, at least 1024"),
        ("roost", "body_seconds_max", "-1", "expected a number, at least 0.1"),
        ("roost", "url_prefix", "placement", "expected a path that begins with a slash"),
        ("roost", "console", "maybe", SWITCH),
        ("roost", "console_login", "maybe", SWITCH),
        ("oslo_middleware", "enable_proxy_headers_parsing", "ja", SWITCH),
        # Options of libraries.
        ("keystone_authtoken", "http_connect_timeout", "soon", "expected an integer"),
        ("keystone_authtoken", "insecure", "perhaps", SWITCH),
        (
            *("keystone_authtoken", "memcache_security_strategy", "ROT13"),
            "expected one of None, MAC, ENCRYPT",
        ),
        ("oslo_policy", "enforce_new_defaults", "perhaps", SWITCH),
        ("oslo_policy", "remote_timeout", "-1", "expected a number, at least 0"),
        ("cors", "max_age", "long", "expected an integer"),
    ],
)
def test_a_bad_value_is_one_line(
    folder: Path, section: str, option: str, value: str, expected: str
) -> None:
    path = written(folder, f"[{section}]", f"{option} = {value}")
    line = refusal(path)
    assert line.startswith(f"[{section}]{option} = {value}: {expected}")


def test_the_line_names_the_file_or_the_variable(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(folder, "[placement_database]", "max_pool_size = x")
    assert refusal(path).endswith(f"(in {path})")
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__MAX_POOL_SIZE", "y")
    assert refusal(path) == (
        "[placement_database]max_pool_size = y: expected an integer, at least 0 "
        "(in OS_PLACEMENT_DATABASE__MAX_POOL_SIZE)"
    )


def test_the_value_that_applies_is_named(folder: Path) -> None:
    first = written(folder, "[placement_database]", "max_pool_size = x")
    second = folder / "second.conf"
    second.write_text("[placement_database]\nmax_pool_size = 7\n")
    assert load_settings(config_files=[first, second]).database.max_pool_size == 7
    second.write_text("[placement_database]\nmax_pool_size = z\n")
    assert refusal(first, second).startswith("[placement_database]max_pool_size = z:")


def test_a_former_name_is_named_as_it_is_today(folder: Path) -> None:
    path = written(folder, "[keystone_authtoken]", "auth_type = password", "insecure = x")
    assert refusal(path).startswith("[keystone_authtoken]insecure = x: expected true or false")


def test_a_bad_value_on_the_command_line_is_one_line() -> None:
    with pytest.raises(SettingsError, match=r"^\[api\]auth_strategy = magic: expected one of"):
        load_settings(overrides={("api", "auth_strategy"): "magic"})


def test_an_empty_connection_is_not_the_embedded_database(folder: Path) -> None:
    path = written(folder, "[placement_database]", "connection =")
    assert refusal(path).startswith("[placement_database]connection = : expected the URL of a")


def test_a_dollar_sign_that_names_nothing_hides_the_password(folder: Path) -> None:
    path = written(folder, "[placement_database]", "connection = mysql://me:hunter$two@db/p")
    line = refusal(path)
    assert line.startswith("[placement_database]connection = ***: expected")
    assert "$$ is a dollar sign" in line
    assert "hunter" not in line


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"nonsense\n", "line 1: expected [section] or option = value"),
        (b"debug = true\n", "expected [section] or option = value, below a section"),
        (b"[DEFAULT\ndebug = true\n", "line 1: expected [section] or option = value"),
        (b"[DEFAULT]\n= 5\n", "line 2: expected [section] or option = value"),
        (b'{"DEFAULT": {}}\n', "expected [section] or option = value"),
        (b"[DEFAULT]\nlog_file = caf\xe9\n", "is not UTF-8 text: byte 24"),
        (b"[placement_database]\nconnection mysql hunter2\n", "line 2"),
    ],
)
def test_a_file_that_is_no_configuration_is_one_line(
    folder: Path, content: bytes, expected: str
) -> None:
    path = folder / "given.conf"
    path.write_bytes(content)
    line = refusal(path)
    assert f"the configuration file {path}" in line
    assert expected in line
    assert "hunter2" not in line


def test_a_file_that_cannot_be_read_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refusal(folder / "missing.conf") == (
        f"no such configuration file: {folder / 'missing.conf'}"
    )
    (folder / "given.conf").mkdir()
    assert refusal(folder / "given.conf").endswith("cannot be read: Is a directory")
    monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(folder / "typo"))
    assert refusal() == f"OS_PLACEMENT_CONFIG_DIR is {folder / 'typo'}, expected a folder"


def test_a_folder_or_file_without_permission_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = folder / "secret"
    secret.mkdir()
    written(secret, "[DEFAULT]")
    secret.chmod(0)
    with as_nobody():
        monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(secret))
        assert refusal() == f"the folder {secret} cannot be read: Permission denied"
        monkeypatch.delenv("OS_PLACEMENT_CONFIG_DIR")
        monkeypatch.setattr("roost.settings.sources.CONFIG_FOLDER_DEFAULT", "/nonexistent")
        path = secret / "given.conf"
        assert refusal(path) == f"the configuration file {path} cannot be read: Permission denied"
    secret.chmod(0o700)


@pytest.mark.parametrize(
    ("mode", "group", "reader"), [(0o640, "daemon", "daemon"), (0o600, "daemon", "root")]
)
@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to others")
def test_a_file_of_others_says_who_reads_it(
    reachable: Path, monkeypatch: pytest.MonkeyPatch, mode: int, group: str, reader: str
) -> None:
    """As that of roost-server: it is for the user of the service, and anybody may call `roost`."""
    path = reachable / "placement.conf"
    path.touch()
    shutil.chown(path, "root", group)
    path.chmod(mode)
    told = (
        f"the configuration file {path} cannot be read: Permission denied; use `sudo -u {reader}`"
    )
    with as_nobody():
        monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(reachable))
        another = ", or set OS_PLACEMENT_CONFIG_DIR to another folder"
        assert refusal() == f"{told}{another} or to nothing"
        monkeypatch.delenv("OS_PLACEMENT_CONFIG_DIR")
        monkeypatch.setattr("roost.settings.sources.CONFIG_FOLDER_DEFAULT", str(reachable))
        assert refusal() == f"{told}{another}"
        monkeypatch.setattr("roost.settings.sources.CONFIG_FOLDER_DEFAULT", "/nonexistent")
        assert refusal(path) == told


@pytest.mark.skipif(os.geteuid() != 0, reason="gives folders to others")
def test_a_folder_of_others_says_who_reads_it(
    reachable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `/etc/placement` of Debian's packages of Placement."""
    folder = reachable / "placement"
    folder.mkdir()
    shutil.chown(folder, "root", "daemon")
    folder.chmod(0o750)
    monkeypatch.delenv("OS_PLACEMENT_CONFIG_DIR", raising=False)
    monkeypatch.setattr("roost.settings.sources.CONFIG_FOLDER_DEFAULT", str(folder))
    with as_nobody():
        assert refusal() == (
            f"the folder {folder} cannot be read: Permission denied; use `sudo -u daemon`, or set "
            "OS_PLACEMENT_CONFIG_DIR to another folder"
        )


class TestFilesThatAreThere:
    """None is left out because it cannot be read: the database might be another one then."""

    def test_drop_ins_without_permission(
        self, reachable: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = reachable
        monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(folder))
        (folder / "placement.conf").write_text("[placement_database]\nconnection = sqlite:///old\n")
        drop_ins = folder / "placement.conf.d"
        drop_ins.mkdir()
        (drop_ins / "1.conf").write_text("[placement_database]\nconnection = sqlite:///new\n")
        drop_ins.chmod(0)
        with as_nobody():
            expected = f"the folder {drop_ins} cannot be read: Permission denied"
            assert refusal() == expected
            with pytest.raises(SettingsError) as caught:
                files_of_folder(drop_ins)
            assert str(caught.value) == expected
        drop_ins.chmod(0o700)

    @pytest.mark.parametrize("name", ["placement.conf", "placement.conf.d/1.conf"])
    def test_a_link_to_nothing(self, folder: Path, name: str) -> None:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(folder / "nothing")
        assert refusal() == f"no such configuration file: {path}, which is a link"

    def test_drop_ins_that_are_a_link_to_nothing(self, folder: Path) -> None:
        path = folder / "placement.conf.d"
        path.symlink_to(folder / "nothing")
        assert refusal() == f"the folder {path} cannot be read: No such file or directory"

    def test_a_folder_instead_of_the_file(self, folder: Path) -> None:
        (folder / "placement.conf").mkdir()
        assert refusal().endswith("placement.conf cannot be read: Is a directory")

    def test_hidden_files_are_left_out(self, folder: Path) -> None:
        (folder / "placement.conf.d").mkdir()
        # As editors lock a file, and as some programs copy one.
        (folder / "placement.conf.d" / ".#1.conf").symlink_to("me@host.1")
        (folder / "placement.conf.d" / "._1.conf").write_bytes(b"\0\5\26\7")
        assert load_settings().files == ()


class TestNamedFolderWithoutTheFile:
    """It is not where the configuration is, so the embedded database is not what is meant."""

    @pytest.fixture(autouse=True)
    def named(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        path = folder / "named"
        path.mkdir()
        monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(path))
        return path

    def test_it_is_refused(self, folder: Path, named: Path) -> None:
        expected = (
            "[placement_database]connection is not set: expected the URL of a database; there is "
            f"no {named}/placement.conf, where OS_PLACEMENT_CONFIG_DIR says that the "
            "configuration is"
        )
        assert refusal() == expected
        assert refusal(written(folder, "[api]", "auth_strategy = noauth2")) == expected
        (named / "placement.conf").touch()
        assert load_settings().database.connection is None

    def test_a_database_that_is_named_elsewhere_is_used(
        self, folder: Path, named: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        url = "sqlite:////x.db"
        path = written(folder, "[placement_database]", f"connection = {url}")
        overrides = {("placement_database", "connection"): url}
        assert load_settings(config_files=[path]).database_url == url
        assert load_settings(overrides=overrides).database_url == url
        monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", url)
        assert load_settings().database_url == url
        monkeypatch.delenv("OS_PLACEMENT_DATABASE__CONNECTION")
        (named / "placement.conf.d").mkdir()
        path.rename(named / "placement.conf.d" / "1.conf")
        assert load_settings().database_url == url


def test_a_number_that_is_left_empty_is_the_default(folder: Path) -> None:
    """Every option that is a number: oslo.config gives None for it, whatever the default is."""
    lines = []
    for section, options in OPTIONS.items():
        lines += [f"[{section}]", *(f"{each.name} =" for each in options if _is_number(each))]
    assert len(lines) > len(OPTIONS)
    path = written(folder, *lines)
    assert load_settings(config_files=[path]) == Settings(files=(str(path),))


def _is_number(option: cfg.Opt) -> bool:
    return isinstance(option.type, cfg.types.Number)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without the rights of root, if the tests run as root."""
    user = os.geteuid()
    os.seteuid(NOBODY if user == 0 else user)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_repeated_section_is_continued(folder: Path) -> None:
    path = written(
        folder,
        *("[placement_database]", "max_pool_size = 7", "[api]", "auth_strategy = noauth2"),
        *("[placement_database]", "max_overflow = 8"),
    )
    database = load_settings(config_files=[path]).database
    assert (database.max_pool_size, database.max_overflow) == (7, 8)


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (cfg.PortOpt("x"), "a port from 0 to 65535"),
        (cfg.FloatOpt("x", max=1), "a number, at most 1"),
        (cfg.URIOpt("x"), "a URL"),
        (cfg.IPOpt("x"), "an IP address"),
        (cfg.HostAddressOpt("x"), "the name or address of a host"),
        (cfg.ListOpt("x", item_type=cfg.types.Integer()), "a list with commas, each an integer"),
        (cfg.DictOpt("x"), "name:value pairs with commas"),
        (cfg.StrOpt("x", max_length=3), "a text of at most 3 characters"),
        (cfg.StrOpt("x"), "a text"),
    ],
)
def test_every_type_has_an_expectation(option: cfg.Opt, expected: str) -> None:
    assert expectation(option) == expected
    assert not re.search(r"[(<]", expectation(option))
