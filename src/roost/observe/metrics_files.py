"""Where several processes put their metrics, so that each can answer for all.

This module imports nothing of Prometheus: the library looks at the variable when it is imported.
"""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

_FILE_NAME = re.compile(r".+_([0-9]+)\.db")


@contextmanager
def shared_by(workers: int) -> Iterator[None]:
    """A folder that belongs to these workers, and goes away with them.

    One that somebody has named is left to them, and one worker needs none.
    """
    named = os.environ.get(VARIABLE)
    if named is not None:
        folder = Path(named)
        folder.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        yield
    elif workers == 1:
        yield
    else:
        with tempfile.TemporaryDirectory(
            prefix="roost-metrics-", ignore_cleanup_errors=True
        ) as name:
            os.environ[VARIABLE] = name
            yield


def writers(folder: Path) -> dict[int, bool]:
    """The processes that have written to the folder, and whether they live."""
    matches = [_FILE_NAME.fullmatch(path.name) for path in folder.iterdir()]
    return {int(match[1]): _lives(int(match[1])) for match in matches if match is not None}


def _sweep(folder: Path) -> None:
    # A new process may get the number of a dead one, and would go on from its numbers.
    for process, lives in writers(folder).items():
        if not lives:
            for path in folder.glob(f"*_{process}.db"):
                path.unlink(missing_ok=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
