"""docs/tutorial: all pages, one after the other, as a newcomer who has nothing but Python."""

from pathlib import Path

from tests.support.database_servers import free_port
from tests.support.installation import ROOT, build_wheels, environment_of_a_newcomer
from tests.support.page_player import PagePlayer

FOLDER = ROOT / "docs" / "tutorial"
PAGES = ("index", "install", "describe", "ask", "place", "drain")


def test_every_page_is_in_its_place() -> None:
    assert {page.stem for page in FOLDER.glob("*.md")} == {*PAGES}
    contents = (FOLDER / "index.md").read_text()
    for number, name in enumerate(PAGES[1:], 1):
        assert f"\n{number}. [" in contents
        assert f"]({name}.md)\n" in contents
        assert (FOLDER / f"{name}.md").read_text().startswith(f"# {number}. ")


def test_the_tutorial_from_an_empty_machine_to_its_end(tmp_path: Path) -> None:
    home, scratch = tmp_path / "home", tmp_path / "scratch"
    home.mkdir()
    scratch.mkdir()
    build_wheels(home, ROOT)
    url = f"http://127.0.0.1:{free_port()}"
    with PagePlayer(
        environment={**environment_of_a_newcomer(home), "ROOST_URL": url},
        folder=home,
        scratch=scratch,
        there={
            "http://127.0.0.1:8778": url,
            "/home/ada": str(home),
        },
        instead={"roost serve": f"roost serve --port {url.rpartition(':')[2]}"},
    ) as player:
        for name in PAGES:
            player.play(f"{name}.md", (FOLDER / f"{name}.md").read_text())
