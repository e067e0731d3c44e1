"""The query string of GET /allocations: which consumers to list."""

from datetime import UTC, datetime

from roost.api.http_error import ErrorCode, HttpError
from roost.api.parsing import pages, query_string
from roost.api.parsing.query_string import Parameters, once
from roost.api.schemas.bounds import LISTED_PROVIDERS_MAX
from roost.query import ConsumerQuery
from roost.quoting import quote, quote_value
from roost.uuids import canonical_uuids, is_uuid


def parse(parameters: Parameters) -> ConsumerQuery:
    """The query of parameters that are valid by the schema, each of which is given once."""
    provider = once(parameters, "resource_provider")
    changed_before = once(parameters, "changed_before")
    return ConsumerQuery(
        provider_uuids=None if provider is None else _parse_providers(provider),
        tree_uuid=pages.parse_tree(once(parameters, "tree")),
        resource_class=once(parameters, "resource_class"),
        project_id=once(parameters, "project_id"),
        user_id=once(parameters, "user_id"),
        consumer_type=once(parameters, "consumer_type"),
        changed_before=None if changed_before is None else _parse_moment(changed_before),
    )


def _parse_providers(text: str) -> frozenset[str]:
    """A UUID, or several: in:UUID,UUID."""
    query_string.refuse_many("resource_provider", [text], LISTED_PROVIDERS_MAX)
    is_list = text.startswith("in:")
    uuids = text.removeprefix("in:").split(",") if is_list else [text]
    for uuid in uuids:
        if not is_uuid(uuid):
            several = "" if is_list else ", or several as in:UUID,UUID"
            message = f"resource_provider: {quote_value(uuid)}, expected a UUID{several}"
            raise HttpError(400, message, ErrorCode.QUERY_BAD_VALUE)
    return canonical_uuids(uuids)


def _parse_moment(text: str) -> datetime:
    """A time in ISO 8601 with its zone, as the tables have times: in UTC, without a zone."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError("without a zone")
        return moment.astimezone(UTC).replace(tzinfo=None)
    # Within a day of the first and of the last year, UTC may be in a year that does not exist.
    except (ValueError, OverflowError):
        reason = (
            "Expected 'changed_before' parameter to be a time in ISO 8601 with its zone, such as "
            f"2026-01-02T03:04:05Z ('+' is written %2B in a URL). Got: {quote(text)}"
        )
        raise HttpError(
            400, query_string.INVALID.format(reason), ErrorCode.QUERY_BAD_VALUE
        ) from None
