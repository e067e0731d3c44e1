"""Placement, the reference implementation, as a black box: a separate process, over HTTP."""

import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Self
from urllib.parse import urlencode

import httpx

from roost.query import AggregateRule, CandidateQuery, ProviderQuery, TraitRule
from tests.support.database_servers import free_port
from tests.support.headers import HEADERS
from tests.support.service_process import ServiceProcess

CONFIGURATION = """\
[placement_database]
connection = sqlite:///{database}
sync_on_startup = true
[api]
auth_strategy = noauth2
"""


class Reference(ServiceProcess):
    """Starts the reference on an SQLite file, and empties it for each world."""

    def __init__(self, folder: Path) -> None:
        self._database = folder / "reference.db"
        self._empty = folder / "empty.db"
        port = free_port()
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30)
        (folder / "placement.conf").write_text(CONFIGURATION.format(database=self._database))
        super().__init__(
            [
                *(sys.executable, "-m", "granian", "placement.wsgi.api:application"),
                *("--interface", "wsgi"),
                *("--host", "127.0.0.1"),
                *("--port", str(port)),
                *("--workers", "1"),
                *("--blocking-threads", "1"),
            ],
            environment={**os.environ, "OS_PLACEMENT_CONFIG_DIR": str(folder)},
            output_path=folder / "reference.log",
            # Reads the tables, so it succeeds only when they exist.
            is_ready=lambda: self.client.get("/traits", headers=HEADERS).is_success,
        )

    def __enter__(self) -> Self:
        super().__enter__()
        copy_database(self._database, self._empty)
        return self

    def stop(self) -> None:
        self.client.close()
        super().stop()

    def clear(self) -> None:
        """Return to a database without providers.

        The process remembers the names of custom classes and traits, so worlds for it use
        standard names only.
        """
        copy_database(self._empty, self._database)


def copy_database(source: Path, target: Path) -> None:
    """Copy with SQLite's backup, which takes locks: the reference may have the target open."""
    reader, writer = sqlite3.connect(source), sqlite3.connect(target)
    try:
        reader.backup(writer)
    finally:
        reader.close()
        writer.close()


# ---------------------------------------------------------------------------------------------
# A query as the HTTP API writes it


def candidates_path(query: CandidateQuery) -> str:
    pairs = []
    for group in query.groups:
        if group.resources:
            pairs.append((f"resources{group.suffix}", resources_text(group.resources)))
        pairs += [(f"required{group.suffix}", text) for text in trait_texts(group.traits)]
        pairs += [(f"member_of{group.suffix}", text) for text in aggregate_texts(group.aggregates)]
        if group.in_tree is not None:
            pairs.append((f"in_tree{group.suffix}", group.in_tree))
    if len(query.groups) > 1:
        pairs.append(("group_policy", "isolate" if query.isolate else "none"))
    pairs += [("same_subtree", ",".join(sorted(each))) for each in query.same_subtree]
    if query.root_traits:
        pairs.append(("root_required", ",".join(trait_texts(query.root_traits))))
    return "/allocation_candidates?" + urlencode(pairs)


def providers_path(query: ProviderQuery) -> str:
    pairs = [("required", text) for text in trait_texts(query.traits)]
    pairs += [("member_of", text) for text in aggregate_texts(query.aggregates)]
    if query.resources:
        pairs.append(("resources", resources_text(query.resources)))
    filters = {"uuid": query.uuid, "name": query.name, "in_tree": query.in_tree}
    pairs += [(key, value) for key, value in filters.items() if value is not None]
    return "/resource_providers?" + urlencode(pairs)


def resources_text(resources: dict[str, int]) -> str:
    return ",".join(f"{name}:{amount}" for name, amount in resources.items())


def trait_texts(rule: TraitRule) -> list[str]:
    """One parameter for all single traits, and one for each set of alternatives."""
    single = [name for each in rule.required if len(each) == 1 for name in each]
    single += [f"!{name}" for name in sorted(rule.forbidden)]
    texts = [",".join(single)] if single else []
    return texts + list(alternatives(rule))


def aggregate_texts(rule: AggregateRule) -> list[str]:
    texts = list(alternatives(rule))
    texts += [name for each in rule.required if len(each) == 1 for name in each]
    return texts + [f"!{name}" for name in sorted(rule.forbidden)]


def alternatives(rule: TraitRule | AggregateRule) -> Iterator[str]:
    for each in rule.required:
        if len(each) > 1:
            yield "in:" + ",".join(sorted(each))
