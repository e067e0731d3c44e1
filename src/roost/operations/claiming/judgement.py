"""Which claims of a batch fit, one after the other, and what is to be written for those that do."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from roost.claims import InventoryState, check_capacity
from roost.errors import RoostError
from roost.model import ConsumerChange, Value
from roost.operations.state_readers import ProviderSnapshot
from roost.search.index.index import Index
from roost.search.index.providers import inventory_of
from roost.settings import Settings
from roost.store.change_record import ChangeRecord
from roost.store.feed.positions import FeedPosition
from roost.store.tables.allocations import NewHolding
from roost.store.tables.consumer_references import References
from roost.store.tables.consumers import ConsumerRow
from roost.store.tables.new_claims import NewClaims
from roost.store.tables.providers import ProviderState

# The inventories of more providers than this are read with arrays.
ONE_BY_ONE_MAX = 8

# What one client claims: for one consumer, or for several who all get what they ask for or nothing.
Claim = Sequence[ConsumerChange]


def named_providers(claims: Iterable[Claim]) -> dict[str, set[str]]:
    """The UUIDs of all providers that these claims name, and the classes that each is asked for."""
    names: dict[str, set[str]] = {}
    for claim in claims:
        for change in claim:
            for uuid, resources in change.allocations.items():
                found = names.get(uuid)
                if found is None:
                    names[uuid] = set(resources)
                else:
                    found.update(resources)
    return names


class IndexedState(Value, frozen=True, kw_only=True):
    """What the index says of all that some claims name, and of which position that is."""

    position: FeedPosition
    providers: Mapping[str, ProviderSnapshot]  # by UUID
    class_ids: Mapping[str, int]


def read_state(index: Index, names: Mapping[str, Collection[str]]) -> IndexedState:
    """As much as the index knows. `names` are the classes that each provider is asked for."""
    class_ids = {name: index.classes.ids.get(name) for name in set().union(*names.values())}
    return IndexedState(
        position=index.position,
        providers=_read_providers(index, names),
        class_ids={name: id for name, id in class_ids.items() if id is not None},
    )


def _read_providers(
    index: Index, names: Mapping[str, Collection[str]]
) -> dict[str, ProviderSnapshot]:
    rows = {uuid: row for uuid in names if (row := index.row_of_uuid.get(uuid)) is not None}
    read = _inventories_one_by_one if len(rows) <= ONE_BY_ONE_MAX else _inventories_by_class
    inventories = read(index, names, rows)
    generations, ids = index.rows.generation, index.ids
    return {
        uuid: ProviderSnapshot(
            state=ProviderState(id=ids[row], uuid=uuid, generation=generations.item(row)),
            inventories=inventories[uuid],
            traits=frozenset(),
        )
        for uuid, row in rows.items()
    }


_Inventories = dict[str, dict[str, InventoryState]]  # by provider UUID and by class


def _inventories_one_by_one(
    index: Index, names: Mapping[str, Collection[str]], rows: Mapping[str, int]
) -> _Inventories:
    class_ids = index.classes.ids
    found: _Inventories = {}
    for uuid, row in rows.items():
        found[uuid] = held = {}
        for name in names[uuid]:
            class_id = class_ids.get(name)
            if class_id is None:
                continue
            each = index.inventory_and_usage(class_id, row)
            if each is not None:
                inventory, used = each
                held[name] = InventoryState(class_id=class_id, inventory=inventory, used=used)
    return found


def _inventories_by_class(
    index: Index, names: Mapping[str, Collection[str]], rows: Mapping[str, int]
) -> _Inventories:
    """The same with arrays."""
    inventories: _Inventories = {uuid: {} for uuid in rows}
    wanted: dict[str, list[str]] = {}
    for uuid in rows:
        for name in names[uuid]:
            wanted.setdefault(name, []).append(uuid)
    for name, uuids in wanted.items():
        class_id = index.classes.ids.get(name)
        if class_id is None:
            continue
        found = index.inventories_of_class(class_id, [rows[uuid] for uuid in uuids])
        for uuid, each in zip(uuids, found, strict=True):
            if each is not None:
                inventories[uuid][name] = InventoryState(
                    class_id=class_id, inventory=inventory_of(each), used=each.used
                )
    return inventories


class Judged(Value, frozen=True, kw_only=True):
    """The claims that fit together, and by how much each provider is moved by them."""

    accepted: Sequence[Claim]
    state: IndexedState

    def rows(self, references: References, settings: Settings) -> NewClaims:
        """What is to be written."""
        steps: dict[str, int] = {}
        for claim in self.accepted:
            for uuid in _providers_of(claim):
                steps[uuid] = steps.get(uuid, 0) + 1
        moved = [(self.state.providers[uuid].state, step) for uuid, step in steps.items()]
        # Everybody touches the rows of providers in the order of their ids.
        moved.sort(key=lambda pair: pair[0].id)
        providers, class_ids = self.state.providers, self.state.class_ids
        consumers, holdings = [], []
        for claim in self.accepted:
            for change in claim:
                consumers.append(_row(change, references, settings))
                for uuid, resources in change.allocations.items():
                    id = providers[uuid].state.id
                    for name, amount in resources.items():
                        holdings.append(
                            NewHolding(
                                consumer_uuid=change.consumer_uuid,
                                provider_id=id,
                                class_id=class_ids[name],
                                used=amount,
                            )
                        )
        return NewClaims(moved=moved, consumers=consumers, holdings=holdings)

    def record(self) -> ChangeRecord:
        """How it is announced: each claim on its own, in one record."""
        generations: list[tuple[int, int]] = []
        usage: list[tuple[int, int, int]] = []
        claims = []
        reached: dict[str, int] = {}
        for claim in self.accepted:
            counts_before = len(generations), len(usage)
            amounts: dict[tuple[int, int], int] = {}
            for uuid in _providers_of(claim):
                state = self.state.providers[uuid].state
                reached[uuid] = reached.get(uuid, state.generation) + 1
                generations.append((state.id, reached[uuid]))
            for change in claim:
                for uuid, resources in change.allocations.items():
                    id = self.state.providers[uuid].state.id
                    for name, amount in resources.items():
                        key = id, self.state.class_ids[name]
                        amounts[key] = amounts.get(key, 0) + amount
            usage += [(id, class_id, amount) for (id, class_id), amount in amounts.items()]
            claims.append((len(generations) - counts_before[0], len(usage) - counts_before[1]))
        return ChangeRecord(
            generations=generations, usage=usage, claims=claims if len(claims) > 1 else []
        )


def judge(claims: Iterable[Claim], state: IndexedState) -> Judged:
    """Judge one claim after the other, each beside those that were accepted before it."""
    accepted: list[Claim] = []
    consumers: set[str] = set()
    released: dict[tuple[str, str], int] = {}  # negative: what the claims before it have taken
    for claim in claims:
        uuids = {change.consumer_uuid for change in claim}
        if not consumers.isdisjoint(uuids) or not _fits(claim, state, released):
            continue
        consumers |= uuids
        accepted.append(claim)
        for change in claim:
            for uuid, resources in change.allocations.items():
                for name, amount in resources.items():
                    released[uuid, name] = released.get((uuid, name), 0) - amount
    return Judged(accepted=accepted, state=state)


def _fits(claim: Claim, state: IndexedState, released: Mapping[tuple[str, str], int]) -> bool:
    providers, class_ids = state.providers, state.class_ids
    inventories = {}
    for change in claim:
        for uuid, resources in change.allocations.items():
            provider = providers.get(uuid)
            if provider is None or not resources.keys() <= class_ids.keys():
                return False
            inventories[uuid] = provider.inventories
    try:
        check_capacity(inventories, released, claim, class_ids)
    except RoostError:
        return False
    return True


def _providers_of(claim: Claim) -> Iterable[str]:
    if len(claim) == 1:
        return claim[0].allocations
    return dict.fromkeys(uuid for change in claim for uuid in change.allocations)


def _row(change: ConsumerChange, ids: References, settings: Settings) -> ConsumerRow:
    project, user = owner_names(change, settings)
    return ConsumerRow(
        uuid=change.consumer_uuid,
        project_id=ids.projects[project],
        user_id=ids.users[user],
        type_id=None if change.consumer_type is None else ids.types[change.consumer_type],
    )


def owner_names(change: ConsumerChange, settings: Settings) -> tuple[str, str]:
    """The project and the user of a consumer; the configured ones where the client named none."""
    project, user = change.project_id, change.user_id
    return (
        settings.incomplete_consumer_project_id if project is None else project,
        settings.incomplete_consumer_user_id if user is None else user,
    )
