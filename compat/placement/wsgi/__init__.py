"""The WSGI application, by the names that tools used until 2025.1; api.py has the newer one."""

from functools import partial

from placement.configuration import read_settings
from roost.assembly import LazyApplication, build_configured


def init_application() -> LazyApplication:
    """The service as configured. It is built with the first request, see `LazyApplication`."""
    return LazyApplication(partial(build_configured, read_settings))


application = init_application()
