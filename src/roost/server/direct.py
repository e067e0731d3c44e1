"""granian's worker for ASGI, which lets the front take requests before the event loop sees them.

granian receives requests in threads of its own, and one of them hands each to Python: to the event
loop, which wakes up for it. For most requests the front needs no event loop, so here it is asked
first (`Front.begin`), in that thread. What it does not take goes the usual way. The front may
answer in that thread, so granian has several for Python, as it has for WSGI.

test_workers.py pins what this relies on of granian.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from granian import _futures, _granian, _signals, asgi
from granian.server.common import WORKERS_METHODS
from granian.server.mp import WorkerProcess

from roost.server.front import Front
from roost.server.request_body import Arrival

LOG = logging.getLogger(__name__)

# What follows has no types, or others than granian itself uses.
_make_worker: Any = _granian.ASGIWorker
_watched: Any = _futures._future_watcher_wrapper
_called: Any = asgi._callback_wrapper
_on_event_loop: Any = _futures._cbsched_aioschedule
_set_signals: Any = _signals.set_loop_signals


class _Scheduler(_granian.CallbackScheduler):
    """What granian calls with each request, in its own thread."""

    __slots__ = ()

    # granian itself takes the arguments, when the object is made.
    def __init__(self, loop: asyncio.AbstractEventLoop, front: Front, *_: None) -> None:
        super().__init__()
        watched = _watched(_called(front, {}, {}))
        self._schedule_fn = _schedule(front, _on_event_loop(loop, self._ctx, watched))


def _schedule(front: Front, await_it: Callable[[Any], None]) -> Callable[[Any], None]:
    def schedule(watcher: Any) -> None:
        # granian expects no exception here.
        try:
            protocol = watcher.proto
            if not front.begin(watcher.scope, protocol.receive, protocol.send):
                await_it(watcher)
        except Exception as error:
            LOG.error("a request could not be begun", exc_info=error)
            # It has not been answered: this answers with a 500.
            watcher.done()

    return schedule


def _go_on_at_once(loop: Any) -> None:
    """Let granian go on with a request in the thread that has received its body.

    When a body has arrived, granian asks the event loop to call whoever waits for it. It must be
    this very event loop, because that is what asyncio compares, so its method is replaced.
    """
    call_soon = loop.call_soon_threadsafe

    def call(callback: Any, *arguments: Any, context: Any = None) -> Any:
        if not isinstance(callback, Arrival):
            return call_soon(callback, *arguments, context=context)
        # granian expects no exception here.
        try:
            callback(*arguments)
        except Exception as error:
            LOG.error("a request could not be begun", exc_info=error)
        return None

    loop.call_soon_threadsafe = call


@WorkerProcess.wrap_target  # type: ignore[untyped-decorator]
def spawn_asgi_worker(
    worker_id: int,
    front: Front,
    sock: Any,
    ipc: Any,
    loop: asyncio.AbstractEventLoop,
    runtime_mode: Any,
    runtime_threads: int,
    runtime_blocking_threads: int,
    blocking_threads: int,
    blocking_threads_idle_timeout: int,
    backpressure: int,
    task_impl: Any,
    http_mode: Any,
    http1_settings: Any,
    http2_settings: Any,
    websockets: bool,
    static_path: Any,
    log_access_fmt: str | None,
    ssl_ctx: Any,
    scope_opts: Any,
    metrics: Any,
) -> None:
    """What granian's own function of this name does, with the scheduler above."""
    _go_on_at_once(loop)
    stopping = _set_signals(loop)
    stopped = asyncio.Event()
    stopping.add_cb(lambda: loop.call_soon_threadsafe(stopped.set))
    worker = _make_worker(
        worker_id,
        sock,
        ipc,
        runtime_threads,
        runtime_blocking_threads,
        front.server_threads,
        blocking_threads_idle_timeout,
        backpressure,
        http_mode,
        http1_settings,
        http2_settings,
        websockets,
        static_path,
        *ssl_ctx,
        metrics,
    )
    serve = getattr(worker, WORKERS_METHODS[runtime_mode][(sock[0] or sock[1]).is_uds()])
    serve(_Scheduler(loop, front, None, None, None), loop, stopping)
    loop.run_until_complete(stopped.wait())
