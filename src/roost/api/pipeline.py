"""The middleware in front of the application.

From the outside in: `RequestMiddleware`, proxy headers, CORS, Keystone. Middleware that is not
configured is neither imported nor called, because each takes longer than most requests.
"""

from roost.api.access.keystone import add_keystone, check_keystone_settings
from roost.api.http.messages import Application
from roost.api.http.path_set import NO_PATHS, PathSet
from roost.api.http.proxy_headers import ProxyHeaderFilter
from roost.api.http.request_middleware import RequestMiddleware
from roost.settings import Settings, library_configuration


def add_middleware(
    application: Application,
    settings: Settings,
    *,
    open_paths: PathSet,
    quiet_paths: PathSet,
) -> Application:
    """The application behind the middleware that is configured.

    `open_paths` need no token; requests to `quiet_paths` are logged at DEBUG.
    """
    configuration = library_configuration(settings)
    if settings.auth_strategy == "keystone":
        check_keystone_settings(settings)
        application = add_keystone(application, configuration, open_paths)
    if settings.cors_allowed_origins:
        from oslo_middleware import cors

        application = cors.CORS(application, configuration)
    if settings.parse_proxy_headers:
        from oslo_middleware import http_proxy_to_wsgi

        application = http_proxy_to_wsgi.HTTPProxyToWSGI(application, configuration)
        application = ProxyHeaderFilter(application)
    return RequestMiddleware(application, settings.url_prefix, quiet_paths)


def check_middleware(settings: Settings) -> None:
    """Raise the `SettingsError` that `add_middleware` would raise."""
    add_middleware(lambda *_: (), settings, open_paths=NO_PATHS, quiet_paths=NO_PATHS)
