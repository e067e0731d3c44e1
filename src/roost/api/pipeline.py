"""The middleware in front of the application.

From the outside in: `RequestMiddleware`, proxy headers, CORS, Keystone. Middleware that is not
configured is neither imported nor called, because each takes longer than most requests.
"""

import logging
from collections.abc import Iterable

from oslo_config import cfg

from roost.api.access.policy import policy_of
from roost.api.http import error_response, error_table
from roost.api.http.messages import Application, Environ, StartResponse
from roost.api.http.request_middleware import RequestMiddleware
from roost.errors import Unavailable
from roost.settings import Settings, SettingsError, library_configuration

LOG = logging.getLogger(__name__)


def add_middleware(
    application: Application,
    settings: Settings,
    *,
    open_paths: frozenset[str],
    quiet_paths: frozenset[str],
) -> Application:
    """The application behind the middleware that is configured.

    `open_paths` need no token; requests to `quiet_paths` are logged at DEBUG.
    """
    configuration = library_configuration(settings)
    if settings.auth_strategy == "keystone":
        _check_keystone_settings(settings)
        application = _add_keystone(application, configuration, open_paths)
    if settings.cors_allowed_origins:
        from oslo_middleware import cors

        application = cors.CORS(application, configuration)
    if settings.parse_proxy_headers:
        from oslo_middleware import http_proxy_to_wsgi

        application = http_proxy_to_wsgi.HTTPProxyToWSGI(application, configuration)
    return RequestMiddleware(application, settings.url_prefix, quiet_paths)


def check_pipeline(settings: Settings) -> None:
    """Raise the `SettingsError` that building the application would raise."""
    policy_of(settings)
    nothing: frozenset[str] = frozenset()
    add_middleware(lambda *_: (), settings, open_paths=nothing, quiet_paths=nothing)


def _check_keystone_settings(settings: Settings) -> None:
    # The middleware registers these options itself, so they need a configuration of their own.
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


def _add_keystone(
    application: Application, configuration: cfg.ConfigOpts, open_paths: frozenset[str]
) -> Application:
    from keystonemiddleware import auth_token  # type: ignore[import-untyped]

    try:
        guarded = auth_token.AuthProtocol(application, {"oslo_config_config": configuration})
    except Exception as error:
        # Several libraries take part, and each has exceptions of its own.
        raise SettingsError(f"[keystone_authtoken] cannot be used: {error}") from error

    def choose(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("PATH_INFO") in open_paths:
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
