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
from ctypes import c_ulong, py_object, pythonapi
from threading import Semaphore, Thread, current_thread
from time import perf_counter
from typing import Any, Generic, TypeAlias, TypeVar

from gpproj.execute.parallel import check_jobs, workers_of
from gpproj.execute.progress import Progress
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


def clock() -> float:
    """Return a time in seconds, to be compared with another of the same work.

    In a meeting it stands still while others are at work, and of the time that answers take it
    counts the share of this work.
    """
    member = _here.get()
    return perf_counter() if member is None or not member.is_here() else member.clock()


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
        self.members = [_Member(function, item, self._room) for item in items]

    def rounds(self) -> Iterator[int]:
        """Let them go on and answer them, until all have ended; yield how many have."""
        left = answered = self.members
        while left:
            for member in answered:
                self._take_place()
                self._check(left)
                member.go_on()
            for _ in range(self._places):  # until nobody is inside
                self._take_place()
            self._room.release(self._places)
            self._check(left)
            left = [one for one in left if not one.ended]
            answered = self._answer(left)
            yield len(self.members) - len(left)

    def _take_place(self) -> None:
        """Wait for a place in the room, in short naps: in between, this thread can be dismissed."""
        while not self._room.acquire(timeout=NAP):
            pass

    def _check(self, members: Sequence[_Member[Item, Result]]) -> None:
        """Raise the first error of those that have failed."""
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
            began = perf_counter()
            answers = answer([member.question for member in asking], self._kept)
            share = (perf_counter() - began) / len(asking)
            for member, told in zip(asking, answers, strict=True):
                member.told = told
                member.spent += share
        return asking

    def results(self) -> list[Result]:
        return [member.result for member in self.members]


@contextmanager
def _meeting(
    function: Callable[[Item], Result], items: Sequence[Item], places: int
) -> Iterator[_Meeting[Item, Result]]:
    """Open a meeting; whoever has not ended when it closes is sent home, and waited for."""
    meeting = _Meeting(function, items, places)
    try:
        yield meeting
    finally:
        for member in meeting.members:
            member.dismiss()
        for member in meeting.members:
            member.wait()


class _Dismissed(BaseException):
    """The meeting was closed: nobody will answer any more."""


class _Member(Generic[Item, Result]):
    """One piece of work."""

    result: Result
    kind: tuple[Answer, Hashable]
    question: Any
    told: Any

    def __init__(self, function: Callable[[Item], Result], item: Item, room: Semaphore) -> None:
        self.ended = False
        self.spent = 0.0
        self._since = 0.0
        self.error: BaseException | None = None
        self._room, self._turn = room, Semaphore(0)
        self._begun = self._waiting = self._dismissed = False
        work = copy_context().run
        self._thread = Thread(target=work, args=(self._work, function, item), daemon=True)

    def go_on(self) -> None:
        """Begin, or go on with the answer; the room has a place for it."""
        if self._begun:
            self._waiting = False
            self._turn.release()
        else:
            self._begun = True
            self._thread.start()

    def dismiss(self) -> None:
        """End what waits for an answer; what is at work is interrupted."""
        self._dismissed = True
        at_work = self._thread.is_alive() and not (self._waiting or self.ended)
        self._turn.release()
        ident = self._thread.ident
        if at_work and ident is not None:
            pythonapi.PyThreadState_SetAsyncExc(c_ulong(ident), py_object(_Dismissed))

    def wait(self) -> None:
        """Wait until it has gone."""
        if self._thread.ident is not None:
            self._thread.join()

    def is_here(self) -> bool:
        """Say whether this is its thread: others may have its context."""
        return current_thread() is self._thread

    def ask(self, answer: Answer, question: Any, kind: Hashable) -> Any:
        """Leave the room with a question, and return with its answer."""
        self.kind, self.question = (answer, kind), question
        self.spent = self.clock()
        self._waiting = True
        self._room.release()
        self._turn.acquire()
        if self._dismissed:
            raise _Dismissed
        told, self.question, self.told = self.told, None, None
        self._since = perf_counter()
        return told

    def clock(self) -> float:
        """Return the seconds of its own work and of its shares of answers."""
        return self.spent + perf_counter() - self._since

    def _work(self, function: Callable[[Item], Result], item: Item) -> None:
        _here.set(self)
        self._since = perf_counter()
        with suppress(_Dismissed):
            try:
                self.result = function(item)
            except _Dismissed:
                raise
            except BaseException as error:
                self.error = error
            self.ended = True
            self._room.release()
