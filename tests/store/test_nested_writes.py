"""A thread that begins a write inside its own write gets an error instead of a deadlock."""

import threading
from collections.abc import Callable, Iterator

import pytest

from roost.store.connection.database import NestedWrite
from roost.store.store import Store

HANG_SECONDS = 10


@pytest.fixture
def store(synchronised_url: str) -> Iterator[Store]:
    opened = Store.open(synchronised_url)
    yield opened
    opened.dispose()


def error_of(action: Callable[[], object]) -> BaseException | None:
    """The error of the action, which runs in a separate thread since it may hang."""
    raised: list[BaseException | None] = []

    def run() -> None:
        try:
            action()
            raised.append(None)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(HANG_SECONDS)
    assert not thread.is_alive(), "the thread waits for itself"
    return raised[0]


def test_a_write_inside_a_write_is_an_error(store: Store) -> None:
    def nested() -> None:
        with store.write(), store.write():
            pass

    assert isinstance(error_of(nested), NestedWrite)


def test_loading_the_tables_inside_a_write_is_an_error(store: Store) -> None:
    """A process that lost its row in roost_writers registers again, which is a write."""

    def reload() -> None:
        with store.write():
            store._writer.forget()
            store.load()

    assert isinstance(error_of(reload), NestedWrite)


def test_loading_inside_a_write_does_not_wait_for_a_thread_that_registers(store: Store) -> None:
    """The thread waits for the end of the write, so the write must not wait for the thread."""
    is_registering = threading.Event()

    def register() -> None:
        with store._writer._registration_lock:
            is_registering.set()
            with store._database.write():
                pass

    def reload() -> None:
        with store.write():
            store._writer.forget()
            threading.Thread(target=register, daemon=True).start()
            assert is_registering.wait(HANG_SECONDS)
            store.load()

    assert isinstance(error_of(reload), NestedWrite)


def test_a_thread_may_write_again_after_a_nested_write(store: Store) -> None:
    def nested_then_not() -> None:
        with pytest.raises(NestedWrite), store.write(), store.write():
            pass
        store.run(lambda tx: tx.trait_names.insert(["CUSTOM_ONE"]))

    assert error_of(nested_then_not) is None


def test_other_threads_wait_for_their_turn(store: Store) -> None:
    def write() -> None:
        store.run(lambda tx: tx.trait_names.insert(["CUSTOM_OTHER"]))

    threads = []
    with store.write() as transaction:
        transaction.trait_names.insert(["CUSTOM_FIRST"])
        threads.append(threading.Thread(target=write, daemon=True))
        threads[0].start()
        threads[0].join(0.1)
    threads[0].join(HANG_SECONDS)
    assert store.reads.has_names((), ["CUSTOM_FIRST", "CUSTOM_OTHER"])
