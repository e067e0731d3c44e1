"""Whatever a driver raises or answers is one line, with its name and the node."""

import re
import threading
from collections.abc import Callable
from typing import Any

import pytest

from roost.agent.driver import Allocations, Driver, DriverError, ReshapeNeeded
from roost.agent.guarded_driver import DriverFailed, GuardedDriver
from roost.agent.provider_tree import ProviderTree
from roost.agent.stopping import Stopped
from tests.agent.hosts import uid

ROOT = uid("host")
Edit = Callable[[ProviderTree, Allocations | None], Any]


class OddDriver(Driver):
    """Does in each of its methods what a test says."""

    def __init__(self, **answers: Any) -> None:
        super().__init__({})
        self._answers = answers

    def _answer(self, name: str, default: Any) -> Any:
        found = self._answers.get(name, default)
        if isinstance(found, BaseException):
            raise found
        return found

    def nodenames(self) -> list[str]:
        names: list[str] = self._answer("nodenames", ["host"])
        return names

    def root_uuid(self, nodename: str) -> str | None:
        uuid: str | None = self._answer("root_uuid", None)
        return uuid

    def where(self, nodename: str, consumer: str) -> Any:
        return self._answer("where", {})

    def update_provider_tree(
        self,
        provider_tree: ProviderTree,
        nodename: str,
        allocations: Allocations | None = None,
    ) -> None:
        self._answer("edit", lambda *_: None)(provider_tree, allocations)


def guarded(**answers: Any) -> GuardedDriver:
    return GuardedDriver(OddDriver(**answers), "odd")


def host() -> ProviderTree:
    tree = ProviderTree()
    tree.new_root("host", ROOT)
    tree.new_child("card", "host", uuid=uid("card"))
    return tree


def held() -> Allocations:
    return {
        uid("consumer"): {
            "allocations": {ROOT: {"resources": {"VCPU": 1}}},
            "project_id": "project",
            "user_id": "user",
            "consumer_generation": 1,
        }
    }


def test_every_method_of_a_driver_is_guarded() -> None:
    methods = {name for name in vars(Driver) if not name.startswith("_")}
    assert methods <= vars(GuardedDriver).keys()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (KeyError("x"), "KeyError: 'x'"),
        (RuntimeError("two\nlines"), "RuntimeError: two lines"),
        (AssertionError(), "AssertionError"),
        (DriverError("The file is away."), "The file is away."),
    ],
)
def test_whatever_it_raises_has_the_name_of_the_driver(error: Exception, words: str) -> None:
    def fail(*_: object) -> None:
        raise error

    driver = guarded(nodenames=error, root_uuid=error, where=error, edit=fail)
    calls: list[tuple[Callable[[], object], str]] = [
        (driver.nodenames, f"driver odd: {words}"),
        (lambda: driver.root_uuid("host"), f"driver odd: host: {words}"),
        (lambda: driver.where("host", uid("consumer")), f"driver odd: host: {words}"),
        (lambda: driver.update_provider_tree(host(), "host"), f"driver odd: host: {words}"),
    ]
    for call, expected in calls:
        with pytest.raises(DriverFailed) as raised:
            call()
        assert str(raised.value) == expected
        # Who debugs finds where it comes from.
        assert raised.value.__cause__ is error


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_the_end_of_the_program_is_no_failure(error: BaseException) -> None:
    with pytest.raises(type(error)):
        guarded(nodenames=error).nodenames()


