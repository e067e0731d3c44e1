"""The file that remembers what was given back."""

from pathlib import Path

import pytest

from roost.audit.record import InvalidRecord, Record, read_record
from roost.client import Consumer
from tests.support.names import uid


def consumer(name: str, *, kind: str | None = "INSTANCE") -> Consumer:
    return Consumer(
        uuid=uid(name),
        allocations={uid("host"): {"VCPU": 2}, uid("pool"): {"DISK_GB": 5}},
        project_id="project",
        user_id="user",
        generation=3,
        consumer_type=kind,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "record.jsonl"


def test_what_was_removed_is_read_back(path: Path) -> None:
    one, two, three = map(consumer, ("one", "two", "three"))
    with Record(path) as record:
        record.planned([one, two])
        record.removed([one])
        record.kept(two, "it changed")
        record.planned([three])
        record.removed([three])
    restored = [each.as_new() for each in read_record(path)]
    assert [each.uuid for each in restored] == [uid("one"), uid("three")]
    assert restored[0].allocations == one.allocations
    assert (restored[0].project_id, restored[0].user_id) == ("project", "user")
    assert restored[0].consumer_type == "INSTANCE"
    # It must not exist when it is written.
    assert restored[0].generation is None


def test_each_line_is_on_the_disk_before_the_next_step(path: Path) -> None:
    """So that a process that is killed has recorded what it removed, or was about to remove."""
    with Record(path) as record:
        record.planned([consumer("one")])
        [planned] = read_record(path)
        assert planned.uuid == uid("one")
        record.removed([consumer("one")])
        assert len(path.read_bytes().splitlines()) == 3


def test_a_line_that_was_not_finished_does_not_count(path: Path) -> None:
    with Record(path) as record:
        record.planned([consumer("one"), consumer("two")])
    whole = path.read_bytes()
    end_of_first = whole.index(b"\n", whole.index(b"\n") + 1) + 1
    for length in range(end_of_first, len(whole), 7):
        path.write_bytes(whole[:length])
        assert [each.uuid for each in read_record(path)] == [uid("one")]


def test_a_file_is_never_overwritten(path: Path) -> None:
    path.write_text("precious")
    with pytest.raises(FileExistsError):
        Record(path)
    assert path.read_text() == "precious"


def test_only_its_owner_can_read_it(path: Path) -> None:
    with Record(path):
        assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "is not a record of roost audit"),
        ("hello\n", "is not a record"),
        ("[]\n", "is not a record"),
        ('{"format": "roost-audit-record", "version": 2}\n', "is not a record"),
        ('{"format": "roost-audit-record", "version": 1}\n{"removed": "x"}\n', "line 2: expected"),
        ('{"format": "roost-audit-record", "version": 1}\n{"planned": 1}\n', "line 2"),
        ('{"format": "roost-audit-record", "version": 1}\nx\n', "line 2"),
    ],
)
def test_other_files_are_refused(path: Path, text: str, expected: str) -> None:
    path.write_text(text)
    with pytest.raises(InvalidRecord) as refusal:
        read_record(path)
    assert expected in str(refusal.value)
