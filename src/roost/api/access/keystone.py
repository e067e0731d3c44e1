"""Keystone's middleware: what it needs to work, and the application behind it."""

import importlib.util
import logging
from collections.abc import Iterable, Sequence

from oslo_config import cfg

from roost.api.http import error_response, error_table
from roost.api.http.messages import Application, Environ, StartResponse
from roost.api.http.path_set import PathSet
from roost.console.login import KeystoneServer
from roost.errors import Unavailable
from roost.settings import Settings, SettingsError, library_configuration

LOG = logging.getLogger(__name__)

SECTION = "keystone_authtoken"

# The options that decide whether the middleware can work. It registers them itself, too, so they
# need a configuration of their own.
_OPTIONS = (
    cfg.StrOpt("auth_type", deprecated_name="auth_plugin"),
    cfg.StrOpt("auth_section"),
    cfg.ListOpt("memcached_servers", deprecated_name="memcache_servers", default=[]),
    cfg.StrOpt("memcache_security_strategy", default="None"),
    cfg.BoolOpt("memcache_tls_enabled", default=False),
    cfg.BoolOpt("memcache_sasl_enabled", default=False),
    cfg.StrOpt("cache"),
)

# Those that say where Keystone is, and how to trust it.
_SERVER_OPTIONS = (
    cfg.StrOpt("auth_section"),
    cfg.StrOpt("www_authenticate_uri", deprecated_name="auth_uri"),
    cfg.BoolOpt("insecure", default=False),
    cfg.StrOpt("cafile"),
    cfg.StrOpt("certfile"),
    cfg.StrOpt("keyfile"),
)


def check_keystone_settings(settings: Settings) -> None:
    """Raise `SettingsError` if the middleware could not validate any token with these settings."""
    section = _read(settings)
    if not section.auth_type and not section.auth_section:
        raise SettingsError(
            f"[api]auth_strategy is keystone, and [{SECTION}] does not say how to reach "
            "it: set auth_type, auth_url and so on; for tests and development set auth_strategy "
            "to noauth2 (every token is believed)"
        )
    missing = [name for name in _token_cache_modules(section) if not _is_installed(name)]
    if missing:
        raise SettingsError(
            f"[{SECTION}]memcached_servers needs Python's {' and '.join(missing)}, which cannot "
            f"be imported: {_advice(missing)}"
        )


def token_cache(settings: Settings) -> str:
    """Where validated tokens are cached, for people."""
    section = _read(settings)
    if not section.memcached_servers:
        return "in each process: set memcached_servers to share them"
    protection = section.memcache_security_strategy.upper()
    how = "" if protection == "NONE" else f", protected by {protection}"
    return f"in memcached{how}: {', '.join(section.memcached_servers)}"


def keystone_server(settings: Settings) -> KeystoneServer | None:
    """The Keystone of the middleware; None if the settings do not say where it is."""
    configuration = library_configuration(settings)
    configuration.register_opts(_SERVER_OPTIONS, group=SECTION)
    section = configuration[SECTION]
    # The section that says how roost itself authenticates may be another one.
    moved = section.auth_section or SECTION
    configuration.register_opt(cfg.StrOpt("auth_url"), group=moved)
    url = configuration[moved].auth_url or section.www_authenticate_uri
    if not url:
        return None
    return KeystoneServer(
        url=url,
        insecure=section.insecure,
        cafile=section.cafile,
        certfile=section.certfile,
        keyfile=section.keyfile,
    )


def add_keystone(
    application: Application, configuration: cfg.ConfigOpts, open_paths: PathSet
) -> Application:
    """The application behind the middleware, except for the paths that need no token."""
    from keystonemiddleware import auth_token  # type: ignore[import-untyped]

    try:
        guarded = auth_token.AuthProtocol(application, {"oslo_config_config": configuration})
    except Exception as error:
        # Several libraries take part, and each has exceptions of its own.
        reason = " ".join(str(error).split())
        raise SettingsError(f"[{SECTION}] cannot be used: {reason}") from error

    def choose(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("PATH_INFO", "") in open_paths:
            return application(environ, start_response)
        try:
            response: Iterable[bytes] = guarded(environ, start_response)
            return response
        except Exception:
            # The application turns every exception into a response, so this one comes from
            # Keystone or the way to it. Whether the token is valid is not known.
            LOG.exception("Keystone cannot be asked")
            return error_response.respond(
                error_table.to_http(Unavailable("")), environ, start_response
            )

    return choose


def _read(settings: Settings) -> cfg.ConfigOpts.GroupAttr:
    configuration = library_configuration(settings)
    configuration.register_opts(_OPTIONS, group=SECTION)
    section: cfg.ConfigOpts.GroupAttr = configuration[SECTION]
    return section


def _token_cache_modules(section: cfg.ConfigOpts.GroupAttr) -> Sequence[str]:
    """The modules that the middleware imports when it validates the first token."""
    if not section.memcached_servers or section.cache:
        return ()
    modules = ["memcache"]
    if section.memcache_tls_enabled or section.memcache_sasl_enabled:
        modules.append("bmemcached")
    if section.memcache_security_strategy.upper() == "ENCRYPT":
        modules.append("cryptography")
    return modules


def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _advice(missing: Sequence[str]) -> str:
    # The extra has no library for TLS and SASL, which few deployments use.
    distributions = ["'roost[memcached]'"] if set(missing) - {"bmemcached"} else []
    distributions += ["python-binary-memcached"] if "bmemcached" in missing else []
    return f"pip install {' '.join(distributions)}"
