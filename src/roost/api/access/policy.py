"""Decides whether the sender of a request may use its route.

oslo.policy decides, by the rules of `policy_rules` and of the operator's policy file. Decisions are
cached, since oslo.policy reads files and interprets text for each of them.
"""

import logging
import os
import threading
import time
from pathlib import Path

from oslo_config import cfg
from oslo_policy import opts, policy

from roost.api.access.authentication import Identity
from roost.api.access.policy_rules import list_rules
from roost.api.http_error import HttpError
from roost.settings import Settings, SettingsError, default_config_files, library_configuration

LOG = logging.getLogger(__name__)

# How often policy files are checked; an edit takes effect after that long at most.
POLL_SECONDS = 1.0
CACHED_DECISIONS_MAX = 10_000

# Path, time of the last change and size of every file with rules.
Fingerprint = tuple[tuple[str, int, int], ...]


class Policy:
    """The rules in force."""

    def __init__(self, configuration: cfg.ConfigOpts) -> None:
        opts.set_defaults(configuration, "policy.yaml")
        self._configuration = configuration
        self._lock = threading.Lock()
        # The reason of each refusal; empty where the sender is allowed.
        self._decisions: dict[tuple[str, Identity, str | None], str] = {}
        self._fingerprint = self._fingerprint_files()
        self._polled = time.monotonic()
        try:
            self._enforcer = self._load()
        except Exception as error:
            raise SettingsError(f"the policy cannot be used: {_reason(error)}") from error

    def check(self, identity: Identity, rule: str, project: str | None) -> None:
        """Refuse the request unless the rule allows the sender.

        `project` is the one that the request is about: the sender's own, unless it names another.
        """
        if time.monotonic() - self._polled > POLL_SECONDS:
            self._reload_changed_files()
        key = rule, identity, project
        refusal = self._decisions.get(key)
        if refusal is None:
            with self._lock:
                if len(self._decisions) >= CACHED_DECISIONS_MAX:
                    self._decisions.clear()
                refusal = self._decisions[key] = self._decide(identity, rule, project)
        if refusal:
            raise HttpError(403, refusal)

    def _decide(self, identity: Identity, rule: str, project: str | None) -> str:
        """The reason why the sender is refused; empty if it is allowed."""
        target = {"project_id": project, "user_id": identity.user}
        try:
            self._enforcer.authorize(rule, target, identity.credentials(), do_raise=True)
        except policy.InvalidScope:
            return rule
        except policy.PolicyNotAuthorized:
            return f"Policy does not allow {rule} to be performed."
        return ""

    # -- policy files --------------------------------------------------------------------------

    def _reload_changed_files(self) -> None:
        with self._lock:
            self._polled = time.monotonic()
            found = self._fingerprint_files()
            if found == self._fingerprint:
                return
            self._fingerprint = found
            try:
                self._enforcer = self._load()
            except Exception as error:
                LOG.error("the policy stays as it was: %s", _reason(error))
                return
            self._decisions.clear()
            LOG.info("new rules of policy are in force")

    def _load(self) -> policy.Enforcer:
        enforcer = new_enforcer(self._configuration)
        enforcer.load_rules()
        # Without this, oslo.policy would check the files itself with every decision.
        enforcer.use_conf = False
        return enforcer

    def _fingerprint_files(self) -> Fingerprint:
        section = self._configuration.oslo_policy
        paths = [self._configuration.find_file(section.policy_file)]
        for folder in section.policy_dirs:
            found = self._configuration.find_file(folder)
            if found is not None:
                paths += [found, *_entries(found)]
        return tuple(filter(None, (_stamp(path) for path in paths if path is not None)))


def _entries(folder: str) -> list[str]:
    """What is in a folder of policy files; nothing if it is none, or was removed meanwhile."""
    try:
        return sorted(map(str, Path(folder).iterdir()))
    except OSError:
        return []


def _stamp(path: str) -> tuple[str, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return path, status.st_mtime_ns, status.st_size


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())


def new_enforcer(configuration: cfg.ConfigOpts) -> policy.Enforcer:
    enforcer = policy.Enforcer(configuration)
    # Every rule has a deprecated default, and a warning for each of them would fill the log.
    enforcer.suppress_default_change_warnings = True
    enforcer.register_defaults(list_rules())
    return enforcer


def policy_of(settings: Settings) -> Policy:
    return Policy(library_configuration(settings))


def get_enforcer() -> policy.Enforcer:
    """For the tools of oslo.policy, such as `oslopolicy-list-redundant --namespace roost`."""
    configuration = cfg.CONF
    files = [str(path) for path in default_config_files()]
    configuration([], project="placement", default_config_files=files)
    opts.set_defaults(configuration, "policy.yaml")
    enforcer = new_enforcer(configuration)
    enforcer.load_rules()
    return enforcer
