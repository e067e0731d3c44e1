"""Screenshots of pages, to be looked at and to be shown in the documents."""

import os
from pathlib import Path
from typing import Literal, NamedTuple

from playwright.sync_api import Page, ViewportSize

ROOT = Path(__file__).parents[3]
FOLDER_VARIABLE = "ROOST_SCREENSHOTS"

WIDE: ViewportSize = {"width": 1280, "height": 800}
# A phone held upright.
NARROW: ViewportSize = {"width": 390, "height": 844}

# A frame with the new style, and what scripts draw because of it.
NEXT_FRAMES = """async () => {
  await document.fonts.ready;
  for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
}"""


class Look(NamedTuple):
    """How a page is shown."""

    name: str
    scheme: Literal["light", "dark"]
    size: ViewportSize


LOOKS = (
    Look("light", "light", WIDE),
    Look("dark", "dark", WIDE),
    Look("narrow", "light", NARROW),
)


def folder() -> Path:
    path = Path(os.environ.get(FOLDER_VARIABLE) or ROOT / "build" / "screenshots")
    path.mkdir(parents=True, exist_ok=True)
    return path


def take(page: Page, name: str) -> list[Path]:
    """Pictures of the page as it is now, in every look: `cloud` gives cloud-light.png and so on."""
    paths = []
    for look in LOOKS:
        page.emulate_media(color_scheme=look.scheme)
        page.set_viewport_size(look.size)
        page.evaluate(NEXT_FRAMES)
        paths.append(folder() / f"{name}-{look.name}.png")
        page.screenshot(path=paths[-1], animations="disabled")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(WIDE)
    return paths
