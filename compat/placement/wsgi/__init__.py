"""The WSGI application. Until 2025.1, tools named the function here; api.py has the object."""

from functools import partial

from placement.configuration import read_settings
from roost.assembly import LazyApplication, build_configured


def init_application() -> LazyApplication:
    """The service as configured. It is built with the first request, see `LazyApplication`."""
    return LazyApplication(partial(build_configured, read_settings))
