"""Sets of paths that middleware and servers treat alike, such as those that need no token."""

from collections.abc import Iterable


class PathSet:
    """Some paths, and everything below some folders, whose names end with a slash."""

    def __init__(self, paths: Iterable[str] = (), folders: Iterable[str] = ()) -> None:
        self._paths = frozenset(paths)
        self._folders = tuple(folders)

    def __contains__(self, path: str) -> bool:
        return path in self._paths or path.startswith(self._folders)

    def __or__(self, other: "PathSet") -> "PathSet":
        return PathSet(self._paths | other._paths, {*self._folders, *other._folders})


NO_PATHS = PathSet()
