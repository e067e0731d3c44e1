"""`roost db check`: everything that is wrong in the tables, or between them and the index."""

from collections.abc import Callable

from sqlalchemy import Connection

from roost.changes import Rows
from roost.health import inspection
from roost.health.definitions import find_wrong_definitions
from roost.health.findings import Finding, FindingKind
from roost.health.index_check import TableContents, compare_index, read_contents
from roost.model import Value
from roost.search.index.index import Index
from roost.store.store import Store
from roost.store.tables import index_rows

# Called with the name of each step before the step begins.
Progress = Callable[[str], None]

# The names of all steps, in order.
STEPS = (
    "indexes and keys",
    "providers",
    *inspection.STEPS,
    "rows of the index",
    "sums of the tables",
    "index",
)


class TablesSnapshot(Value, frozen=True, kw_only=True):
    """What a check reads from the tables, all in one snapshot."""

    rows: Rows  # as the index loads them
    contents: TableContents  # the same facts, read by other statements
    findings: tuple[Finding, ...]


def check(store: Store, progress: Progress) -> list[Finding]:
    """All findings; those about definitions only, if rows cannot be loaded."""
    progress("indexes and keys")
    definitions = store.read_snapshot(lambda connection: [*find_wrong_definitions(connection)])
    if any(each.kind is FindingKind.NULL_IN_KEY for each in definitions):
        return definitions
    tables = read_tables(store, progress)
    progress("index")
    # A provider in a loop is in no tree of the index, and is a finding already.
    ignored = {each.subject for each in tables.findings if each.kind is FindingKind.LOOP}
    index = Index.build(tables.rows)
    differences = compare_index(index, tables.contents, ignored)
    return [*definitions, *tables.findings, *differences]


def read_tables(store: Store, progress: Progress) -> TablesSnapshot:
    """Inspect the tables. Other processes may write meanwhile, because this reads a snapshot."""

    def read(connection: Connection) -> TablesSnapshot:
        progress("providers")
        names = inspection.read_names(connection)
        findings: list[Finding] = []
        for title, step in inspection.STEPS.items():
            progress(title)
            findings += step(connection, names)
        progress("rows of the index")
        rows = index_rows.read_all(connection)
        progress("sums of the tables")
        contents = read_contents(connection)
        return TablesSnapshot(rows=rows, contents=contents, findings=tuple(findings))

    return store.read_snapshot(read)
