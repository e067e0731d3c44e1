"""roost: a placement service. It answers one question: where does this request fit?"""


def __getattr__(name: str) -> str:
    if name == "__version__":
        # Imported only now: it takes half of the time in which a command starts.
        import importlib.metadata

        return importlib.metadata.version("roost")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
