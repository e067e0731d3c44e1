"""The consumers that a cloud knows, and how lists of them are read."""

import csv
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from roost.model import Value
from roost.quoting import quote_value
from roost.uuids import canonical_uuid, is_uuid

# Servers in these states need not hold anything: nova has not placed them yet, has given back what
# they held, or failed before it placed them.
STATUSES_WITHOUT_ALLOCATIONS = frozenset(
    {"BUILD", "DELETED", "ERROR", "SHELVED_OFFLOADED", "SOFT_DELETED"}
)

# What `openstack ... list` calls the column with the UUIDs, the likelier one first: a list of
# migrations has numbers as `Id`.
_UUID_COLUMNS = ("uuid", "id")
_STATUS_COLUMN = "status"
_EXPECTED = "expected one UUID a line, as `openstack server list -f value -c ID` prints them"
# The values of `-c ID -c Status`.
_WITH_STATUS = re.compile(r"(\S+)\s+([A-Za-z_]+)")

Row = tuple[str, str]  # a UUID as it is written, and a status or nothing


class InvalidList(ValueError):
    """A list of consumers is not one. The message is one line for the user."""


class Known(Value, frozen=True, kw_only=True):
    """Consumers that a cloud knows, by UUIDs in canonical spelling."""

    servers: frozenset[str] = frozenset()  # should hold something
    others: frozenset[str] = frozenset()  # may hold something: migrations, servers without a host

    def __or__(self, more: "Known") -> "Known":
        servers = self.servers | more.servers
        return Known(servers=servers, others=(self.others | more.others) - servers)

    def __len__(self) -> int:
        return len(self.servers) + len(self.others)

    def __contains__(self, uuid: str) -> bool:
        return uuid in self.servers or uuid in self.others


def read_list(content: bytes, name: str, *, need_hold: bool = True) -> Known:
    """The consumers of a list that `name` is the name of, for errors.

    One UUID a line; or the values, the CSV or the JSON that the `openstack` command prints. Unless
    `need_hold`, none of them has to hold anything.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidList(f"{name} is not text in UTF-8") from None
    rows = _json_rows(text, name) if text.lstrip().startswith("[") else _line_rows(text, name)
    servers: set[str] = set()
    others: set[str] = set()
    for uuid, status in rows:
        holds = need_hold and status.upper() not in STATUSES_WITHOUT_ALLOCATIONS
        (servers if holds else others).add(canonical_uuid(uuid))
    return Known(servers=frozenset(servers), others=frozenset(others - servers))


def _line_rows(text: str, name: str) -> Iterator[Row]:
    lines = text.splitlines()
    numbers = [
        number for number, line in enumerate(map(str.strip, lines)) if line and line[0] != "#"
    ]
    if not numbers:
        return
    columns = _cells(lines[numbers[0]])
    uuid_column = _uuid_column(columns)
    status_column = columns.index(_STATUS_COLUMN) if _STATUS_COLUMN in columns else None
    for number in numbers[0 if uuid_column is None else 1 :]:
        line = lines[number].strip()
        if uuid_column is None:
            match = _WITH_STATUS.fullmatch(line)
            uuid, status = (match[1], match[2]) if match else (line.strip("\"'"), "")
        else:
            cells = next(csv.reader([line]))
            cells += [""] * (len(columns) - len(cells))
            uuid = cells[columns.index(uuid_column)]
            status = "" if status_column is None else cells[status_column]
        if not is_uuid(uuid):
            raise InvalidList(
                f"{name}, line {number + 1}: {quote_value(line)} is not a UUID; {_EXPECTED}"
            )
        yield uuid, status


def _cells(line: str) -> list[str]:
    return [cell.strip().lower() for cell in next(csv.reader([line]))]


def _uuid_column(columns: Iterable[str]) -> str | None:
    """The column with the UUIDs, if these are names of columns."""
    found = set(columns)
    return next((column for column in _UUID_COLUMNS if column in found), None)


def _json_rows(text: str, name: str) -> Iterator[Row]:
    try:
        entries = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise InvalidList(f"{name} is not JSON: {error}") from None
    for number, entry in enumerate(entries, 1):
        uuid, status = _entry(entry)
        if not is_uuid(uuid):
            raise InvalidList(
                f"{name}, entry {number}: {quote_value(entry)} has no UUID; expected a list of "
                "UUIDs, or of objects with ID"
            )
        yield uuid, status


def _entry(entry: Any) -> Row:
    if not isinstance(entry, dict):
        return entry, ""
    cells = {str(key).lower(): value for key, value in entry.items()}
    return cells.get(_uuid_column(cells) or "", ""), str(cells.get(_STATUS_COLUMN, ""))