def test_a_reshape_may_be_asked_for_once() -> None:
    def ask(*_: object) -> None:
        raise ReshapeNeeded("VGPU moves")

    driver = guarded(edit=ask)
    with pytest.raises(ReshapeNeeded, match="VGPU moves"):
        driver.update_provider_tree(host(), "host")
    with pytest.raises(DriverFailed, match="driver odd: host: it asked for a reshape twice: VGPU"):
        driver.update_provider_tree(host(), "host", held())


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda tree, _: tree.remove("host"), "it removed or moved the root host"),
        (lambda tree, _: tree.rename("host", "other"), "it renamed the root host to other"),
        (lambda tree, _: tree.new_root("other", uid("other")), "it added the root other"),
        (lambda tree, _: tree.data("nobody"), "No such provider: nobody"),
        (lambda tree, _: tree.new_child("card", "host"), "the name is taken"),
        (lambda tree, _: tree.new_child(7, "host"), "Expected `str`, got `int`"),
        (lambda tree, _: tree.update_inventory("card", {"VGPU": {"total": "8"}}), "VGPU.*`int`"),
        (lambda tree, _: tree.update_inventory("card", {"VGPU": {}}), "needs a total"),
        (lambda tree, _: tree.update_inventory("card", {"VGPU": 8}), "TypeError"),
        (
            lambda tree, _: tree.update_inventory("card", {"VGPU": {"total": 0}}),
            "VGPU on provider card: the total is 0",
        ),
        (
            lambda tree, _: tree.update_inventory("card", {"VGPU": {"total": 2**31}}),
            "the total is 2147483648",
        ),
        (
            lambda tree, _: tree.update_inventory("card", {"VGPU": {"total": 4, "reserved": 5}}),
            "5 of 4 are reserved",
        ),
        (
            lambda tree, _: tree.update_inventory(
                "card", {"VGPU": {"total": 4, "allocation_ratio": float("nan")}}
            ),
            "the allocation_ratio is nan",
        ),
        (lambda tree, _: tree.update_traits("card", [7]), "Expected `str`"),
        (lambda tree, _: tree.update_aggregates("card", 7), "TypeError"),
        (
            lambda _, allocations: allocations.update({uid("consumer"): None}),
            "expected an object with allocations",
        ),
        (
            lambda _, allocations: allocations[uid("consumer")].update(allocations={ROOT: 1}),
            "Expected `object`, got `int`",
        ),
        (
            lambda _, allocations: allocations[uid("consumer")].update(
                allocations={ROOT: {"resources": {"VCPU": "1"}}}
            ),
            "resources.*Expected `int`",
        ),
    ],
)
def test_rubbish_is_refused_before_anything_is_sent(edit: Edit, words: str) -> None:
    with pytest.raises(DriverFailed, match=f"(?s)^driver odd: host: .*{words}"):
        guarded(edit=edit).update_provider_tree(host(), "host", held())


@pytest.mark.parametrize(
    ("method", "answer", "words"),
    [
        ("nodenames", None, "TypeError"),
        ("nodenames", [7], "Expected `str`"),
        ("root_uuid", "nonsense", "ValueError"),
        ("root_uuid", 7, "AttributeError"),
        ("where", None, "AttributeError"),
        ("where", {"VCPU": 7}, "Expected `str | object`"),
        ("where", {"VCPU": {"card": "7"}}, "Expected `int`"),
    ],
)
def test_answers_that_are_none(method: str, answer: Any, words: str) -> None:
    arguments = ("host", uid("consumer"))[: {"nodenames": 0, "root_uuid": 1, "where": 2}[method]]
    with pytest.raises(DriverFailed, match=re.escape(words)):
        getattr(guarded(**{method: answer}), method)(*arguments)


def test_right_answers_pass() -> None:
    where = {"VCPU": "card", "VGPU": {"card": 2}}
    driver = guarded(nodenames=("one", "two", "one"), root_uuid=ROOT.replace("-", ""), where=where)
    assert driver.nodenames() == ["one", "two"]
    assert driver.root_uuid("one") == ROOT
    assert driver.where("one", uid("consumer")) == where
    driver.update_provider_tree(host(), "host", held())


def test_an_odd_inventory_of_others_is_left_alone() -> None:
    tree = host()
    tree.update_inventory("card", {"VGPU": {"total": 4, "reserved": 5}})
    guarded(edit=lambda tree, _: tree.add_traits("card", "CUSTOM_GOLD")).update_provider_tree(
        tree, "host", held()
    )
    assert tree.data("card").inventory["VGPU"]["reserved"] == 5


def test_a_driver_is_called_by_one_thread_at_a_time() -> None:
    inside, most, lock = 0, 0, threading.Lock()

    def edit(*_: object) -> None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        threading.Event().wait(0.01)
        with lock:
            inside -= 1

    driver = guarded(edit=edit)
    threads = [
        threading.Thread(target=driver.update_provider_tree, args=(host(), "host"))
        for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_driver_is_not_called_after_the_end() -> None:
    stop, calls = threading.Event(), []
    driver = GuardedDriver(OddDriver(edit=lambda *_: calls.append("edit")), "odd", stop)
    driver.update_provider_tree(host(), "host")
    stop.set()
    with pytest.raises(Stopped):
        driver.update_provider_tree(host(), "host")
    assert calls == ["edit"]
