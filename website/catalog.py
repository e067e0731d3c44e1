"""Pages made from tables of the code: versions, error codes, options, policy rules, metrics."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from msgspec import structs
from oslo_config import cfg
from oslo_policy.policy import DocumentedRuleDefault
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from roost.api.access.policy_rules import list_rules
from roost.api.http_error import ERROR_HELP, ErrorCode
from roost.api.versions import VERSIONS
from roost.model import ClassSummary, GroupSummary, Summary
from roost.observe import exposition, metrics, summary_metrics
from roost.settings import OPTIONS
from roost.settings.bad_values import expectation
from website.markdown import span, table


def pages() -> Iterator[tuple[str, str]]:
    for path, lines in PAGES.items():
        yield path, "\n".join(lines())


def _microversions() -> Iterator[str]:
    yield "# Microversions"
    yield ""
    yield "What each version of the API brought. [HTTP API](api.md) says how a client chooses one."
    yield ""
    yield from table(["version", "what it brought"], VERSIONS.items())


# ---------------------------------------------------------------------------------------------
# Errors


def _error_codes() -> Iterator[str]:
    yield "# Error codes"
    yield ""
    yield "From microversion 1.23 on, every error has a `code`. Codes never change once they are"
    yield "published, so programs can depend on them. [HTTP API](api.md#errors) shows a whole"
    yield "error."
    yield ""
    for code in sorted(ErrorCode):
        found = ERROR_HELP[code]
        yield f"## {code}"
        yield ""
        yield f"**Status:** {found.status or 'any'}"
        yield ""
        yield f"**Cause:** {found.cause}"
        yield ""
        yield f"**Remedy:** {found.remedy}"
        yield ""


# ---------------------------------------------------------------------------------------------
# Options


def _options() -> Iterator[str]:
    yield "# Options"
    yield ""
    yield "Every option of roost itself, by section of `placement.conf`. Each can also be set by a"
    yield "variable `OS_<SECTION>__<OPTION>`, such as `OS_PLACEMENT_DATABASE__CONNECTION`."
    yield "[Configuration](configuration.md) says which source takes precedence, what is checked,"
    yield "and which sections libraries read."
    yield ""
    for section, options in OPTIONS.items():
        yield f"## {section}"
        yield ""
        rows = (
            [span(each.name), expectation(each), _default(each), _with_code(each.help or "")]
            for each in options
        )
        yield from table(["option", "value", "default", "meaning"], rows)


def _default(option: cfg.Opt) -> str:
    match option.default:
        case bool():
            return span(str(option.default).lower())
        case None | "" | []:
            return ""
        case list():
            return "<br>".join(map(span, option.default))
        case _:
            return span(str(option.default))


# What reads better as code: names with an underscore, paths, sections and assignments.
_CODE = re.compile(
    r"\[\w+\]\w*|\b(?:GET|POST|PUT|DELETE) /[\w/{}]*|\b[\w.]+=[\w=&]+|\b[a-z]+(?:_[a-z]+)+\b"
    r"|(?<= )/[a-z][\w/]*|\bnoauth2\b"
)


def _with_code(text: str) -> str:
    return _CODE.sub(lambda found: span(found[0]), text)


# ---------------------------------------------------------------------------------------------
# Policy


def _policy() -> Iterator[str]:
    yield "# Policy rules"
    yield ""
    yield "Who may use a route is decided by its rule. A policy file (`[oslo_policy]policy_file`)"
    yield "replaces rules by name; `oslopolicy-sample-generator --namespace roost` writes one with"
    yield "all of them. The default of most rules is the role admin or service."
    yield ""
    base = [rule for rule in list_rules() if not isinstance(rule, DocumentedRuleDefault)]
    rows = ([span(rule.name), span(rule.check_str), rule.description or ""] for rule in base)
    yield from ["## Rules that others refer to", ""]
    yield from table(["rule", "default", "who"], rows)
    yield from ["## Rules of routes", ""]
    rows = (
        [
            span(rule.name),
            span(rule.check_str),
            "<br>".join(span(f"{each['method']} {each['path']}") for each in rule.operations),
            rule.description,
        ]
        for rule in list_rules()
        if isinstance(rule, DocumentedRuleDefault)
    )
    yield from table(["rule", "default", "routes", "allows to"], rows)


# ---------------------------------------------------------------------------------------------
# Metrics


class _Described(NamedTuple):
    name: str  # as Prometheus shows it
    kind: str
    labels: tuple[str, ...]
    meaning: str


def _metrics() -> Iterator[str]:
    yield "# Metrics"
    yield ""
    yield "What `GET /metrics` exposes. [Monitoring](../operations/monitoring.md) says how to"
    yield "collect it, what labels mean, and what to watch."
    yield ""
    for title, found in (
        ("The service", _of_the_service()),
        ("Processes", _of_processes()),
        ("The summary of the cloud", _of_the_summary()),
    ):
        yield from [f"## {title}", ""]
        if title == "The summary of the cloud":
            yield "Only with `[roost]summary_metrics`; see"
            yield "[Monitoring](../operations/monitoring.md#the-summary-of-the-cloud)."
            yield ""
        rows = (
            [span(each.name), each.kind, ", ".join(each.labels), _with_code(each.meaning)]
            for each in found
        )
        yield from table(["metric", "kind", "labels", "meaning"], rows)


def _of_the_service() -> Iterator[_Described]:
    """Those of `roost.observe.metrics`, with labels that have no values yet."""
    for metric in vars(metrics).values():
        # What `labels` has returned is there as well.
        if not isinstance(metric, MetricWrapperBase) or metric._labelvalues:
            continue
        (family,) = metric.describe()
        yield _described(family, tuple(metric._labelnames))


def _of_processes() -> Iterator[_Described]:
    own = {family.name for family in metrics.REGISTRY.collect()}
    for family in text_string_to_metric_families(exposition.scrape().decode()):
        if family.name not in own:
            yield _described(family, tuple(family.samples[0].labels))


def _of_the_summary() -> Iterator[_Described]:
    group = GroupSummary(providers=1, trees=1, resources={"VCPU": ClassSummary(*range(6))})
    summary = Summary(
        **structs.asdict(group), aggregates={"rack": group}, traits={"CUSTOM_T": group}
    )
    text = summary_metrics.expose(summary, summary_metrics.KINDS, 1000).text.decode()
    for family in text_string_to_metric_families(text):
        yield _described(family, tuple(family.samples[0].labels))


def _described(family: Metric, labels: tuple[str, ...]) -> _Described:
    name = f"{family.name}_total" if family.type == "counter" else family.name
    return _Described(name, family.type, labels, family.documentation)


PAGES: Mapping[str, Callable[[], Iterator[str]]] = {
    "reference/microversions.md": _microversions,
    "reference/error-codes.md": _error_codes,
    "reference/options.md": _options,
    "reference/policy.md": _policy,
    "reference/metrics.md": _metrics,
}
