"""The WSGI application that servers load as `placement.wsgi.api:application`.

Puppet copies this file to a folder of Apache's, so it refers to the rest by absolute names.
"""

from placement.wsgi import application

__all__ = ["application"]
