"""roost: a placement service. It answers one question: where does this request fit?"""

import importlib.metadata

__version__ = importlib.metadata.version("roost")
