"""Measures the console's heat map in Chromium: how long it takes to load, and how evenly it moves.

The times of frames come from the browser's own tracing, so what the page does is not disturbed.
"""

import itertools
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from playwright.sync_api import Browser, CDPSession, Page, ViewportSize

from benchmarks.measure import ShowProgress
from benchmarks.results import ConsoleResult, Frames
from benchmarks.timings import percentiles
from tests.support.console import chromium
from tests.support.console.clouds import write_large
from tests.support.console.server import ConsoleServer

# The dataset: one provider for each host. The map has one cell for each host in any case.
KIND = "flat"
LOAD_SECONDS_MAX = 300
MOVE_SECONDS = 5.0

WINDOW: ViewportSize = {"width": 1280, "height": 800}
# Of a cell, in pixels, so that the map is much larger than the window.
CELL_SIZE = 24

CATEGORIES = [
    "devtools.timeline",
    "disabled-by-default-devtools.timeline",
    "disabled-by-default-devtools.timeline.frame",
]
# One for each frame that the page's thread prepares.
FRAME_EVENT = "BeginMainThreadFrame"
TASK_EVENT = "RunTask"
MAIN_THREAD = "CrRendererMain"
# Otherwise a time in which nothing moves would look like a slow frame.
KEEP_FRAMES_COMING = """() => {
  const next = () => requestAnimationFrame(next);
  next();
}"""
# From here on, users notice that the page does not answer.
LONG_TASK_MS = 50

CONTROL = 2  # among the modifiers of the debugging interface
PAN_PIXELS = 4000
PAN_PIXELS_PER_SECOND = 3000
ZOOM_STEPS = 20
ZOOM_PAUSE_MS = 40
POINT_STEPS = 60

Move = Callable[[Page, CDPSession], None]


def measure_console(hosts: int, seconds: float, show_progress: ShowProgress) -> ConsoleResult:
    with tempfile.TemporaryDirectory(prefix="roost-benchmark-") as name:
        folder = Path(name)
        show_progress(f"console: loading {hosts:,} hosts")
        write_large(folder, hosts, KIND)
        with ConsoleServer(folder) as server, chromium.launch() as browser:
            context = browser.new_context(viewport=WINDOW)
            context.set_default_timeout(LOAD_SECONDS_MAX * 1000)
            page = context.new_page()
            show_progress("console: opening the page")
            load_seconds = open_cloud(page, server.console, hosts)
            heap = page.evaluate("performance.memory.usedJSHeapSize")
            page.evaluate(KEEP_FRAMES_COMING)
            moves = {}
            for title, move in MOVES.items():
                show_progress(f"console: {title}")
                moves[title] = measure_move(browser, page, move, seconds)
            return ConsoleResult(
                hosts=hosts,
                browser=f"Chromium {browser.version}",
                load_seconds=load_seconds,
                heap_bytes=heap,
                moves=moves,
            )


def open_cloud(page: Page, console: str, hosts: int) -> float:
    """Open the page, and the seconds until every cell is drawn."""
    began = time.monotonic()
    page.goto(f"{console}cloud?size={CELL_SIZE}")
    page.locator(f'#heatmap[aria-label^="{hosts:,} trees"]').wait_for()
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    return time.monotonic() - began


# ---------------------------------------------------------------------------------------------
# Moves, by the input that a mouse or a touchpad would give


def pan(page: Page, session: CDPSession) -> None:
    """Down by several screens, and up again."""
    for distance in (-PAN_PIXELS, PAN_PIXELS):
        session.send(
            "Input.synthesizeScrollGesture",
            {
                **middle(page),
                "yDistance": distance,
                "speed": PAN_PIXELS_PER_SECOND,
                "gestureSourceType": "mouse",
                "preventFling": True,
            },
        )


def zoom(page: Page, session: CDPSession) -> None:
    """Out, step by step, until everything is in sight or nearly so, and in again."""
    for amount in (120, -120):
        for _ in range(ZOOM_STEPS):
            session.send(
                "Input.dispatchMouseEvent",
                {
                    **middle(page),
                    "type": "mouseWheel",
                    "deltaX": 0,
                    "deltaY": amount,
                    "modifiers": CONTROL,
                },
            )
            page.wait_for_timeout(ZOOM_PAUSE_MS)


def point(page: Page, session: CDPSession) -> None:
    """Over the cells, from corner to corner, as somebody who reads what they say."""
    box = page.locator("#heatmap").bounding_box()
    assert box is not None
    left, right = box["x"] + 10, box["x"] + box["width"] - 10
    top, bottom = box["y"] + 10, box["y"] + box["height"] - 10
    for x, y in ((right, bottom), (right, top), (left, bottom), (left, top)):
        page.mouse.move(x, y, steps=POINT_STEPS)


MOVES: dict[str, Move] = {"panned": pan, "zoomed": zoom, "pointed at": point}


def middle(page: Page) -> dict[str, float]:
    box = page.locator("#heatmap").bounding_box()
    assert box is not None
    return {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}


# ---------------------------------------------------------------------------------------------
# What the browser's trace says


def measure_move(browser: Browser, page: Page, move: Move, seconds: float) -> Frames:
    session = page.context.new_cdp_session(page)
    browser.start_tracing(page=page, categories=CATEGORIES)
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        move(page, session)
    took = time.monotonic() - began
    trace = msgspec.json.decode(browser.stop_tracing())
    session.detach()
    return read_trace(trace["traceEvents"], took)


def read_trace(events: list[dict[str, Any]], seconds: float) -> Frames:
    """How evenly frames follow each other, and what kept the page's thread busy."""
    stamps = sorted(event["ts"] / 1000 for event in events if event["name"] == FRAME_EVENT)
    intervals = [later - earlier for earlier, later in itertools.pairwise(stamps)]
    tasks = list(tasks_ms(events))
    p50, p95 = percentiles(intervals or [0.0])
    return Frames(
        seconds=seconds,
        frames=len(stamps),
        p50_ms=p50,
        p95_ms=p95,
        max_ms=max(intervals, default=0.0),
        long_tasks=sum(task >= LONG_TASK_MS for task in tasks),
        longest_task_ms=max(tasks, default=0.0),
    )


def tasks_ms(events: list[dict[str, Any]]) -> Iterator[float]:
    threads = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == MAIN_THREAD
    }
    for event in events:
        if event["name"] == TASK_EVENT and (event["pid"], event["tid"]) in threads:
            yield event.get("dur", 0) / 1000
