"""Policy: default rules, policy files, and the cost of a decision."""

import os
from pathlib import Path

import pytest
from oslo_policy import policy as oslo_policy

from roost.api.access import policy as policy_module
from roost.api.access.authentication import Identity
from roost.api.access.policy import Policy, policy_of
from roost.api.access.policy_rules import list_rules
from roost.api.http_error import HttpError
from roost.api.routes import ROUTES
from roost.settings import Settings, SettingsError, load_settings

LIST = "placement:resource_providers:list"
USAGES = "placement:usages"
RESHAPE = "placement:reshaper:reshape"

OLD_DEFAULTS = "[oslo_policy]\nenforce_new_defaults = false\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("OS_PLACEMENT_CONFIG_DIR", raising=False)
    monkeypatch.setattr("roost.settings.sources.CONFIG_FOLDER_DEFAULT", str(tmp_path))
    return tmp_path


@pytest.fixture
def polled_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy files are checked for changes before every decision."""
    monkeypatch.setattr(policy_module, "POLL_SECONDS", -1.0)


def identity_with(
    *roles: str, project: str | None = "one", system_scope: str | None = None
) -> Identity:
    return Identity(user="user", project=project, roles=frozenset(roles), system_scope=system_scope)


def allows(policy: Policy, identity: Identity, rule: str, project: str | None = "one") -> bool:
    try:
        policy.check(identity, rule, project)
    except HttpError:
        return False
    return True


def test_a_rule_of_several_routes_has_a_description() -> None:
    rules = {(route.method, route.path): route.rule for route in ROUTES if route.rule is not None}
    for rule in rules.values():
        same_name = [each for each in rules.values() if each.name == rule.name]
        assert same_name == [rule] * len(same_name)
        assert rule.description or len(same_name) == 1


def test_every_route_has_a_documented_rule() -> None:
    documented = {
        (rule.name, operation["method"], operation["path"])
        for rule in list_rules()
        if isinstance(rule, oslo_policy.DocumentedRuleDefault)
        for operation in rule.operations
    }
    assert documented == {
        (route.rule.name, route.method, route.path) for route in ROUTES if route.rule is not None
    }


@pytest.mark.parametrize(
    ("roles", "rule", "new", "old"),
    [
        ({"admin"}, LIST, True, True),
        ({"service"}, LIST, True, True),
        ({"ADMIN"}, LIST, True, True),
        ({"member", "reader"}, LIST, False, False),
        (set(), LIST, False, False),
        ({"service"}, RESHAPE, True, True),
        ({"admin"}, RESHAPE, False, True),
        ({"reader"}, USAGES, True, True),
        ({"member"}, USAGES, False, False),
    ],
)
def test_default_rules(folder: Path, roles: set[str], rule: str, new: bool, old: bool) -> None:
    assert allows(policy_of(load_settings()), identity_with(*roles), rule) is new
    (folder / "placement.conf").write_text(OLD_DEFAULTS)
    assert allows(policy_of(load_settings()), identity_with(*roles), rule) is old


def test_readers_see_only_their_own_project() -> None:
    policy = policy_of(load_settings())
    assert allows(policy, identity_with("reader"), USAGES, "one")
    assert not allows(policy, identity_with("reader"), USAGES, "two")
    assert not allows(policy, identity_with("reader"), USAGES, None)


def test_a_system_scoped_token_is_refused() -> None:
    system_admin = identity_with("admin", project=None, system_scope="all")
    with pytest.raises(HttpError) as refusal:
        policy_of(load_settings()).check(system_admin, LIST, None)
    assert refusal.value.message == LIST


def test_an_edited_policy_file_takes_effect_without_a_restart(
    folder: Path, polled_always: None
) -> None:
    path = folder / "policy.yaml"
    (folder / "placement.conf").write_text("")
    policy = policy_of(load_settings())
    assert not allows(policy, identity_with("member"), LIST)
    path.write_text(f'"{LIST}": "role:member"\n')
    assert allows(policy, identity_with("member"), LIST)
    assert not allows(policy, identity_with("admin"), LIST)
    path.unlink()
    assert not allows(policy, identity_with("member"), LIST)


def test_rules_in_the_policy_directory_take_effect(folder: Path, polled_always: None) -> None:
    (folder / "placement.conf").write_text("")
    (folder / "policy.d").mkdir()
    policy = policy_of(load_settings())
    (folder / "policy.d" / "ours.yaml").write_text(f'"{LIST}": "user_id:user"\n')
    assert allows(policy, identity_with(), LIST)


def test_a_policy_directory_that_is_a_file_is_refused_at_start(folder: Path) -> None:
    (folder / "placement.conf").write_text("")
    (folder / "policy.d").write_text("")
    with pytest.raises(SettingsError, match="is not a directory"):
        policy_of(load_settings())


def test_a_policy_directory_that_becomes_a_file_leaves_the_rules_as_they_were(
    folder: Path, polled_always: None
) -> None:
    (folder / "placement.conf").write_text("")
    directory = folder / "policy.d"
    directory.mkdir()
    policy = policy_of(load_settings())
    assert allows(policy, identity_with("service"), LIST)
    directory.rmdir()
    assert allows(policy, identity_with("service"), LIST)
    directory.write_text("")
    assert allows(policy, identity_with("service"), LIST)


def test_a_malformed_policy_file_leaves_the_rules_as_they_were(
    folder: Path, polled_always: None, caplog: pytest.LogCaptureFixture
) -> None:
    """At start it is refused; later it is ignored."""
    path = folder / "policy.yaml"
    (folder / "placement.conf").write_text("")
    policy = policy_of(load_settings())
    path.write_text('"placement: [')
    assert allows(policy, identity_with("admin"), LIST)
    assert not allows(policy, identity_with("member"), LIST)
    assert "the policy stays as it was" in caplog.text
    with pytest.raises(SettingsError, match="policy"):
        policy_of(load_settings())


def test_a_cached_decision_reads_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = policy_of(Settings())
    assert allows(policy, identity_with("admin"), LIST)

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("the decision was known")

    monkeypatch.setattr(policy._enforcer, "authorize", fail)
    monkeypatch.setattr(os, "stat", fail)
    assert allows(policy, identity_with("admin"), LIST)


def test_the_number_of_cached_decisions_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_module, "CACHED_DECISIONS_MAX", 10)
    policy = policy_of(Settings())
    for number in range(100):
        assert not allows(policy, identity_with("reader"), USAGES, str(number))
    assert len(policy._decisions) <= 10
