"""Everything that roost can refuse, as one hierarchy.

    RoostError
    ├── BadRequest                    the request itself is wrong
    │   ├── UnknownResourceClass      ... names a resource class that does not exist
    │   ├── UnknownTrait              ... names a trait that does not exist
    │   ├── UnknownProvider           ... names a provider (in its body) that does not exist
    │   ├── InvalidParent             ... would not make a tree
    │   │   └── UnknownParent         ... names a parent that does not exist
    │   ├── InvalidInventory          ... describes an inventory that contradicts itself
    │   ├── UnstorableText            ... holds a text that the database cannot hold
    │   ├── StandardName              ... would change a standard trait or class
    │   ├── SearchTooHard             ... asks for a search that gave up when its time was over
    │   └── AnswerTooLarge            ... asks for more candidates than an answer may hold
    ├── NotFound                      what the path names does not exist
    │   ├── ProviderNotFound
    │   ├── InventoryNotFound
    │   ├── ResourceClassNotFound
    │   ├── TraitNotFound
    │   ├── ConsumerNotFound
    │   └── HoldNotFound
    ├── Conflict                      the request conflicts with the present state
    │   ├── ConcurrentUpdate          other writers were first, and retries did not help
    │   ├── ProviderGenerationConflict
    │   ├── ConsumerGenerationConflict
    │   ├── InventoryInUse
    │   ├── InventoryExists
    │   ├── ProviderInUse
    │   ├── ProviderHasChildren
    │   ├── ProviderExists            its UUID or its name is taken
    │   ├── ResourceClassExists
    │   ├── ResourceClassInUse
    │   ├── TraitInUse
    │   ├── MissingInventory          an allocation of a class that its provider does not have
    │   ├── NoCandidates              there is no place for all of the consumers
    │   ├── KeyReused                 another request had the same idempotency key
    │   ├── HoldTooSoon               the tree is held already, or rests after a hold
    │   ├── ConstraintViolated        an allocation against min_unit, max_unit or step_size
    │   └── CapacityExceeded          an allocation of more than is free
    ├── TooManyLongRequests           others that take long have to end first
    ├── PositionGone                  the feed no longer reaches back to a position
    └── Unavailable                   the database cannot be reached or used now
        ├── NoTables                  nobody has made the tables yet
        └── TooManyWatchers           the limit of clients that wait for events is reached

Existing clients match on some of these sentences, so the wording is part of the API. The HTTP
layer maps classes to statuses and codes in one table (`api/http/error_table.py`).
"""

from collections.abc import Iterable

from roost.quoting import quote, quote_names
from roost.suggestions import suggest


class RoostError(Exception):
    """Something was refused."""

    def __init__(self, message: str | None = None) -> None:
        """Without a message, the class says what is wrong in its docstring."""
        super().__init__(message or type(self).__doc__)


class _Named(RoostError):
    """Something about one name."""

    sentence: str

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(self.sentence.format(quote(name)))


class BadRequest(RoostError):
    """The request is wrong as it stands."""


class _UnknownNames(BadRequest):
    """The request names something that does not exist. `known` are the names that do."""

    sentence: str

    def __init__(self, names: Iterable[str], known: Iterable[str] = ()) -> None:
        self.names = tuple(sorted(names))
        self.listed = quote_names(self.names)
        self._known = known
        super().__init__(self.sentence.format(self.listed))

    @property
    def with_suggestion(self) -> str:
        return suggest(str(self), self.names, self._known)


class UnknownResourceClass(_UnknownNames):
    """The request names resource classes that do not exist."""

    sentence = "No such resource class {}."


class UnknownTrait(_UnknownNames):
    """The request names traits that do not exist."""

    sentence = "No such trait(s): {}."


class UnknownProvider(BadRequest):
    """The request names a provider that does not exist."""

    def __init__(self, uuid: str) -> None:
        self.uuid = uuid
        super().__init__(f"Allocation for resource provider '{uuid}' that does not exist.")


class InvalidParent(BadRequest):
    """The parent asked for would not make a tree."""


class UnknownParent(InvalidParent):
    """parent provider UUID does not exist."""


class InvalidInventory(BadRequest):
    """An inventory contradicts itself."""


class UnstorableText(BadRequest):
    """The request holds a value that the database cannot hold."""

    def __init__(self, field: str = "", text: str = "") -> None:
        super().__init__(
            f"The database cannot hold the {field} '{quote(text)}': the character '{max(text)}' is "
            "not in its character set."
            if text
            else type(self).__doc__
        )


class StandardName(BadRequest):
    """Standard traits and resource classes cannot be changed."""


class NotFound(RoostError):
    """What the request addresses does not exist."""


class ProviderNotFound(NotFound):
    def __init__(self, uuid: str) -> None:
        self.uuid = uuid
        super().__init__(f"No resource provider with uuid {quote(uuid)} found")


class InventoryNotFound(NotFound):
    def __init__(self, resource_class: str, provider_uuid: str) -> None:
        self.resource_class = resource_class
        self.provider_uuid = provider_uuid
        super().__init__(
            f"No inventory of class {quote(resource_class)} found for resource provider "
            f"{quote(provider_uuid)}"
        )


class ResourceClassNotFound(_Named, NotFound):
    sentence = "No such resource class {}."


class TraitNotFound(_Named, NotFound):
    sentence = "No such trait(s): {}."


