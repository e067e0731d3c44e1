"""The microversions of the API, and the negotiation of one for a request.

Only `roost.api` knows of versions: below it, what a version brought is a field of a value.
"""

import functools
from typing import NamedTuple

import microversion_parse

from roost.api.http_error import HttpError
from roost.quoting import quote

HEADER = "openstack-api-version"
SERVICE = "placement"

# What each version brought.
VERSIONS = {
    "1.0": "providers, their inventories, usages and allocations; allocations of a consumer",
    "1.1": "aggregates of a provider",
    "1.2": "custom resource classes",
    "1.3": "member_of in GET /resource_providers",
    "1.4": "resources in GET /resource_providers",
    "1.5": "DELETE all inventories of a provider",
    "1.6": "traits",
    "1.7": "PUT /resource_classes/{name} makes sure that the class exists",
    "1.8": "project_id and user_id are required in PUT /allocations/{consumer}",
    "1.9": "GET /usages",
    "1.10": "GET /allocation_candidates",
    "1.11": "a link to the allocations of a provider",
    "1.12": "allocations as an object, by provider, in PUT and in candidates",
    "1.13": "POST /allocations for several consumers at once",
    "1.14": "trees of providers; in_tree in GET /resource_providers",
    "1.15": "last-modified and cache-control headers",
    "1.16": "limit in GET /allocation_candidates",
    "1.17": "required in GET /allocation_candidates; traits in its summaries",
    "1.18": "required in GET /resource_providers",
    "1.19": "generations in the aggregates of a provider",
    "1.20": "POST /resource_providers answers with the provider",
    "1.21": "member_of in GET /allocation_candidates",
    "1.22": "forbidden traits: required=!TRAIT",
    "1.23": "a code in every error",
    "1.24": "member_of may be repeated",
    "1.25": "numbered groups and group_policy in GET /allocation_candidates",
    "1.26": "reserved may equal total",
    "1.27": "every class of a provider in the summaries, asked for or not",
    "1.28": "generations of consumers; PUT /allocations/{consumer} may be empty",
    "1.29": "candidates from several providers of one tree; trees in the summaries",
    "1.30": "POST /reshaper",
    "1.31": "in_tree in GET /allocation_candidates",
    "1.32": "forbidden aggregates: member_of=!AGGREGATE",
    "1.33": "groups with names instead of numbers",
    "1.34": "mappings from groups to providers in candidates",
    "1.35": "root_required in GET /allocation_candidates",
    "1.36": "same_subtree, and groups without resources",
    "1.37": "PUT /resource_providers/{uuid} may change or remove the parent",
    "1.38": "types of consumers",
    "1.39": "any of several traits: required=in:A,B; required may be repeated",
}

_NAMES = list(VERSIONS)


class Version(NamedTuple):
    """Compares like a tuple: `version >= (1, 15)`."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


VERSION_MIN = Version(1, 0)
VERSION_MAX = Version(1, len(VERSIONS) - 1)
# From this version on, answers say when the state that they show was last written.
SINCE_LAST_MODIFIED = Version(1, 15)
# The name of a version.
VERSION_PATTERN = r"^[0-9]+\.[0-9]+$"


# Of the header. One that names the versions of all services of OpenStack is shorter.
HEADER_LENGTH_MAX = 4096


def negotiate(header: str | None) -> Version:
    """The version that the header asks for; without one, the oldest."""
    if header is not None and len(header) > HEADER_LENGTH_MAX:
        raise HttpError(
            400,
            f"Invalid microversion: invalid version string: {quote(header)}; the header has "
            f"{len(header)} characters, expected at most {HEADER_LENGTH_MAX}",
        )
    return _negotiate(header)


# Parsing is slow, and clients send the same few headers again and again.
@functools.lru_cache(maxsize=256)
def _negotiate(header: str | None) -> Version:
    headers = {} if header is None else {HEADER: header}
    try:
        found = microversion_parse.extract_version(headers, SERVICE, _NAMES)
    except TypeError as error:
        raise HttpError(400, f"Invalid microversion: {quote(str(error))}") from None
    except ValueError as error:
        raise HttpError(
            406,
            f"Invalid microversion: {quote(str(error))}",
            extra={"max_version": str(VERSION_MAX), "min_version": str(VERSION_MIN)},
        ) from None
    return Version(found.major, found.minor)
