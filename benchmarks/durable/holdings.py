"""Who holds what, for millions of consumers: as arrays, because objects would take gigabytes."""

import functools
from collections.abc import Sequence

import numpy as np
import os_resource_classes  # type: ignore[import-untyped]
import sqlalchemy
from numpy.typing import NDArray

# A row for each amount. A UUID is two words.
HOLDINGS = np.dtype(
    [
        ("consumer", np.uint64, (2,)),
        ("provider", np.uint64, (2,)),
        ("resource_class", np.int64),
        ("used", np.int64),
    ]
)
CHUNK_ROWS = 50_000
EXAMPLES_MAX = 3


@functools.cache
def class_id(name: str) -> int:
    """The id of a standard class, which is the same in every database."""
    return int(os_resource_classes.STANDARDS.index(name))


def uuid_words(uuids: Sequence[str]) -> NDArray[np.uint64]:
    data = bytes.fromhex("".join(uuids).replace("-", ""))
    return np.frombuffer(data, ">u8").reshape(-1, 2).astype(np.uint64)


def read_holdings(engine: sqlalchemy.Engine) -> NDArray[np.void]:
    """All allocations in the tables."""
    with engine.connect() as connection:
        found = connection.exec_driver_sql("SELECT id, uuid FROM resource_providers").all()
        words = np.zeros((max((number for number, _ in found), default=0) + 1, 2), np.uint64)
        if found:
            words[[number for number, _ in found]] = uuid_words([uuid for _, uuid in found])
        rows = connection.execution_options(yield_per=CHUNK_ROWS).exec_driver_sql(
            "SELECT consumer_id, resource_provider_id, resource_class_id, used FROM allocations"
        )
        parts = [np.empty(0, HOLDINGS)]
        for chunk in rows.partitions():
            consumers, providers, classes, used = zip(*chunk, strict=True)
            part = np.empty(len(chunk), HOLDINGS)
            part["consumer"] = uuid_words(consumers)
            part["provider"] = words[list(providers)]
            part["resource_class"] = classes
            part["used"] = used
            parts.append(part)
    return np.concatenate(parts)


def compare_holdings(said: NDArray[np.void], held: NDArray[np.void]) -> list[str]:
    """Where what the answers said and what the tables hold differ; empty if nowhere."""
    said, held = in_order(said), in_order(held)
    if np.array_equal(said, held):
        return []
    answered, stored = (
        {(*consumer, *provider, *rest) for consumer, provider, *rest in rows.tolist()}
        for rows in (said, held)
    )
    findings = []
    for title, differing in (
        ("answered but not held", answered - stored),
        ("held but not answered", stored - answered),
    ):
        if differing:
            shown = "; ".join(describe(row) for row in sorted(differing)[:EXAMPLES_MAX])
            findings.append(f"{len(differing):,} amounts {title}, such as {shown}")
    # Sets do not see a row that is there twice.
    return findings or [f"{len(said):,} amounts answered, {len(held):,} held: some twice"]


def in_order(rows: NDArray[np.void]) -> NDArray[np.void]:
    columns = [rows["used"], rows["resource_class"]]
    columns += [rows[name][:, word] for name in ("provider", "consumer") for word in (1, 0)]
    ordered: NDArray[np.void] = rows[np.lexsort(columns)]
    return ordered


def describe(row: tuple[int, ...]) -> str:
    *words, resource_class, used = row
    consumer, provider = (
        f"{high:016x}{low:016x}" for high, low in zip(words[::2], words[1::2], strict=True)
    )
    name = os_resource_classes.STANDARDS[resource_class]
    return f"{name}:{used} of {provider} for {consumer}"
