"""All pages that are made from the code."""

from collections.abc import Mapping

from website import catalog, client, commands, http_api, repository


def generated_pages() -> Mapping[str, str]:
    """The text of each page, by its path below docs/."""
    makers = (http_api, catalog, commands, client, repository)
    return dict(page for maker in makers for page in maker.pages())
