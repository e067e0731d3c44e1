"""The options of the libraries that read the same files: Keystone's middleware, and oslo's.

Their modules take long to import, so only those are loaded whose section is in a file.
"""

import functools
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points

from oslo_config import cfg

from roost.settings.sources import Sources

KEYSTONE = "keystone_authtoken"

# The names under which the libraries list their options, by section.
_NAMESPACES: Mapping[str, Sequence[str]] = {
    "DEFAULT": ("oslo.log", "oslo.config"),
    KEYSTONE: ("keystonemiddleware.auth_token",),
    "oslo_policy": ("oslo.policy",),
    "cors": ("oslo.middleware.cors",),
    "oslo_middleware": (
        "oslo.middleware.http_proxy_to_wsgi",
        "oslo.middleware.sizelimit",
        "oslo.middleware.basic_auth",
    ),
}

LIBRARY_SECTIONS = frozenset(_NAMESPACES)


def library_options(sources: Sources) -> Mapping[str, Sequence[cfg.Opt]]:
    """The options of libraries, by section, for the sections that are written somewhere."""
    written = {section if section == "DEFAULT" else section.lower() for section in sources.sections}
    written |= {each.section for each in sources.variables}
    found = {section: list(_listed(section)) for section in _NAMESPACES if section in written}
    if KEYSTONE in found:
        section, plugin = _authentication(sources)
        found.setdefault(section, []).extend(plugin)
    return found


@functools.cache
def _listed(section: str) -> Sequence[cfg.Opt]:
    options: list[cfg.Opt] = []
    for namespace in _NAMESPACES[section]:
        for entry in entry_points(group="oslo.config.opts", name=namespace):
            for group, some in entry.load()():
                if (getattr(group, "name", group) or "DEFAULT") == section:
                    options += some
    return options


def authentication_section(sources: Sources) -> str:
    """The section that says how roost authenticates to Keystone: `auth_section` may move it."""
    moved = sources.find(KEYSTONE, ["auth_section"])
    # An empty option is one that is not set.
    return moved.value.strip().lower() or KEYSTONE if moved else KEYSTONE


def _authentication(sources: Sources) -> tuple[str, Sequence[cfg.Opt]]:
    """The section that says how roost authenticates to Keystone, and its options.

    They depend on `auth_type`.
    """
    from keystoneauth1 import exceptions, loading

    section = authentication_section(sources)
    common = loading.get_auth_common_conf_options()
    auth_type = sources.find(section, ["auth_type", "auth_plugin"])
    try:
        plugin = loading.get_auth_plugin_conf_options(auth_type.value) if auth_type else []
    except exceptions.AuthPluginException:
        # The authentication is checked elsewhere.
        plugin = []
    return section, [*common, *plugin]
