"""How many connections are in use, and how many may be."""

import math

from sqlalchemy import Engine, QueuePool, event

from roost.observe import metrics


def register(engine: Engine, name: str) -> None:
    """Count the connections of this engine under this name."""
    used = metrics.CONNECTIONS_USED.labels(name)
    metrics.CONNECTIONS_MAX.labels(name).set(_limit(engine))

    # What was taken is given back once, also where the connection broke.
    def taken(*_: object) -> None:
        used.inc()

    def given_back(*_: object) -> None:
        used.dec()

    event.listen(engine, "checkout", taken)
    event.listen(engine, "checkin", given_back)


def _limit(engine: Engine) -> float:
    pool = engine.pool
    assert isinstance(pool, QueuePool)
    # 0 and -1 mean no limit.
    if pool.size() == 0 or pool._max_overflow < 0:
        return math.inf
    return pool.size() + pool._max_overflow
