"""The headers with which a proxy describes the client, before oslo.middleware believes them.

It puts their values into the WSGI environment as they are. From there they get into `location`,
links and the log. A value that no proxy would send is dropped, as if the header were not there.
"""

import re
from collections.abc import Iterable

from roost.api.http.messages import Application, Environ, StartResponse

_HOST = r"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?"
# Addresses, each perhaps with a port, or names that hide them.
_CLIENT = r'[0-9A-Za-z._:"\[\]%-]{1,100}'

# Two slashes at the beginning would make links lead to another host.
_FORMS = {
    "HTTP_X_FORWARDED_PROTO": re.compile("https?"),
    "HTTP_X_FORWARDED_HOST": re.compile(_HOST),
    "HTTP_X_FORWARDED_FOR": re.compile(rf"{_CLIENT}(?: *, *{_CLIENT}){{0,31}}"),
    "HTTP_X_FORWARDED_PREFIX": re.compile(r"(?:/[A-Za-z0-9._~%-]{1,200}){1,16}/?"),
}
_FORWARDED = "HTTP_FORWARDED"
# What oslo.middleware takes from the first element of `Forwarded`.
_FORWARDED_FORMS = {
    "proto": _FORMS["HTTP_X_FORWARDED_PROTO"],
    "host": _FORMS["HTTP_X_FORWARDED_HOST"],
    "for": re.compile(_CLIENT),
}
_FORWARDED_LENGTH_MAX = 4096


class ProxyHeaderFilter:
    """Drops what is malformed from the headers that `HTTPProxyToWSGI` believes."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        # Names of schemes are the same in any case. Links have the usual one.
        scheme = environ.get("HTTP_X_FORWARDED_PROTO")
        if scheme is not None:
            environ["HTTP_X_FORWARDED_PROTO"] = scheme.lower()
        for name, form in _FORMS.items():
            value = environ.get(name)
            if value is not None and not form.fullmatch(value):
                del environ[name]
        if not _is_well_formed(environ.get(_FORWARDED, "")):
            del environ[_FORWARDED]
        return self._application(environ, start_response)


def _is_well_formed(forwarded: str) -> bool:
    """Whether the first element, the one nearest to the client, is."""
    if len(forwarded) > _FORWARDED_LENGTH_MAX:
        return False
    pairs = (pair.partition("=") for pair in forwarded.partition(",")[0].split(";"))
    parameters = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return all(
        form.fullmatch(parameters[name])
        for name, form in _FORWARDED_FORMS.items()
        if parameters.get(name)
    )
