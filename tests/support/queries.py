"""Query strings as the API reads them."""

from roost.api.parsing import candidate_query, query_string
from roost.api.parsing.query_extensions import is_extended
from roost.api.versions import VERSION_MAX, Version
from roost.query import CandidateQuery


def parse_candidates(text: str, version: Version = VERSION_MAX) -> CandidateQuery:
    """The query of GET /allocation_candidates."""
    parameters = query_string.split(text)
    extended = is_extended(parameters, version)
    return candidate_query.parse_parameters(parameters, version, extended=extended)
