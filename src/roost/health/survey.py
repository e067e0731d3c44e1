"""Everything that a check of the tables looks at, as of one moment."""

from collections.abc import Callable

from sqlalchemy import Connection

from roost.changes import Rows
from roost.health import inspection
from roost.health.facts import Facts, read_facts
from roost.health.findings import Finding
from roost.model import Value
from roost.store.store import Store
from roost.store.tables import index_rows

# Called with what is being looked at.
Progress = Callable[[str], None]

# All that is looked at, for those who show how far the work is.
STEPS = ("providers", *inspection.STEPS, "rows of the index", "sums of the tables")


class Survey(Value, frozen=True, kw_only=True):
    """What was found."""

    rows: Rows  # as the index takes them
    facts: Facts  # the same, asked for in another way
    findings: tuple[Finding, ...]


def survey(store: Store, progress: Progress) -> Survey:
    """Look at the tables. Others may write meanwhile: it is one moment that is looked at."""

    def look(connection: Connection) -> Survey:
        progress("providers")
        names = inspection.names(connection)
        findings: list[Finding] = []
        for title, step in inspection.STEPS.items():
            progress(title)
            findings += step(connection, names)
        progress("rows of the index")
        loaded = index_rows.read_all(connection)
        progress("sums of the tables")
        return Survey(rows=loaded, facts=read_facts(connection), findings=tuple(findings))

    return store.look(look)
