"""The console: pages for browsers, served by the service itself. They use its HTTP API alone.

paths.py   where the console is
files.py   what `static/` holds, as it is sent
login.py   a name and a password for a token of Keystone
static/    the pages: ES modules and style sheets, which are sent as they are

`roost.api.console` answers requests with it.
"""
