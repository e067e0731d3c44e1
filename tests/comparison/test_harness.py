"""The comparison itself: equal answers are found equal, and a wrong answer is noticed."""

import dataclasses
import json
import re
from collections.abc import Callable, Iterator

import pytest

from tests.comparison import compare, comparison, differences
from tests.comparison.compare import Finding, Situation
from tests.comparison.comparison import Comparison
from tests.comparison.requests import Group, Request, Search
from tests.comparison.sides import Answer, Reference
from tests.comparison.state import State


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    """A second reference, whose sets have another order."""
    with Reference(tmp_path_factory.mktemp("twin"), hash_seed=1) as side:
        yield side


def own_fault(finding: Finding) -> bool:
    """Two references differ in known bugs, since these depend on the order of sets."""
    search = finding.situation.search
    if finding.kind in ("missing", "extra") and search is not None:
        extra = dataclasses.replace(finding, kind="extra")
        return differences.amounts_leak(search) or differences.unsuffixed_group_shared(extra)
    return finding.kind == "wrong"


@pytest.mark.long
def test_reference_equals_itself(
    reference: Reference, twin: Reference, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the reference does not promise must not be compared."""
    fault = differences.Difference("fault of the reference", "in the place of roost", own_fault)
    monkeypatch.setattr(differences, "DIFFERENCES", (*differences.DIFFERENCES, fault))
    for seed in range(1000, 1002):
        assert Comparison(seed, reference, twin).run() == ""


@dataclasses.dataclass
class Spoiler:
    """A side that passes requests on, and changes some of the answers."""

    side: Reference
    spoil: Callable[[Request, Answer], Answer]

    def reset(self) -> None:
        self.side.reset()

    def start(self, request: Request) -> None:
        self.request = request
        self.side.start(request)

    def finish(self) -> Answer:
        return self.spoil(self.request, self.side.finish())


def lose_a_candidate(request: Request, answer: Answer) -> Answer:
    if request.path != "/allocation_candidates" or answer.status != 200:
        return answer
    body = answer.body
    body["allocation_requests"] = body["allocation_requests"][1:]
    return answer._replace(content=json.dumps(body).encode())


def forget_a_generation(request: Request, answer: Answer) -> Answer:
    content = re.sub(rb'"generation": \d+', b'"generation": 0', answer.content)
    return answer._replace(content=content)


def reword_errors(request: Request, answer: Answer) -> Answer:
    return answer._replace(content=answer.content.replace(b"Unable to", b"Cannot"))


@pytest.mark.parametrize(
    ("spoil", "finding"),
    [
        (lose_a_candidate, "missing: "),
        (forget_a_generation, "body: "),
        (reword_errors, "detail: "),
    ],
)
def test_wrong_answer_is_noticed(
    reference: Reference,
    twin: Reference,
    spoil: Callable[[Request, Answer], Answer],
    finding: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(comparison, "SEARCHES", 10)
    # Not every world shows the difference.
    assert any(
        finding in Comparison(seed, reference, Spoiler(twin, spoil)).run()
        for seed in range(1000, 1005)
    )


@pytest.mark.parametrize(
    ("times", "found"), [(1, ["missing"]), (2, []), (3, ["extra"])], ids=["once", "twice", "thrice"]
)
def test_equal_candidates_are_counted(times: int, found: list[str]) -> None:
    """Before 1.34 candidates of exchanged groups are equal, and each of them counts."""
    candidate = {"allocations": {"a": {"resources": {"VCPU": 1}}, "b": {"resources": {"VCPU": 1}}}}
    groups = {suffix: Group(resources={"VCPU": 1}) for suffix in ("1", "2")}
    search = Search(version="1.33", groups=groups, group_policy="isolate")
    providers = {name: {"root_provider_uuid": name} for name in ("a", "b")}
    summaries = {name: {} for name in providers}

    def answer(count: int) -> Answer:
        body = {"allocation_requests": [candidate] * count, "provider_summaries": summaries}
        return Answer(200, {}, json.dumps(body).encode())

    situation = Situation(
        search.request(), answer(2), answer(times), State(providers, {}, {}), search
    )
    expected = compare.candidates_of(situation.reference)
    findings = compare.compare_candidates(situation, expected, summaries)
    assert [finding.kind for finding in findings] == found
