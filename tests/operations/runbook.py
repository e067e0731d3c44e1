"""What the pages of the runbook tell an operator to type."""

import re
from pathlib import Path

RUNBOOK = Path(__file__).parents[2] / "docs" / "operations" / "runbook"


def blocks(language: str) -> list[str]:
    """The blocks of code in a language, on all pages; equal ones once."""
    pattern = re.compile(rf"^```{language}\n(.*?)^```", flags=re.M | re.S)
    pages = (page.read_text() for page in sorted(RUNBOOK.glob("Roost*.md")))
    return sorted({block for page in pages for block in pattern.findall(page)})


def commands() -> list[str]:
    """The lines of shell, on all pages; equal ones once."""
    return sorted({line for block in blocks("sh") for line in block.splitlines()})
