"""The folder through which several processes share their metrics, so that each answers for all.

This module must not import prometheus_client, which reads the variable when it is imported.
"""

import fcntl
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

# Where the counters of processes that have ended are added up, by the kind of metric.
ENDED = "{}_ended.db"

_FILE_NAME = re.compile(r".+_([0-9]+)\.db")


@contextmanager
def shared_folder(workers: int) -> Iterator[None]:
    """Set the variable to a temporary folder for this number of workers.

    If the operator has set the variable, that folder is used, and stays. A single worker needs no
    folder.
    """
    named = os.environ.get(FOLDER_VARIABLE)
    if named is not None:
        folder = Path(named)
        folder.mkdir(parents=True, exist_ok=True)
        _remove_files_of_dead_processes(folder)
        yield
    elif workers == 1:
        yield
    else:
        with tempfile.TemporaryDirectory(
            prefix="roost-metrics-", ignore_cleanup_errors=True
        ) as name:
            os.environ[FOLDER_VARIABLE] = name
            yield


def processes(folder: Path) -> dict[int, bool]:
    """The processes that have written to the folder, and whether they are alive."""
    matches = [_FILE_NAME.fullmatch(path.name) for path in folder.iterdir()]
    return {int(match[1]): _is_alive(int(match[1])) for match in matches if match is not None}


@contextmanager
def locked(folder: Path, how: int) -> Iterator[None]:
    """Hold a lock of flock(2): shared to read all files, exclusive to remove some."""
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, how)
        yield


def _remove_files_of_dead_processes(folder: Path) -> None:
    for path in folder.glob(ENDED.format("*")):
        path.unlink(missing_ok=True)
    # A new process may get the id of a dead one, and would continue its counters.
    for process, is_alive in processes(folder).items():
        if not is_alive:
            for path in folder.glob(f"*_{process}.db"):
                path.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
