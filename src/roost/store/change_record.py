"""The change record: what one write transaction did, as other processes need to know it."""

from collections.abc import Iterable

import msgspec

from roost.model import EventKind

# What the creation of a provider saw of its generation: that there is none yet.
UNBORN = -1


class ChangeRecord(msgspec.Struct, omit_defaults=True, frozen=True):
    """One row of `roost_changes`, stored as JSON."""

    usage: list[tuple[int, int, int]] = []  # provider id, class id, added or taken away
    generations: list[tuple[int, int]] = []  # provider id, its new generation
    providers: list[int] = []  # ids to read anew
    classes: list[int] = []  # ids to read anew
    traits: list[int] = []  # ids to read anew
    removed: list[tuple[int, int]] = []  # writer id, the sequence it had reached
    # Beyond what an index needs, for those who watch: what it was of the providers to read anew
    # that changed (ids by kind), which of them are no more (id, UUID, UUID of the root), and which
    # went to another tree (id, UUID of the root they had before).
    kinds: dict[str, list[int]] = {}
    gone: list[tuple[int, str, str]] = []
    moved: list[tuple[int, str]] = []
    # Provider id, the generation that it had, for a write that left it as it is.
    seen: list[tuple[int, int]] = []

    @property
    def is_sums(self) -> bool:
        """Whether it says all by itself: what is used and generations, nothing to read anew."""
        return not (self.providers or self.classes or self.traits or self.removed)


_DECODER = msgspec.json.Decoder(ChangeRecord)


def encode(record: ChangeRecord) -> str:
    return msgspec.json.encode(record).decode()


def decode(text: str) -> ChangeRecord:
    return _DECODER.decode(text)


class Announcement:
    """Collects what a transaction changes, while it changes it."""

    def __init__(self) -> None:
        self._usage: dict[tuple[int, int], int] = {}
        self._generations: dict[int, int] = {}
        self._providers: set[int] = set()
        self._classes: set[int] = set()
        self._traits: set[int] = set()
        self._kinds: dict[EventKind, set[int]] = {}
        self._gone: list[tuple[int, str, str]] = []
        self._moved: dict[int, str] = {}
        self._seen: dict[int, int] = {}

    def usage(self, provider_id: int, class_id: int, delta: int) -> None:
        key = provider_id, class_id
        self._usage[key] = self._usage.get(key, 0) + delta

    def generation(self, provider_id: int, generation: int) -> None:
        self._generations[provider_id] = generation

    def providers(self, ids: Iterable[int], kind: EventKind | None = None) -> None:
        """Everything of these providers is to be read anew; `kind` is what changed of them."""
        ids = set(ids)
        self._providers |= ids
        if kind is not None:
            self._kinds.setdefault(kind, set()).update(ids)

    def gone(self, provider_id: int, uuid: str, root_uuid: str) -> None:
        """A provider is no more."""
        self.providers([provider_id])
        self._gone.append((provider_id, uuid, root_uuid))

    def moved(self, ids: Iterable[int], root_uuid: str) -> None:
        """Providers went to another tree; `root_uuid` is the root that they had."""
        self._moved.update(dict.fromkeys(ids, root_uuid))

    def seen(self, provider_id: int, generation: int) -> None:
        """A provider is changed, at this generation, and keeps it."""
        self._seen[provider_id] = generation

    def classes(self, ids: Iterable[int]) -> None:
        self._classes.update(ids)

    def traits(self, ids: Iterable[int]) -> None:
        self._traits.update(ids)

    def record(self) -> ChangeRecord | None:
        """None where nothing was changed."""
        used = {provider for provider, _ in self._usage} & self._providers
        kinds = {**self._kinds, EventKind.ALLOCATIONS: used} if used else self._kinds
        # Whoever reads a provider anew needs no sums for it.
        record = ChangeRecord(
            usage=[
                (provider, class_, delta)
                for (provider, class_), delta in self._usage.items()
                if delta and provider not in self._providers
            ],
            generations=list(self._generations.items()),
            providers=sorted(self._providers),
            classes=sorted(self._classes),
            traits=sorted(self._traits),
            kinds={kind.value: sorted(ids) for kind, ids in kinds.items()},
            gone=self._gone,
            moved=list(self._moved.items()),
            seen=list(self._seen.items()),
        )
        return None if record == _NOTHING else record


_NOTHING = ChangeRecord()
