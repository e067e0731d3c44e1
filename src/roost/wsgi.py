"""The WSGI application that uwsgi, mod_wsgi and granian load as `roost.wsgi:application`.

Importing this module builds nothing: `LazyApplication` does that with the first request, in the
process that serves it. So a server may import it before it forks.
"""

from roost.assembly import LazyApplication, build_configured

application = LazyApplication(build_configured)
