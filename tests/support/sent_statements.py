"""Says what a store sends to its database, also where that goes past the engine."""

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, event

from roost.store import at_once_writer
from roost.store.connection.statements import STATEMENT_END, Write

# Takes the text of each message, in which statements may follow each other.
Tell = Callable[[str], None]

_listeners: WeakKeyDictionary[Engine, list[Tell]] = WeakKeyDictionary()
_module: Any = at_once_writer
_send_past_engine = _module.send_past_engine


def listen(engine: Engine, tell: Tell) -> None:
    """Tell from now on what is sent through this engine, or past it."""

    def execute(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        # An error that occurred past the engine has no text.
        if statement:
            tell(statement)

    event.listen(engine, "before_cursor_execute", execute)
    _listeners.setdefault(engine, []).append(tell)


def _send(connection: Connection, writes: Sequence[Write]) -> None:
    for tell in _listeners.get(connection.engine, ()):
        tell(STATEMENT_END.join([write.text for write in writes]))
    _send_past_engine(connection, writes)


_module.send_past_engine = _send
