"""Read-ahead: a thread reads the next part of a file while the last one is stored."""

import queue
import threading
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

T = TypeVar("T")

STOP_SECONDS = 0.2
WAIT_SECONDS = 5.0


def read_ahead(parts: Iterable[T], *, while_waiting: Callable[[], None]) -> Generator[T]:
    """The parts in order, each read before it is asked for; raises what reading them raises.

    `parts` must not ask the database. `while_waiting` is called every WAIT_SECONDS when the next part takes long. The
    thread ends when the generator is closed.
    """
    ready: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(1)
    stopped = threading.Event()

    def put(part: T | None, error: BaseException | None) -> bool:
        while not stopped.is_set():
            try:
                ready.put((part, error), timeout=STOP_SECONDS)
            except queue.Full:
                continue
            return True
        return False

    def read() -> None:
        try:
            for part in parts:
                if not put(part, None):
                    return
        except BaseException as error:
            put(None, error)
        else:
            put(None, StopIteration())

    thread = threading.Thread(target=read, name="reads ahead", daemon=True)
    thread.start()
    try:
        while True:
            try:
                part, error = ready.get(timeout=WAIT_SECONDS)
            except queue.Empty:
                while_waiting()
                continue
            if isinstance(error, StopIteration):
                return
            if error:
                raise error
            yield part  # type: ignore[misc]
    finally:
        stopped.set()
        thread.join()
