"""The parts of the site that are made from the code, each time the site is built.

hooks.py            what mkdocs calls
links.py            links from documents to files outside of docs/
drawings.py         pictures that follow the colours of the page
pages.py            all pages that are made
markdown.py         tables and blocks of Markdown
http_api.py         a page of routes for each noun of the API
schemas.py          a JSON schema as a table
catalog.py          microversions, error codes, options, policy rules, metrics
commands.py         the command line
client.py           the classes of the Python client
repository.py       files of the repository that are shown as pages
"""
