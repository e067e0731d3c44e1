"""What stands in front of the API, from the outside in.

The entrance, proxy headers, CORS, Keystone. Middleware that is not configured is neither there nor
imported: each takes longer than most requests.
"""

import logging
from collections.abc import Iterable

from oslo_config import cfg

from roost.api.access.policy import policy_of
from roost.api.http import error_table, wsgi_errors
from roost.api.http.request_middleware import Application, Entrance, Environ, StartResponse
from roost.errors import Unavailable
from roost.settings import Settings, SettingsError, library_configuration

LOG = logging.getLogger(__name__)


def in_front_of(
    application: Application,
    settings: Settings,
    *,
    open_paths: frozenset[str],
    quiet_paths: frozenset[str],
) -> Application:
    """The application behind everything that is configured.

    `open_paths` are for everybody, even without a token; `quiet_paths` are hardly logged.
    """
    configuration = library_configuration(settings)
    if settings.auth_strategy == "keystone":
        _refuse_undescribed_keystone(settings)
        application = _behind_keystone(application, configuration, open_paths)
    if settings.cors_allowed_origins:
        from oslo_middleware import cors

        application = cors.CORS(application, configuration)
    if settings.parse_proxy_headers:
        from oslo_middleware import http_proxy_to_wsgi

        application = http_proxy_to_wsgi.HTTPProxyToWSGI(application, configuration)
    return Entrance(application, settings.url_prefix, quiet_paths)


def check_pipeline(settings: Settings) -> None:
    """Say now what building the application would say: `SettingsError`."""
    policy_of(settings)
    nothing: frozenset[str] = frozenset()
    in_front_of(lambda *_: (), settings, open_paths=nothing, quiet_paths=nothing)


def _refuse_undescribed_keystone(settings: Settings) -> None:
    # In a configuration of its own: the middleware registers these options itself.
    configuration = library_configuration(settings)
    options = [cfg.StrOpt("auth_type", deprecated_name="auth_plugin"), cfg.StrOpt("auth_section")]
    configuration.register_opts(options, group="keystone_authtoken")
    section = configuration.keystone_authtoken
    if not section.auth_type and not section.auth_section:
        raise SettingsError(
            "[api]auth_strategy is keystone, and [keystone_authtoken] does not say how to reach "
            "it: set auth_type, auth_url and so on; for tests and development set auth_strategy "
            "to noauth2 (every token is believed)"
        )


def _behind_keystone(
    application: Application, configuration: cfg.ConfigOpts, open_paths: frozenset[str]
) -> Application:
    from keystonemiddleware import auth_token  # type: ignore[import-untyped]

    try:
        guarded = auth_token.AuthProtocol(application, {"oslo_config_config": configuration})
    except Exception as error:
        # Of the many libraries that take part each has exceptions of its own.
        raise SettingsError(f"[keystone_authtoken] cannot be used: {error}") from error

    def choose(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("PATH_INFO") in open_paths:
            return application(environ, start_response)
        try:
            answer: Iterable[bytes] = guarded(environ, start_response)
            return answer
        except Exception:
            # The API itself raises nothing. So this is a Keystone that is not as it should be,
            # and whether the token is good is not known.
            LOG.exception("Keystone cannot be asked")
            return wsgi_errors.refuse(error_table.to_http(Unavailable("")), environ, start_response)

    return choose
