"""Who says which consumers are known: lists, and nova."""

import os
import stat
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from keystoneauth1.session import Session

from roost.audit.known import Known, read_list
from roost.audit.nova import Nova
from roost.cli.authentication import keystone_plugin
from roost.cli.output import BadInput
from roost.progress import Progress

STANDARD_INPUT = "-"


class Sources(NamedTuple):
    """Who says which consumers are known."""

    lists: Sequence[str]
    more_lists: Sequence[str]
    nova: bool


def read_known(sources: Sources, nova: Nova | None, progress: Progress) -> tuple[Known, datetime]:
    """Who is known, and when the oldest of the lists was made."""
    times = [datetime.now(UTC)]
    known = Known()
    names = [(name, True) for name in sources.lists] + [
        (name, False) for name in sources.more_lists
    ]
    if sum(name == STANDARD_INPUT for name, _ in names) > 1:
        raise BadInput("standard input can be one list only")
    for name, need_hold in names:
        progress.stage("reading the list of known consumers")
        content, made_at = _read(name)
        if made_at is not None:
            times.append(made_at)
        shown = "standard input" if name == STANDARD_INPUT else name
        known |= read_list(content, shown, need_hold=need_hold)
    if nova is not None:
        known |= nova.known(progress)
    return known, min(times)


def _read(name: str) -> tuple[bytes, datetime | None]:
    """What a list has, and when it was made, if that is known: a file may be an old one."""
    if name == STANDARD_INPUT:
        return sys.stdin.buffer.read(), None
    try:
        with open(name, "rb") as file:
            content = file.read()
        status = Path(name).stat()
    except OSError as error:
        raise BadInput(f"{name}: {error.strerror}") from None
    # The time of a pipe, as a shell makes it for <(command), says nothing.
    is_file = stat.S_ISREG(status.st_mode)
    return content, datetime.fromtimestamp(status.st_mtime, UTC) if is_file else None


def open_nova() -> Nova:
    plugin = keystone_plugin()
    if plugin is None:
        raise BadInput("--nova: OS_AUTH_URL is not set, nor are the other variables of an openrc")
    session = Session(auth=plugin, verify=os.environ.get("OS_CACERT") or True)
    interface = os.environ.get("OS_INTERFACE", "public")
    return Nova(session, region=os.environ.get("OS_REGION_NAME"), interface=interface)
