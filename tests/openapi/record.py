"""Writes the answers of a service into the examples of the OpenAPI document.

Run by scripts/api-examples.
"""

import tempfile
from pathlib import Path

import httpx
import msgspec

from roost.api.openapi.examples import FILE, Example, examples
from tests.openapi.player import Player, abridged, content
from tests.support.roost_server import RoostServer

TARGET = Path(__file__).parents[2] / "src" / "roost" / "api" / "openapi" / FILE


def record(player: Player, example: Example) -> Example:
    request = player.resolve(example)
    response = player.play(example)
    answer = content(response)
    return msgspec.structs.replace(
        request,
        status=response.status_code,
        answer=abridged(answer) if example.abridged else answer,
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            RoostServer(f"sqlite:///{folder / 'roost.db'}", folder) as server,
            httpx.Client(base_url=server.url, timeout=30) as client,
        ):
            player = Player(client)
            recorded = [record(player, example) for example in examples()]
    for example in recorded:
        print(example.status, example.operation, example.key)
    text = msgspec.json.format(msgspec.json.encode(recorded), indent=2)
    TARGET.write_bytes(text + b"\n")


if __name__ == "__main__":
    main()
