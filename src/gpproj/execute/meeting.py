"""`together`: pieces of work that meet, so that what all of them ask is answered in one go.

For a device, which does many small things in the time of one. Every piece runs as if it were alone,
in a thread of its own, until it asks something. When all that are still at work have asked, the
questions of the kind that most of them ask are answered together, and those who asked go on. The
others wait until theirs is that kind, so that work that fell out of step comes into step again. The
order of the answers, and who is in them, depends on the work alone and not on time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar, copy_context
from threading import Event, Semaphore, Thread, current_thread
from typing import Any, Generic, TypeAlias, TypeVar

from gpproj.execute.parallel import check_jobs, workers_of
from gpproj.execute.progress import Progress
from gpproj.execute.stopping import Stopped, check_stop, stoppable
from gpproj.linalg import one_blas_thread

Item = TypeVar("Item")
Result = TypeVar("Result")

NAP = 0.1
"""Seconds."""

Kept: TypeAlias = dict[str, Any]
"""What answers of one meeting keep for later ones."""

Answer: TypeAlias = Callable[[Sequence[Any], Kept], Sequence[Any]]
"""From questions of the same kind to as many answers."""

_here: ContextVar[_Member[Any, Any] | None] = ContextVar("_here", default=None)


def ask(answer: Answer, question: Any, kind: Hashable = None) -> Any:
    """Return the answer to a question; in a meeting, when the others have asked too.

    Parameters
    ----------
    answer : callable
        Answers questions of this kind, given what earlier answers of the meeting have kept.
    question : object
    kind : hashable
        Questions to the same answerer that take about as long, and are best answered together.

    Examples
    --------
    >>> def squares(numbers, kept):
    ...     return [number**2 for number in numbers]
    >>> ask(squares, 3)
    9
    """
    member = _here.get()
    if member is None or not member.is_here():
        return answer([question], {})[0]
    return member.ask(answer, question, kind)


def together(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    n_jobs: int | None = 1,
    progress: str | None = None,
    *,
    at_once: int | None = None,
    within: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> list[Result]:
    """Return `function(item)` for every item, in their order, asking what they ask in one go.

    An error of one item, or an interrupt from the keyboard, ends the others at their next question;
    the call returns when all have ended. What takes long without a question calls `check_stop`. A
    second interrupt does not wait for them.

    Parameters
    ----------
    function : callable
        May `ask`. What it changes outside itself (filters of warnings, say) it must have put back
        whenever it does, and it may then hold no lock that others want: before Python 3.12 a
        `cached_property` holds one for all instances while it is computed.
    items : sequence
    n_jobs : int or None
        How many run at a time between two questions; -1 for all cores.
    progress : str, optional
        Show a `Progress` with this title.
    at_once : int, optional
        How many meet at most: the next ones meet when these are done. All when left out.
    within : callable
        Makes a context for every thread of the work.

    Examples
    --------
    >>> def squares(numbers, kept):
    ...     print("asked of", numbers)
    ...     return [number**2 for number in numbers]
    >>> together(lambda number: ask(squares, number) + 1, [1, 2, 3])
    asked of [1, 2, 3]
    [2, 5, 10]
    """
    check_jobs(n_jobs)
    size = max(len(items) if at_once is None else at_once, 1)
    found: list[Result] = []
    # Held here for all: members open and close such blocks in no particular order.
    with (
        one_blas_thread(),
        Progress(progress or "", len(items), enabled=progress is not None) as display,
    ):
        for first in range(0, len(items), size):
            before = len(found)
            some = items[first : first + size]
            with _meeting(_inside(within, function), some, workers_of(n_jobs)) as meeting:
                for ended in meeting.rounds():
                    display.step(before + ended)
                found += meeting.results()
    return found


def _inside(
    within: Callable[[], AbstractContextManager[Any]], function: Callable[[Item], Result]
) -> Callable[[Item], Result]:
    def work(item: Item) -> Result:
        with within():
            return function(item)

    return work


class _Meeting(Generic[Item, Result]):
    """Members, the room they work in, and what their answers keep."""

    def __init__(
        self, function: Callable[[Item], Result], items: Sequence[Item], places: int
    ) -> None:
        self._places = places
        self._room = Semaphore(places)
        self._kept: Kept = {}
        self._closed = Event()
        self.members = [_Member(function, item, self._room, self._closed) for item in items]

    def rounds(self) -> Iterator[int]:
        """Let them go on and answer them, until all have ended; yield how many have."""
        left = answered = self.members
        while left:
            for member in answered:
                self._take_place(left)
                member.go_on()
            for _ in range(self._places):  # until nobody is inside
                self._take_place(left)
            self._room.release(self._places)
            left = [one for one in left if not one.ended]
            answered = self._answer(left)
            yield len(self.members) - len(left)

    def _take_place(self, members: Sequence[_Member[Item, Result]]) -> None:
        """Wait for a place in the room, and raise the error of whoever has left it by one.

        In short naps: this meeting may be inside another one, which was closed.
        """
        check_stop()
        while not self._room.acquire(timeout=NAP):
            check_stop()
        failed = next((one.error for one in members if one.error is not None), None)
        if failed is not None:
            raise failed

    def _answer(self, members: Sequence[_Member[Item, Result]]) -> list[_Member[Item, Result]]:
        """Answer the questions of the most frequent kind, the first of several; return of whom."""
        kinds: dict[Any, list[_Member[Item, Result]]] = {}
        for member in members:
            kinds.setdefault(member.kind, []).append(member)
        asking = max(kinds.values(), key=len, default=[])
        if asking:
            answer, _ = asking[0].kind
            answers = answer([member.question for member in asking], self._kept)
            for member, told in zip(asking, answers, strict=True):
                member.told = told
        return asking

    def results(self) -> list[Result]:
        return [member.result for member in self.members]

    def close(self) -> None:
        """End whoever has not ended, at their next question at the latest, and wait for them."""
        self._closed.set()  # before anybody is woken: they look at it then
        for member in self.members:
            member.wake()
        for member in self.members:
            member.wait()


@contextmanager
def _meeting(
    function: Callable[[Item], Result], items: Sequence[Item], places: int
) -> Iterator[_Meeting[Item, Result]]:
    """Open a meeting, and close it whatever happens."""
    meeting = _Meeting(function, items, places)
    try:
        yield meeting
    finally:
        meeting.close()


class _Member(Generic[Item, Result]):
    """One piece of work."""

    result: Result
    kind: tuple[Answer, Hashable]
    question: Any
    told: Any

    def __init__(
        self, function: Callable[[Item], Result], item: Item, room: Semaphore, closed: Event
    ) -> None:
        self.ended = False
        self.error: BaseException | None = None
        self._room, self._closed, self._turn = room, closed, Semaphore(0)
        self._begun = False
        work = copy_context().run
        self._thread = Thread(target=work, args=(self._work, function, item), daemon=True)

    def go_on(self) -> None:
        """Begin, or go on with the answer; the room has a place for it."""
        if self._begun:
            self._turn.release()
        else:
            self._begun = True
            self._thread.start()

    def wake(self) -> None:
        """Let it look at the flag, if it waits for an answer."""
        self._turn.release()

    def wait(self) -> None:
        """Wait until it has gone, in short naps: a second interrupt is heard in between."""
        while self._thread.is_alive():
            self._thread.join(NAP)

    def is_here(self) -> bool:
        """Say whether this is its thread: others may have its context."""
        return current_thread() is self._thread

    def ask(self, answer: Answer, question: Any, kind: Hashable) -> Any:
        """Leave the room with a question, and return with its answer."""
        check_stop()
        self.kind, self.question = (answer, kind), question
        self._room.release()
        self._turn.acquire()
        check_stop()
        told, self.question, self.told = self.told, None, None
        return told

    def _work(self, function: Callable[[Item], Result], item: Item) -> None:
        _here.set(self)
        with suppress(Stopped), stoppable(self._closed):
            check_stop()
            try:
                self.result = function(item)
            except Stopped:
                raise
            except BaseException as error:
                self.error = error
            self.ended = True
            self._room.release()
