"""Configuration: which source wins, and what is refused."""

from pathlib import Path

import pytest

from roost.settings import Settings, load_settings
from roost.store.connection.shown_url import database_name


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty configuration folder, so that tests do not read the machine's own."""
    monkeypatch.delenv("OS_PLACEMENT_CONFIG_DIR", raising=False)
    monkeypatch.setattr("roost.settings.sources.CONFIG_FOLDER_DEFAULT", str(tmp_path))
    return tmp_path


def test_without_configuration_the_defaults_apply() -> None:
    assert load_settings() == Settings()
    assert not load_settings().depth_first


def test_later_sources_override_earlier_ones(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"{source}_db" for source in ("main", "drop_in", "given", "environment", "line")]
    main, drop_in, given = (
        folder / "placement.conf",
        folder / "placement.conf.d" / "1.conf",
        folder / "given.conf",
    )
    drop_in.parent.mkdir()
    found = []

    main.write_text(f"[placement_database]\nconnection = {names[0]}\nmax_pool_size = 7\n")
    found.append(load_settings())
    drop_in.write_text(f"[placement_database]\nconnection = {names[1]}\n")
    found.append(load_settings())
    given.write_text(f"[placement_database]\nconnection = {names[2]}\n")
    found.append(load_settings(config_files=[given]))
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", names[3])
    found.append(load_settings(config_files=[given]))
    override = {("placement_database", "connection"): names[4]}
    found.append(load_settings(config_files=[given], overrides=override))

    assert [settings.database_url for settings in found] == names
    assert {settings.database.max_pool_size for settings in found} == {7}


def test_options_of_every_section_are_read(folder: Path) -> None:
    (folder / "placement.conf").write_text(
        "[DEFAULT]\ndebug = true\n"
        "[api]\nauth_strategy = noauth2\n"
        "[placement]\nallocation_candidates_generation_strategy = depth-first\n"
        "max_allocation_candidates = 5\nincomplete_consumer_project_id = p\n"
        "[placement_database]\nsync_on_startup = false\n"
        "[workarounds]\noptimize_for_wide_provider_trees = true\n"
        "[something_else]\nunknown = 1\n"
    )
    settings = load_settings()
    assert settings.debug
    assert settings.auth_strategy == "noauth2"
    assert settings.depth_first
    assert settings.max_allocation_candidates == 5
    assert settings.incomplete_consumer_project_id == "p"
    assert settings.database.sync_on_startup is False
    assert settings.optimize_for_wide_provider_trees


def test_the_default_database_is_in_the_data_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    assert load_settings().database_url == f"sqlite:///{folder}/roost/roost.db"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:////var/lib/roost.db", "/var/lib/roost.db"),
        ("postgresql://me:secret@db:5432/roost", "postgresql://me:***@db:5432/roost"),
        ("mysql+pymysql://me@db/roost", "mysql+pymysql://me@db/roost"),
        ("mysql://me:p%40ss:w@db/roost?charset=utf8", "mysql://me:***@db/roost?charset=utf8"),
        ("postgresql://db/roost?password=secret", "postgresql://db/roost?password=***"),
        # As SQLAlchemy reads it: a password ends with the first @, whatever stands before.
        ("mysql://me:12/34secret@db/roost", "mysql://me:***@db/roost"),
        ("mysql://me:/secret@db/roost", "mysql://me:***@db/roost"),
        ("mysql://me:#secret@db/roost", "mysql://me:***@db/roost"),
        ("mysql://me:12?secret@db/roost?charset=utf8", "mysql://me:***@db/roost?charset=utf8"),
        ("mysql://me@domain:secret@db/roost", "mysql://me@domain:***@db/roost"),
        ("mysql://:secret@db/roost", "mysql://:***@db/roost"),
        ("mysql://[::1]:3306/roost", "mysql://[::1]:3306/roost"),
        ("postgresql:///roost?host=/run/postgresql", "postgresql:///roost?host=/run/postgresql"),
        ("postgresql:///d?oauth_client_secret=secret", "postgresql:///d?oauth_client_secret=***"),
        ("postgresql:///d?scram_client_key=secret", "postgresql:///d?scram_client_key=***"),
        ("sqlite:////var/lib/me@db.db", "/var/lib/me@db.db"),
        ("sqlite+pysqlcipher://:secret@//x.db", "sqlite+pysqlcipher://:***@//x.db"),
        # The rest of the password may be what follows the first @.
        ("postgresql://me:sec@ret@db/roost", "***"),
        ("mysql://me:sec@ret/secret@db/roost", "***"),
        ("mysql://m/e:secret@db/roost", "***"),
        ("mysql://me:sec@ret?secret@db/roost", "mysql://me:***@ret?***=***"),
        ("mysql://me:sec@ret?a=secret@db/roost", "mysql://me:***@ret?a=***"),
        ("mysql://me:secret@db:/roost", "***"),
        ("mysql://me:secret@db/roost\n?charset=utf8", "***"),
        ("postgresql://me:secret@db:port/roost", "***"),
        ("me:secret@db/roost", "***"),
    ],
)
def test_passwords_are_hidden(url: str, shown: str) -> None:
    assert database_name(url) == shown
