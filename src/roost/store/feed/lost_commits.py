"""What became of a transaction whose COMMIT got no answer."""

import time

from oslo_db import exception as driver  # type: ignore[import-untyped]
from sqlalchemy import exc as sql
from sqlalchemy import select, update

from roost.store.connection.database import Database
from roost.store.connection.driver_errors import OutcomeUnknown
from roost.store.feed.registration import ENDED
from roost.store.schema import roost_writers

ATTEMPTS = 6
PAUSE_SECONDS = 0.5


def took_place(database: Database, writer_id: int, sequence: int, token: str) -> bool:
    """Whether a writer has committed the transaction with this number; or raise `OutcomeUnknown`.

    A read would not be enough, because the server may still be about to commit. So this writes the
    row that the lost transaction wrote too, with another token, and thereby waits for its end or
    prevents it.
    """
    for _ in range(ATTEMPTS):
        try:
            with database.write_after_lost_commit() as connection:
                prevented = connection.execute(
                    update(roost_writers)
                    .where(
                        roost_writers.c.id == writer_id,
                        roost_writers.c.sequence == sequence - 1,
                    )
                    .values(token=token)
                ).rowcount
                row = connection.execute(
                    select(roost_writers.c.sequence, roost_writers.c.token).where(
                        roost_writers.c.id == writer_id
                    )
                ).one_or_none()
                connection.commit()
        except (driver.DBError, sql.DBAPIError, sql.TimeoutError):
            time.sleep(PAUSE_SECONDS)
            continue
        if prevented:
            return False
        if row is None:
            break
        # Whoever ends a writer takes a number of it, which may be the one that was lost.
        written = row.sequence - 1 if row.token.startswith(ENDED) else row.sequence
        return bool(written >= sequence)
    raise OutcomeUnknown
