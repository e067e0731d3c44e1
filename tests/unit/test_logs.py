"""The two formats of the log, and its settings."""

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from roost.observe import logs
from roost.settings import Settings, SettingsError, load_settings

LOG = logging.getLogger("roost.test")
NOBODY = 65534
REQUEST = "req-11111111-1111-1111-1111-111111111111"
OTHER_REQUEST = "req-22222222-2222-2222-2222-222222222222"


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    """Leave logging as it was, whatever a test configures."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    tokens = logs.request_id.set(None), logs.global_request_id.set(None)
    yield
    logs.request_id.reset(tokens[0])
    logs.global_request_id.reset(tokens[1])
    for handler in set(root.handlers) - set(handlers):
        handler.close()
    root.handlers[:], root.level = handlers, level


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "roost.log"


def configure(path: Path, **settings: bool) -> None:
    logs.configure(Settings(log_dir=str(path.parent), log_file=path.name, **settings))


def test_a_plain_line_has_both_request_ids(path: Path) -> None:
    configure(path)
    logs.request_id.set(REQUEST)
    logs.global_request_id.set(OTHER_REQUEST)
    LOG.info("%d providers", 3)
    line = path.read_text()
    assert f"INFO roost.test [{OTHER_REQUEST} {REQUEST}] 3 providers\n" in line


def test_a_plain_line_outside_of_a_request_has_no_id(path: Path) -> None:
    configure(path)
    LOG.info("started")
    assert "INFO roost.test [-] started\n" in path.read_text()


def test_json_has_one_line_per_message(path: Path) -> None:
    configure(path, use_json=True)
    logs.request_id.set(REQUEST)
    LOG.warning('a "quoted" name: %s\nand a second line', "ß")
    (line,) = path.read_text().splitlines()
    fields = json.loads(line)
    assert fields["message"] == 'a "quoted" name: ß\nand a second line'
    assert fields["levelname"] == "WARNING"
    assert fields["name"] == "roost.test"
    assert fields["request_id"] == REQUEST
    assert fields["global_request_id"] is None
    assert "traceback" not in fields


def test_json_has_the_traceback_of_an_exception(path: Path) -> None:
    configure(path, use_json=True)
    try:
        raise ValueError("two\nlines")
    except ValueError:
        LOG.exception("it failed")
    (line,) = path.read_text().splitlines()
    fields = json.loads(line)
    assert fields["message"] == "it failed"
    assert fields["error_summary"] == "ValueError: two\nlines"
    assert fields["traceback"][0] == "Traceback (most recent call last):"
    assert fields["traceback"][-2:] == ["ValueError: two", "lines"]


def test_plain_text_has_the_traceback_of_an_exception(path: Path) -> None:
    configure(path)
    try:
        raise ValueError("wrong")
    except ValueError:
        LOG.exception("it failed")
    first, *_, last = path.read_text().splitlines()
    assert first.endswith("[-] it failed")
    assert last == "  ValueError: wrong"


def test_debug_messages_are_hidden_by_default(path: Path) -> None:
    configure(path)
    LOG.debug("hidden")
    configure(path, debug=True)
    LOG.debug("shown")
    assert "hidden" not in path.read_text()
    # Although logging was configured twice, the message is written once.
    assert path.read_text().count("shown") == 1


def test_options_are_read_from_the_configuration(path: Path) -> None:
    file = path.with_suffix(".conf")
    file.write_text(f"[DEFAULT]\nuse_json = true\nlog_dir = {path.parent}\nlog_file = a.log\n")
    settings = load_settings(config_files=[file])
    assert settings.use_json
    logs.configure(settings)
    LOG.info("here")
    assert json.loads((path.parent / "a.log").read_text())["message"] == "here"


def test_a_log_file_that_cannot_be_written_is_refused(path: Path) -> None:
    with pytest.raises(SettingsError, match="log_file"):
        configure(path.parent / "no" / "such" / "folder.log")


@pytest.mark.parametrize("link", [False, True])
def test_the_file_may_be_new_or_exist(path: Path, link: bool) -> None:
    if link:
        path.symlink_to(path.parent / "other.log")
    settings = Settings(log_file=str(path))
    logs.check_file(settings)
    assert not path.exists()
    logs.handler_of(settings).close()
    logs.check_file(settings)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", None),
        ("folder", "Is a directory"),
        ("none/x.log", "No such file or directory"),
        ("file/x.log", "Not a directory"),
        ("closed/x.log", "Permission denied"),
        ("closed.log", "Permission denied"),
        ("link.log", "No such file or directory"),
    ],
)
def test_the_check_of_the_file_says_what_opening_says(name: str, reason: str | None) -> None:
    with TemporaryDirectory() as given:
        folder = Path(given)
        (folder / "folder").mkdir()
        (folder / "file").touch()
        (folder / "closed").mkdir(0o555)
        (folder / "closed.log").touch(0o444)
        (folder / "link.log").symlink_to(folder / "none" / "y.log")
        folder.chmod(0o755)
        settings = Settings(log_file=str(folder / name) if name else "")
        found = []
        user = os.geteuid()
        os.seteuid(NOBODY if user == 0 else user)
        try:
            for function in (logs.check_file, logs.handler_of):
                try:
                    function(settings)
                except SettingsError as error:
                    found.append(str(error))
        finally:
            os.seteuid(user)
    line = f"[DEFAULT]log_file = {folder / name}: expected a file that can be written ({reason})"
    assert found == ([line] * 2 if reason else [])


def test_loggers_have_their_configured_levels(path: Path) -> None:
    levels = ("roost.quiet = warning", "roost.quiet.loud=DEBUG")
    logs.configure(Settings(log_dir=str(path.parent), log_file=path.name, log_levels=levels))
    logging.getLogger("roost.quiet").info("not heard")
    logging.getLogger("roost.quiet.loud").debug("heard")
    lines = path.read_text()
    assert "not heard" not in lines
    assert "heard" in lines


@pytest.mark.parametrize("text", ["roost", "roost=", "roost=LOUD"])
def test_an_invalid_log_level_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="expected logger=LEVEL"):
        logs.configure(Settings(log_levels=(text,)))
