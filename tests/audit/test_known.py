"""Lists of consumers, as people and the `openstack` command write them."""

import json

import pytest

from roost.audit.known import InvalidList, Known, read_list
from tests.support.names import uid

ONE, TWO = uid("one"), uid("two")


def read(text: str) -> Known:
    return read_list(text.encode(), "servers.txt")


@pytest.mark.parametrize(
    "text",
    [
        f"{ONE}\n{TWO}\n",
        f"\n# servers of today\n  {ONE}\n\n   # and\n{TWO}",
        f"{ONE.upper()}\r\n{TWO.replace('-', '')}\r\n",
        f"\ufeff{ONE}\n{TWO}\n",
        f"{ONE} ACTIVE\n{TWO} VERIFY_RESIZE\n",
        # -f csv -c ID
        f'"ID"\n"{ONE}"\n"{TWO}"\n',
        f'"ID","Name","Status"\n"{ONE}","a, b","ACTIVE"\n"{TWO}","","SHUTOFF"\n',
        # -f json -c ID
        json.dumps([{"ID": ONE}, {"ID": TWO}], indent=2),
        json.dumps([{"ID": ONE, "Status": "ACTIVE"}, {"ID": TWO, "Name": "x"}]),
        json.dumps([ONE, TWO]),
        # openstack server migration list
        json.dumps([{"Id": 7, "UUID": ONE, "Status": "done"}, {"Id": 8, "UUID": TWO}]),
        f"{ONE}\n{ONE}\n{TWO}\n{ONE}\n",
    ],
)
def test_a_list_is_read_in_every_form(text: str) -> None:
    assert read(text) == Known(servers=frozenset({ONE, TWO}))


def test_servers_that_need_not_hold_anything_are_told_by_their_status() -> None:
    for text in (
        f"{ONE} SHELVED_OFFLOADED\n{TWO} ACTIVE\n",
        f"ID,Status\n{ONE},BUILD\n{TWO},ACTIVE\n",
        json.dumps([{"ID": ONE, "Status": "ERROR"}, {"ID": TWO, "Status": "ACTIVE"}]),
    ):
        found = read(text)
        assert found == Known(servers=frozenset({TWO}), others=frozenset({ONE}))
        assert ONE in found
        assert len(found) == 2


def test_a_list_of_others() -> None:
    found = read_list(f"{ONE}\n".encode(), "migrations", need_hold=False)
    assert found == Known(others=frozenset({ONE}))
    # Who must hold something, must.
    servers = Known(servers=frozenset({ONE, TWO}))
    assert found | servers == servers | found == servers


@pytest.mark.parametrize("text", ["", "\n \n", "# nobody\n", "[]", "ID\n", '"ID"\n'])
def test_empty_lists(text: str) -> None:
    assert len(read(text)) == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{ONE}\n\nhost1\n", "servers.txt, line 3: 'host1' is not a UUID"),
        (f"{ONE}\n{ONE[:-1]}\n", f"line 2: '{ONE[:-1]}' is not a UUID"),
        (f"{ONE} {TWO}\n", "line 1"),
        (
            "+------+\n| ID   |\n",
            "line 1: '+------+' is not a UUID; expected one UUID a line, as `op",
        ),
        (f"Name,ID\nx,{ONE}\ny\n", "line 3: 'y' is not a UUID"),
        ("[1", "servers.txt is not JSON"),
        ('["x"]', "entry 1: 'x' has no UUID"),
        (json.dumps([{"ID": ONE}, {"Name": "a"}]), "entry 2: {'Name': 'a'} has no UUID"),
        (json.dumps([{"Id": 7}]), "entry 1: {'Id': 7} has no UUID"),
        ("x" * 10_000, "..."),
    ],
)
def test_a_line_that_is_no_uuid_is_refused(text: str, expected: str) -> None:
    with pytest.raises(InvalidList) as refusal:
        read(text)
    assert expected in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 1000


def test_a_list_must_be_text() -> None:
    with pytest.raises(InvalidList, match=r"servers.gz is not text in UTF-8"):
        read_list(b"\x1f\x8b\x08\xff", "servers.gz")
