"""The change record: what one write transaction changed, as other processes need to know it."""

from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from roost.changes import ProviderParts
from roost.model import EventKind, Value

# The generation that the transaction which creates a provider saw: the provider had none.
NOT_YET_CREATED = -1

# The highest format of records that this release reads. A release raises it if its records mean
# something that earlier ones would get wrong; a field that they may ignore needs no new format.
FORMAT = 0

# Fields whose name in the database is another one. Records that were written stay readable.
_STORED_NAMES = {
    "removed_writers": "removed",
    "deleted": "gone",
    "former_roots": "moved",
    "seen_generations": "seen",
}


class ChangeRecord(msgspec.Struct, omit_defaults=True, frozen=True, rename=_STORED_NAMES):
    """One row of `roost_changes`, stored as JSON."""

    # Processes that know lower formats only load the tables instead of reading the record.
    format: int = 0

    # What an index needs.
    usage: list[tuple[int, int, int]] = []  # provider id, class id, difference
    generations: list[tuple[int, int]] = []  # provider id, its new generation
    # Ids of providers whose rows a reader must read again, but for those of which `parts` has all
    # that changed. Releases that know no `parts` read all of them.
    providers: list[int] = []
    parts: list[ProviderParts] = []
    classes: list[int] = []  # ids of resource classes to read again
    traits: list[int] = []  # ids of traits to read again
    removed_writers: list[tuple[int, int]] = []  # writer id, the number of its last record

    # What claims need to know of trees that are held, see `roost.service.holds`.
    holds: list[tuple[str, int, float]] = []  # its id, the id of the root, seconds
    ended_holds: list[str] = []  # ids of holds

    # What events need beyond that.
    kinds: dict[str, list[int]] = {}  # `EventKind` -> ids of the providers that changed so
    deleted: list[tuple[int, str, str]] = []  # provider id, its UUID, the UUID of its root
    # Provider id, the UUID of the root that it had before it moved to another tree.
    former_roots: list[tuple[int, str]] = []
    # Provider id, its generation, for a write that changed the provider without advancing it.
    seen_generations: list[tuple[int, int]] = []
    # For each claim of a batch: how many of `generations`, and how many of `usage`, are its own, in
    # their order. Empty: all of them are of one write.
    claims: list[tuple[int, int]] = []
    # A process writes as two writers: the other one's id, and the number that it had written.
    after: tuple[int, int] | None = None

    @property
    def is_self_contained(self) -> bool:
        """Whether a reader can apply the record without reading any row of the tables."""
        if self.classes or self.traits or self.removed_writers:
            return False
        return not (self.providers and self.reread_providers)

    @property
    def reread_providers(self) -> set[int]:
        """The ids of providers of which `parts` says too little."""
        return set(self.providers).difference([each.id for each in self.parts])

    @property
    def entry_count(self) -> int:
        """How many providers and amounts it names, as a measure of its size."""
        return len(self.usage) + len(self.generations) + len(self.providers)

    def by_claim(self) -> "Iterator[ChangeRecord]":
        """This record, or that of a batch as one record for each of its claims."""
        if not self.claims:
            yield self
            return
        generations, usage = iter(self.generations), iter(self.usage)
        for generation_count, usage_count in self.claims:
            yield ChangeRecord(
                generations=list(islice(generations, generation_count)),
                usage=list(islice(usage, usage_count)),
            )


_DECODER = msgspec.json.Decoder(ChangeRecord)


def encode(record: ChangeRecord) -> str:
    return msgspec.json.encode(record).decode()


def decode_known(texts: Iterable[str]) -> list[ChangeRecord]:
    """The records; without those of a newer release of roost that this one cannot read.

    For a reader they are missing, so it does what it does whenever the feed has a gap.
    """
    return [record for record in map(decode, texts) if record is not None]


def decode(text: str) -> ChangeRecord | None:
    """A record; None if this release cannot read it."""
    try:
        record = _DECODER.decode(text)
    except msgspec.ValidationError:
        return None
    return record if record.format <= FORMAT else None


