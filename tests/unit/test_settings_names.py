"""Names in a configuration: misspelt ones, and those that have no effect."""

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from roost.settings import SettingsError, load_settings
from roost.settings.names import judge_names
from roost.settings.sources import read_sources

DATABASE = ("placement_database", "connection")
URL = "postgresql://db/placement"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty configuration folder, so that tests do not read the machine's own."""
    monkeypatch.delenv("OS_PLACEMENT_CONFIG_DIR", raising=False)
    monkeypatch.setattr("roost.settings.sources.CONFIG_FOLDER_DEFAULT", str(tmp_path))
    return tmp_path


def written(folder: Path, text: str) -> Path:
    path = folder / "given.conf"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[placment_database]\nconnection = {}", "[placment_database] is unknown"),
        ("[placement_databse]\nconnection = {}", "[placement_databse] is unknown"),
        ("[placement-database]\nconnection = {}", "[placement-database] is unknown"),
        ("[ placement_database ]\nconnection = {}", "[ placement_database ] is unknown"),
        ("[placement_db]\nconnection = {}", "[placement_db] is unknown"),
        ("[placement_database]\nconection = {}", "[placement_database]conection is unknown"),
        ("[placement_database]\nconnections = {}", "[placement_database]connections is unknown"),
        ("[placement_database]\nConnection = {}", "[placement_database]Connection is unknown"),
        ("[placement_database]\nsql_connection = {}", "sql_connection is unknown"),
        ("[placement_database]\nurl = {}", "[placement_database]url is unknown"),
        ("[database]\nconnection = {}", "[database]connection is not the database of roost"),
        ("[DEFAULT]\nsql_connection = {}", "[DEFAULT]sql_connection is not the database"),
        ("[placement]\ndatabase_connection = {}", "[placement]database_connection is not the"),
        ("[database]\nurl = {}", "[database]url is not the database of roost"),
        ("[placement_database]\nslave_connection = {}", "slave_connection is not the database"),
    ],
)
def test_a_misspelt_database_is_refused(folder: Path, text: str, expected: str) -> None:
    """The service would start on the embedded database instead."""
    path = written(folder, text.format(URL))
    with pytest.raises(SettingsError) as caught:
        load_settings(config_files=[path])
    line = str(caught.value)
    assert line.startswith(expected) or expected in line
    assert "expected [placement_database]" in line
    assert str(path) in line
    assert URL not in line


@pytest.mark.parametrize(
    "text", ["[placment_database]\nmax_pool_size = 1\n", "[placement_database]\nconection = {}\n"]
)
def test_a_misspelt_database_in_a_drop_in_is_refused(folder: Path, text: str) -> None:
    """Otherwise the database would be the one that the drop-in should replace."""
    (folder / "placement.conf").write_text(f"[placement_database]\nconnection = {URL}\n")
    (folder / "placement.conf.d").mkdir()
    (folder / "placement.conf.d" / "1.conf").write_text(text.format(URL))
    with pytest.raises(SettingsError, match="is unknown: expected"):
        load_settings()


@pytest.mark.parametrize(
    "variable",
    [
        "OS_PLACEMENT_DATABASE__CONECTION",
        "OS_PLACMENT_DATABASE__CONNECTION",
        "OS_PLACEMENT_DATABASE_CONNECTION",
        "OS_placement_database__connection",
        "OS_PLACEMENT_DB__CONNECTION",
        "OS_PLACEMENT_DB__URL",
        "OS_PLACEMENT_DATABASE__URL",
        "OS_PLACEMENT_DATABASE__CONN",
    ],
)
def test_a_misspelt_variable_is_refused(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, URL)
    expected = f"the variable {variable} is unknown: expected OS_PLACEMENT_DATABASE__CONNECTION"
    with pytest.raises(SettingsError, match=expected):
        load_settings()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OS_DATABASE__CONNECTION", URL),
        ("OS_DATABASE__CONNECTION", "elsewhere"),
        ("OS_DATABASE__URL", URL),
        ("OS_PLACEMENT__CONNECTION", URL),
        ("OS_PLACEMENT__DB", URL),
        ("OS_DEFAULT__SQL_CONNECTION", URL),
        ("OS_PLACEMENT_DATABASE__SLAVE_CONNECTION", URL),
        ("OS_SOMETHING__ELSE", "mysql+pymysql://me:secret@db/placement"),
    ],
)
def test_a_variable_that_means_the_database_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert str(caught.value) == (
        f"the variable {variable} is not the database of roost: "
        "expected OS_PLACEMENT_DATABASE__CONNECTION"
    )
    # It may be that of another service, if the database of this one is known.
    path = written(folder, f"[placement_database]\nconnection = {URL}\n")
    assert load_settings(config_files=[path]).database_url == URL