class ConsumerNotFound(NotFound):
    def __init__(self, uuid: str) -> None:
        self.uuid = uuid
        super().__init__(f"No allocations for consumer '{quote(uuid)}'")


class HoldNotFound(_Named, NotFound):
    sentence = "No hold {} found: it may have ended."


class Conflict(RoostError):
    """The request does not fit the state of the world."""


class ConcurrentUpdate(Conflict):
    """Another thread concurrently updated the data. Please retry your update"""


class ProviderGenerationConflict(Conflict):
    """A write carried a generation of a provider that is no longer the current one."""

    def __init__(self, provider_uuid: str, expected: int, current: int) -> None:
        self.provider_uuid = provider_uuid
        self.expected = expected
        self.current = current
        super().__init__("resource provider generation conflict")


class ConsumerGenerationConflict(Conflict):
    """A write carried an outdated generation of a consumer; None: it does not exist."""

    def __init__(self, consumer_uuid: str, expected: int | None, current: int | None) -> None:
        self.consumer_uuid = consumer_uuid
        self.expected = expected
        self.current = current
        super().__init__(
            "consumer generation conflict - expected "
            f"{'null' if current is None else current} but got {expected}"
        )


class InventoryInUse(Conflict):
    def __init__(self, resource_classes: Iterable[str], provider_uuid: str) -> None:
        self.resource_classes = tuple(resource_classes)
        self.provider_uuid = provider_uuid
        super().__init__(
            f"Inventory for '{quote_names(self.resource_classes)}' on resource provider "
            f"'{provider_uuid}' in use."
        )


class InventoryExists(Conflict):
    def __init__(self, resource_class: str, provider_uuid: str) -> None:
        self.resource_class = resource_class
        self.provider_uuid = provider_uuid
        super().__init__(
            f"Update conflict: inventory of class {resource_class} already exists "
            f"for resource provider {provider_uuid}"
        )


class ProviderInUse(_Named, Conflict):
    sentence = "Unable to delete resource provider {}: Resource provider has allocations."


class ProviderHasChildren(_Named, Conflict):
    sentence = "Unable to delete parent resource provider {}: It has child resource providers."


class ProviderExists(Conflict):
    """The UUID or the name of a provider is taken; `field` says which ("uuid" or "name")."""

    def __init__(self, field: str, value: str) -> None:
        self.field = field
        self.value = value
        super().__init__(f"Conflicting resource provider {field}: {value} already exists.")


class ResourceClassExists(_Named, Conflict):
    sentence = "Resource class already exists: {}"


class ResourceClassInUse(_Named, Conflict):
    sentence = "Cannot delete resource class {}. Class is in use in inventory."


class TraitInUse(_Named, Conflict):
    sentence = "The trait {} is in use by a resource provider."


_NOT_ALLOCATED = (
    "Unable to create allocation for '{}' on resource provider '{}'. The requested amount would "
)


class _AllocationRefused(Conflict):
    """An allocation that a provider cannot give."""

    sentence: str

    def __init__(self, resource_class: str, provider_uuid: str) -> None:
        self.resource_class = resource_class
        self.provider_uuid = provider_uuid
        super().__init__(self.sentence.format(resource_class, provider_uuid))


class MissingInventory(_AllocationRefused):
    sentence = "Inventory for '{}' on resource provider '{}' invalid."


class ConstraintViolated(_AllocationRefused):
    sentence = _NOT_ALLOCATED + "violate inventory constraints."


class CapacityExceeded(_AllocationRefused):
    sentence = _NOT_ALLOCATED + "exceed the capacity."


class NoCandidates(Conflict):
    """There is no place for all of the consumers that were to be placed together."""

    def __init__(self, count: int, found: int) -> None:
        self.count = count
        self.found = found
        reason = "nothing has room for what is asked for"
        if found:
            reason = f"no combination of the {found} candidate(s) found has room for all of them"
        super().__init__(f"Unable to place {count} consumer(s): {reason}.")


class KeyReused(Conflict):
    """The idempotency_key was used before, for a request with another body. Use a new one."""


class HoldTooSoon(Conflict):
    def __init__(self, root_uuid: str, seconds: float) -> None:
        super().__init__(f"The tree {root_uuid} cannot be held again for up to {seconds:.1f} s.")


class SearchTooHard(BadRequest):
    """A search used up its time before it found what it must find."""

    def __init__(self, hard: str, help: str, *, unknown: str = "what fits") -> None:
        """`hard` is a sentence about what made it hard, `help` one about what would help."""
        super().__init__(
            f"The search took too long and gave up, so it is unknown {unknown}. {hard} {help}"
        )


class AnswerTooLarge(BadRequest):
    """A search without a limit found more than an answer may hold."""

    def __init__(self, bytes_max: int) -> None:
        super().__init__(
            f"The candidates found take more than {bytes_max} bytes, which is the most that an "
            "answer may have. A limit makes it smaller."
        )


class TooManyLongRequests(RoostError):
    """Too many requests that take long are being worked on. Please retry later."""


class TooManyLongAnswers(TooManyLongRequests):
    """Too many long answers are being sent at once. Please retry later."""


class PositionGone(RoostError):
    """The events after this position are no longer known: read the current state, then go on."""


class Unavailable(RoostError):
    """The database cannot be used just now."""


class NoTables(Unavailable):
    """The database has no tables yet: run `roost db sync`."""


class TooManyWatchers(Unavailable):
    """As many clients wait for events as [roost]event_streams_max allows. Please retry later."""
