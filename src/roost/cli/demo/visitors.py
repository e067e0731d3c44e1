"""`roost demo --live`: small claims that come and go, so that there is something to watch."""

import random
import time
from contextlib import suppress

from roost.cli.demo import data_centre
from roost.cli.demo.workload import VISITOR, VISITORS
from roost.client import Client, Conflict, NotFound

PAUSE_SECONDS = 0.5

# Hosts with room for them.
_HOSTS = (
    *(name for name in data_centre.COMPUTE_HOSTS if name != data_centre.DISABLED_HOST),
    *data_centre.NUMA_HOSTS,
    *data_centre.NETWORK_FUNCTION_HOSTS,
    *data_centre.A100_HOSTS,
    data_centre.VIRTUAL_GPU_HOST,
    *data_centre.DISKLESS_HOSTS,
)


def come_and_go(client: Client) -> None:
    """Claim and release until Ctrl-C. Then everything is released."""
    try:
        held = _present(client)
        while True:
            visitor = random.choice(VISITORS)
            if visitor in held:
                _release(client, visitor)
                held.discard(visitor)
            elif _claim(client, visitor):
                held.add(visitor)
            time.sleep(PAUSE_SECONDS)
    except KeyboardInterrupt:
        # A claim may have been made whose answer was never read.
        for visitor in _present(client):
            _release(client, visitor)


def _present(client: Client) -> set[str]:
    listed = client.consumers(project_id=VISITOR.project)
    return {each.consumer.uuid for each in listed} & {*VISITORS}


def _claim(client: Client, visitor: str) -> bool:
    host = data_centre.BY_NAME[random.choice(_HOSTS)]
    processors = random.choice((1, 2, 4))
    memory_mb = 2048 * processors
    try:
        client.place(
            f"resources=VCPU:{processors},MEMORY_MB:{memory_mb}&in_tree={host.uuid}",
            [visitor],
            project_id=VISITOR.project,
            user_id=VISITOR.user,
        )
    except Conflict:
        # The host is full, or a second `--live` was faster.
        return False
    return True


def _release(client: Client, visitor: str) -> None:
    with suppress(NotFound):
        client.delete_consumer(visitor)
