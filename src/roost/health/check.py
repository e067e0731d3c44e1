"""`roost db check`: everything that is wrong in the tables, or between them and the index."""

from sqlalchemy import Connection

from roost.changes import Rows
from roost.health import inspection
from roost.health.definitions import find_wrong_definitions
from roost.health.findings import Finding, FindingKind
from roost.health.index_check import TableContents, compare_index, read_contents
from roost.model import Value
from roost.progress import SILENT, Progress
from roost.search.index.index import Index
from roost.store.store import Store
from roost.store.tables import index_rows


class TablesSnapshot(Value, frozen=True, kw_only=True):
    """What a check reads from the tables, all in one snapshot."""

    rows: Rows  # as the index loads them
    contents: TableContents  # the same facts, read by other statements
    findings: tuple[Finding, ...]


def check(store: Store, progress: Progress = SILENT) -> list[Finding]:
    """All findings; those about definitions only, if rows cannot be loaded."""
    progress.stage("inspecting indexes and keys")
    definitions = store.read_snapshot(lambda connection: [*find_wrong_definitions(connection)])
    if any(each.kind is FindingKind.NULL_IN_KEY for each in definitions):
        return definitions
    tables = read_tables(store, progress)
    progress.stage("building the index")
    index = Index.build(tables.rows)
    progress.stage("comparing the index with the tables")
    # A provider in a loop is in no tree of the index, and is a finding already.
    ignored = {each.subject for each in tables.findings if each.kind is FindingKind.LOOP}
    differences = [*compare_index(index, tables.contents, ignored)]
    return [*definitions, *tables.findings, *differences]


def read_tables(store: Store, progress: Progress = SILENT) -> TablesSnapshot:
    """Inspect the tables. Other processes may write meanwhile, because this reads a snapshot."""

    def read(connection: Connection) -> TablesSnapshot:
        progress.stage("reading names")
        names = inspection.read_names(connection)
        findings: list[Finding] = []
        for number, (title, step) in enumerate(inspection.STEPS.items(), 1):
            # Each is one statement, so there is nothing to count but the steps.
            progress.stage(f"inspecting {title} ({number} of {len(inspection.STEPS)})")
            findings += step(connection, names)
        rows = index_rows.read_all(connection, progress)
        contents = read_contents(connection, progress)
        return TablesSnapshot(rows=rows, contents=contents, findings=tuple(findings))

    return store.read_snapshot(read)