def test_a_misspelt_variable_would_override_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(folder, f"[placement_database]\nconnection = {URL}\n")
    monkeypatch.setenv("OS_PLACEMENT_DB__CONNECTION", "mysql://other/one")
    with pytest.raises(SettingsError, match="the variable OS_PLACEMENT_DB__CONNECTION is unknown"):
        load_settings(config_files=[path])


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OS_PLACEMENT_DATABASE__MAX_POOL_SIZE", "7"),
        ("OS_PLACEMENT_DATABASE__CONNECTION_RECYCLE_TIME", "7"),
        ("OS_PLACEMENT_DATABASE__CONNECTION_PARAMETERS", "x=y"),
        ("OS_PROFILER__CONNECTION_STRING", "sqlite:///x"),
        ("OS_KEYSTONE_AUTHTOKEN__AUTH_URL", "http://keystone"),
        ("OS_PLACEMENT_API_VERSION", "1.39"),
        ("OS_PLACEMENT_API__WORKERS", "4"),
        ("OS_AUTH_URL", "http://keystone"),
    ],
)
def test_other_variables_do_not_stop_the_start(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert load_settings().database.connection is None


def test_variables_are_judged_as_files_are(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (
        *("OS_PLACEMENT_DATABASE__MAX_POL_SIZE", "OS_PLACMENT__MAX_ALLOCATION_CANDIDATES"),
        *("OS_DEFAULT__DEBUG", "OS_DEFAULT__USE_SYSLOG", "OS_DEFAULT__DEBG", "OS_CACHE__BACKEND"),
        # Of other programs.
        *("OS_NEUTRON_AGENT__X", "OS_AUTH_URL"),
    ):
        monkeypatch.setenv(variable, "1")
    judged = judge_names(read_sources([]))
    assert sorted(judged.unknown) == [
        "OS_DEFAULT__DEBG (closest: debug)",
        "OS_PLACEMENT_DATABASE__MAX_POL_SIZE (closest: max_pool_size)",
        "OS_PLACMENT__MAX_ALLOCATION_CANDIDATES (closest: [placement])",
    ]
    assert sorted(judged.without_effect) == ["OS_CACHE__BACKEND", "OS_DEFAULT__USE_SYSLOG"]


def test_a_database_that_is_given_explicitly_is_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(folder, f"[placement_database]\nconection = {URL}\n")
    overrides = {DATABASE: "sqlite:////x.db"}
    settings = load_settings(config_files=[path], overrides=overrides)
    assert settings.database_url == "sqlite:////x.db"
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", "sqlite:////y.db")
    assert load_settings(config_files=[path]).database_url == "sqlite:////y.db"


@pytest.mark.parametrize(
    "text",
    [
        "[PLACEMENT_DATABASE]\nconnection = {}",
        "[placement_database]\nconnection = {}\nslave_connection = mysql://other/one",
        "[placement_database]\nconnection = {}\nmax_pol_size = 1",
        "[placement_database]\nconnection = {}\n[database]\nconnection = mysql://other/one",
        "[placement_database]\nconnection = {}\n[profiler]\nconnection_string = redis://x",
        # Like the name of the section of the database, which is there, too.
        "[placement_database]\nconnection = {}\n[placement_auth]\nauth_url = http://x",
    ],
)
def test_other_names_do_not_stop_the_start(folder: Path, text: str) -> None:
    assert load_settings(config_files=[written(folder, text.format(URL))]).database_url == URL


def test_a_file_without_a_database_means_the_embedded_one(folder: Path) -> None:
    path = written(folder, "[api]\nauth_strategy = noauth2\n[profiler]\nconnection_string = x\n")
    assert load_settings(config_files=[path]).database.connection is None


def test_unknown_names_come_with_the_closest_known_one(folder: Path) -> None:
    path = written(
        folder,
        "[DEFAULT]\ndebg = true\nzzz = 1\n"
        "[plcement]\nx = 1\n"
        "[placement]\nmax_alocation_candidates = 5\n"
        "[placement_database]\nmax_pol_size = 1\n"
        "[keystone_authtoken]\nauth_type = password\nauth_url = x\nusrname = y\n"
        "[keystone_authtokn]\nx = 1\n",
    )
    judged = judge_names(read_sources([str(path)]))
    assert judged.unknown == [
        "[plcement] (closest: [placement])",
        "[keystone_authtokn] (closest: [keystone_authtoken])",
        "[DEFAULT]debg (closest: debug)",
        "[DEFAULT]zzz",
        "[placement]max_alocation_candidates (closest: max_allocation_candidates)",
        "[placement_database]max_pol_size (closest: max_pool_size)",
        "[keystone_authtoken]usrname (closest: username)",
    ]


def test_options_of_the_authentication_may_have_a_section_of_their_own(folder: Path) -> None:
    path = written(
        folder,
        "[keystone_authtoken]\nauth_section = Service\n"
        "[service]\nauth_type = password\nauth_url = x\nusername = y\nfoo = 1\n",
    )
    assert judge_names(read_sources([str(path)])).unknown == ["[service]foo"]


def test_the_section_of_the_authentication_is_not_a_misspelt_database(folder: Path) -> None:
    path = written(
        folder,
        "[keystone_authtoken]\nauth_section = placement_auth\n"
        "[placement_auth]\nauth_type = password\nauth_url = x\nusername = y\n",
    )
    assert load_settings(config_files=[path]).database.connection is None
    assert judge_names(read_sources([str(path)])).unknown == []


def test_an_empty_section_of_the_authentication_is_none(folder: Path) -> None:
    path = written(
        folder, "[keystone_authtoken]\nauth_section =\nauth_type = password\nusername = y\n"
    )
    assert judge_names(read_sources([str(path)])).unknown == []


@pytest.mark.parametrize("log_file", ["", "log_file =\n"])
def test_a_folder_without_a_log_file_has_no_effect(folder: Path, log_file: str) -> None:
    path = written(folder, f"[DEFAULT]\nlog_dir = /var/log\n{log_file}")
    judged = judge_names(read_sources([str(path)]))
    assert judged.without_effect == ["[DEFAULT]log_dir without log_file"]


def test_names_without_an_effect_are_listed(folder: Path) -> None:
    path = written(
        folder,
        "[DEFAULT]\nlog_dir = /var/log\nuse_syslog = true\nstate_path = /var/lib/placement\n"
        "[placement_database]\nconnection = x\nslave_connection = y\nmax_retries = -1\n"
        "[oslo_messaging_rabbit]\nssl = true\n[profiler]\nenabled = true\n",
    )
    judged = judge_names(read_sources([str(path)]))
    assert judged.unknown == []
    assert judged.without_effect == [
        "[DEFAULT]use_syslog",
        "[DEFAULT]state_path",
        "[placement_database]slave_connection",
        "[placement_database]max_retries",
        "[oslo_messaging_rabbit]",
        "[profiler]",
        "[DEFAULT]log_dir without log_file",
    ]


def test_every_option_that_placement_knows_is_known(folder: Path) -> None:
    """Those of its sample configuration, and every option of oslo.db."""
    text = ""
    for name in (
        *("placement.conf", "oslo.log", "oslo.policy", "oslo.cache", "oslo.concurrency"),
        *("oslo.middleware", "keystonemiddleware.auth_token", "keystonemiddleware.audit"),
    ):
        [entry] = entry_points(group="oslo.config.opts", name=name)
        for group, options in entry.load()():
            text += f"[{group or 'DEFAULT'}]\n"
            text += "".join(f"{option.dest} = 1\n" for option in options)
    [database] = entry_points(group="oslo.config.opts", name="oslo.db")
    [(_, options)] = database.load()()
    text += "[placement_database]\n" + "".join(f"{option.dest} = 1\n" for option in options)
    judged = judge_names(read_sources([str(written(folder, text))]))
    assert judged.unknown == []
