"""Where pages for browsers are, below the address of the API."""

ROOT = "/console"
HOME = f"{ROOT}/"
SESSION = f"{ROOT}/session"
TOKEN = f"{ROOT}/token"
STATIC = f"{ROOT}/static/"

# Pages are paths, so that each has an address that can be sent to a colleague. All of them are the
# same document, which looks at its address.
PAGES = ("cloud", "tree", "ask", "consumers", "events", "service")
PAGE_PATHS = frozenset({HOME, *(f"{ROOT}/{page}" for page in PAGES)})

# The page that shows the OpenAPI document, and the files of both.
DOCS = "/docs"
DOCS_STATIC = f"{DOCS}/static/"
