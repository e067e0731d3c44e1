"""/docs: a page for browsers that shows /openapi.json.

It is made of files of the console, and needs neither a token nor anything else of the service.
"""

import functools
import re
from collections.abc import Callable
from typing import Any

import falcon

from roost.api.http.messages import ROUTE
from roost.api.http.page_files import SECURITY_HEADERS, redirect, send_file
from roost.api.http.path_set import PathSet
from roost.api.http_error import HttpError, method_not_allowed
from roost.console import files, paths

PATHS = PathSet({paths.DOCS}, {f"{paths.DOCS}/"})
PATTERN = re.compile(rf"{paths.DOCS}(?:/|\Z)")
# A page loads several files.
QUIET_PATHS = PathSet(folders={paths.DOCS_STATIC})


def respond(req: falcon.Request, resp: falcon.Response, **_: Any) -> None:
    """Answer a request, as a sink of the framework, which gives the parameters their names."""
    # First, so that errors have them, too.
    resp.set_headers(SECURITY_HEADERS)
    send: Callable[[falcon.Request, falcon.Response], None]
    if req.path == paths.DOCS:
        route, send = paths.DOCS, functools.partial(send_file, files.docs_file())
    elif req.path == f"{paths.DOCS}/":
        route, send = paths.DOCS, _redirect
    else:
        file = files.static_files().get(req.path.removeprefix(paths.DOCS_STATIC))
        if file is None:
            raise HttpError(404)
        route, send = f"{paths.DOCS_STATIC}{{path}}", functools.partial(send_file, file)
    req.env[ROUTE] = route
    if req.method != "GET":
        raise method_not_allowed(["GET"])
    send(req, resp)


def _redirect(_: falcon.Request, response: falcon.Response) -> None:
    redirect(response, f"..{paths.DOCS}")
