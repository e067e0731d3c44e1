"""Real processes on one database, and a process that forks after it opened the store."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import select

from roost.operations.usages import read_usages
from roost.service.service import Roost
from roost.store.schema import roost_writers
from tests.concurrency.follower import Follower, tables
from tests.concurrency.races import add_provider, claim, put, used
from tests.support.names import uid

OpenRoost = Callable[[], Roost]

ROOT = Path(__file__).resolve().parents[2]

CLAIMS = """
import sys
from tests.concurrency.races import claim, put
from roost.errors import CapacityExceeded
from roost.service.service import Roost
from roost.settings import Settings
from roost.store.store import Store
url, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
roost = Roost(Store.open(url), Settings())
granted = 0
for number in range(count):
    try:
        put(roost, claim(f"{name}-{number}", {"host": {"VCPU": 1}}))
        granted += 1
    except CapacityExceeded:
        pass
print(granted)
"""


def test_processes_share_a_provider(open_roost: OpenRoost, synchronised_url: str) -> None:
    """Four processes claim one of 30 fifteen times each."""
    roost = open_roost()
    add_provider(roost, "host", VCPU=30)
    follower = Follower(roost.store)
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", CLAIMS, synchronised_url, f"process{number}", "15"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    granted = 0
    for process in processes:
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        granted += int(output)
    assert granted == 30
    assert used(roost, "host", "VCPU") == 30
    follower.catch_up()
    assert follower.reloads == 1
    assert follower.rows == tables(roost.store.load()[1])


def test_a_forked_process_registers_as_a_writer(open_roost: OpenRoost) -> None:
    """As with uwsgi, which loads the application once and then forks its workers."""
    roost = open_roost()
    add_provider(roost, "host", VCPU=10)
    put(roost, claim("parent", {"host": {"VCPU": 1}}))
    read_usages(roost, provider_uuid=uid("host"))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            for number in range(3):
                put(roost, claim(f"child{number}", {"host": {"VCPU": 1}}))
            usages = read_usages(roost, provider_uuid=uid("host")).usages
            status = 0 if usages["VCPU"] >= 4 else 2
        finally:
            # Skips pytest's clean-up, which the parent process does.
            os._exit(status)
    for number in range(3):
        put(roost, claim(f"own{number}", {"host": {"VCPU": 1}}))
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert read_usages(roost, provider_uuid=uid("host")).usages == {"VCPU": 7}
    with roost.store.engine.connect() as connection:
        writers_each = 2 if roost.store.writes_at_once else 1
        assert len(connection.execute(select(roost_writers)).all()) == 2 * writers_each
