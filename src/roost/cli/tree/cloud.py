"""The providers that `roost tree` shows, held in memory, so that parts can be read again."""

from collections.abc import Collection, Iterable, Iterator

from roost.cli.tree.forest import Node, Selection, Sharing, connect, grow, select, sharing, sort
from roost.cli.tree.reading import Reader
from roost.client import Client, ProviderDetails
from roost.progress import SILENT, Progress
from roost.suggestions import nearest


class Cloud:
    """All providers, or those of one tree.

    They come from the service in the order of their creation, so that a tree is known to be
    complete only when all have been read.
    """

    def __init__(self, client: Client, tree_uuid: str | None) -> None:
        self.client = client
        self.tree_uuid = tree_uuid
        self._reader = Reader(client)
        self._trees: dict[str, list[ProviderDetails]] = {}  # by the UUID of the root
        # Of one tree, who shares something with it. Otherwise they are among all providers.
        self._sharing: list[ProviderDetails] = []
        # What was selected of each tree, and the selection.
        self._selected: dict[str, list[Node]] = {}
        self._selected_by: tuple[Selection, Sharing] | None = None

    def read(self, progress: Progress = SILENT) -> None:
        trees: dict[str, list[ProviderDetails]] = {}
        for each in self._reader.providers(progress, tree_uuid=self.tree_uuid):
            trees.setdefault(each.provider.root_uuid, []).append(each)
        self._trees = trees
        self._selected = {}
        if self.tree_uuid is not None:
            self._sharing = self._reader.sharing_with(self._providers())

    def read_trees(self, root_uuids: Collection[str]) -> None:
        """Read some trees again."""
        for root_uuid in root_uuids:
            found = list(self._reader.providers(tree_uuid=root_uuid))
            self._selected.pop(root_uuid, None)
            self._trees.pop(root_uuid, None)
            if found:
                self._trees[root_uuid] = found

    def trees(self, selection: Selection) -> list[Node]:
        """What is selected, in order. Trees that were not read again are not looked at again."""
        shared = sharing(self._sharing or self._providers(), selection.classes)
        if self._selected_by != (selection, shared):
            self._selected, self._selected_by = {}, (selection, shared)
        for root_uuid, providers in self._trees.items():
            if root_uuid not in self._selected:
                roots = grow(providers)
                connect(roots, shared)
                self._selected[root_uuid] = select(roots, selection)
        nodes = [node for some in self._selected.values() for node in some]
        sort(nodes, selection)
        return nodes

    def _providers(self) -> Iterator[ProviderDetails]:
        return (each for providers in self._trees.values() for each in providers)

    def why_nothing(self, selection: Selection) -> str:
        """Why a selection is empty, in a line."""
        if not self._trees:
            return "there are no providers"
        classes = {name for each in self._providers() for name in each.inventories}
        traits = {name for each in self._providers() for name in each.traits}
        for name in selection.classes:
            if name not in classes:
                return f"no provider has {_known(name, classes)}"
        for name in selection.traits:
            if name not in traits:
                return f"no provider has the trait {_known(name, traits)}"
        return "no provider matches"


def _known(name: str, names: Iterable[str]) -> str:
    similar = nearest(name, sorted(names))
    return name if similar is None else f"{name}; did you mean {similar}?"