class Announcement(Value, frozen=True, kw_only=True):
    """A change record as it is stored, and its number among those of a writer."""

    writer_id: int
    sequence: int
    record: str


def announce(writer_id: int, sequence: int, record: ChangeRecord) -> Announcement:
    return Announcement(writer_id=writer_id, sequence=sequence, record=encode(record))


class ChangeRecordBuilder:
    """Collects what a transaction changes while the transaction runs."""

    def __init__(self) -> None:
        self._usage: dict[tuple[int, int], int] = {}
        self._generations: dict[int, int] = {}
        self._providers: set[int] = set()
        self._classes: set[int] = set()
        self._traits: set[int] = set()
        self._kinds: dict[EventKind, set[int]] = {}
        self._holds: list[tuple[str, int, float]] = []
        self._ended_holds: set[str] = set()
        self._deleted: list[tuple[int, str, str]] = []
        self._former_roots: dict[int, str] = {}
        self._seen_generations: dict[int, int] = {}
        self._parts: dict[int, ProviderParts] = {}
        self._batch: ChangeRecord | None = None

    def claim_together(self, batch: ChangeRecord) -> None:
        """The transaction claims for several clients, as this record has it, and does no more."""
        self._batch = batch

    def add_usage(self, provider_id: int, class_id: int, difference: int) -> None:
        key = provider_id, class_id
        self._usage[key] = self._usage.get(key, 0) + difference

    def set_generation(self, provider_id: int, generation: int) -> None:
        self._generations[provider_id] = generation

    def reread_providers(self, ids: Iterable[int], kind: EventKind | None = None) -> None:
        """Readers must read all rows of these providers again; `kind` is what changed."""
        ids = set(ids)
        self._providers |= ids
        if kind is not None:
            self._kinds.setdefault(kind, set()).update(ids)

    def tell_parts(self, parts: ProviderParts) -> None:
        """All that the transaction changes of a provider. Readers need not read it again."""
        self._parts[parts.id] = parts

    def reread_classes(self, ids: Iterable[int]) -> None:
        self._classes.update(ids)

    def reread_traits(self, ids: Iterable[int]) -> None:
        self._traits.update(ids)

    def delete_provider(self, id: int, uuid: str, root_uuid: str) -> None:
        self.reread_providers([id])
        self._deleted.append((id, uuid, root_uuid))

    def leave_tree(self, ids: Iterable[int], root_uuid: str) -> None:
        """These providers move to another tree; `root_uuid` is their root until now."""
        self._former_roots.update(dict.fromkeys(ids, root_uuid))

    def see_generation(self, provider_id: int, generation: int) -> None:
        """The transaction changes a provider at this generation, and does not advance it."""
        self._seen_generations[provider_id] = generation

    def begin_hold(self, id: str, root_id: int, seconds: float) -> None:
        self._holds.append((id, root_id, seconds))

    def end_holds(self, ids: Iterable[str]) -> None:
        self._ended_holds.update(ids)

    def build(self) -> ChangeRecord | None:
        """The record; None if the transaction changed nothing."""
        if self._batch is not None:
            return self._batch
        # Most transactions change few kinds of things.
        used = {provider for provider, _ in self._usage} & self._providers if self._usage else ()
        kinds = {**self._kinds, EventKind.ALLOCATIONS: used} if used else self._kinds
        record = ChangeRecord(
            # A reader that reads a provider again needs no differences for it.
            usage=[
                (provider, class_, difference)
                for (provider, class_), difference in self._usage.items()
                if difference and provider not in self._providers
            ],
            generations=list(self._generations.items()),
            providers=sorted(self._providers),
            parts=[each for each in self._parts.values() if each.id not in used],
            classes=sorted(self._classes),
            traits=sorted(self._traits),
            holds=self._holds,
            ended_holds=sorted(self._ended_holds),
            kinds={str(kind): sorted(ids) for kind, ids in kinds.items()},
            deleted=self._deleted,
            former_roots=list(self._former_roots.items()),
            seen_generations=list(self._seen_generations.items()),
        )
        return None if record == _NOTHING else record


_NOTHING = ChangeRecord()
