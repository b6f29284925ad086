"""`together`: pieces of work that meet, so that what all of them ask is answered in one go.

For a device, which does many small things in the time of one. Every piece runs as if it were alone,
in a thread of its own, until it asks something. When all that are still at work have asked, the
questions of the kind that most of them ask are answered together, and those who asked go on. The
others wait until theirs is that kind, so that work that fell out of step comes into step again. The
order of the answers, and who is in them, depends on the work alone and not on time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from threading import Semaphore, Thread
from time import perf_counter
from typing import Any, Generic, TypeAlias, TypeVar

from gpproj.execute.parallel import check_jobs, workers_of
from gpproj.execute.progress import Progress
from gpproj.linalg import one_blas_thread

Item = TypeVar("Item")
Result = TypeVar("Result")

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
    return answer([question], {})[0] if member is None else member.ask(answer, question, kind)


def clock() -> float:
    """Return a time in seconds, to be compared with another of the same work.

    In a meeting it stands still while others are at work, and of the time that answers take it
    counts the share of this work.
    """
    member = _here.get()
    return perf_counter() if member is None else member.clock()


def together(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    n_jobs: int | None = 1,
    progress: str | None = None,
    *,
    at_once: int | None = None,
) -> list[Result]:
    """Return `function(item)` for every item, in their order, asking what they ask in one go.

    Parameters
    ----------
    function : callable
        May `ask`. What it changes outside itself (filters of warnings, say) it must have put back
        whenever it does.
    items : sequence
    n_jobs : int or None
        How many run at a time between two questions; -1 for all cores.
    progress : str, optional
        Show a `Progress` with this title.
    at_once : int, optional
        How many meet at most: the next ones meet when these are done. All when left out.

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
            with _meeting(function, items[first : first + size], workers_of(n_jobs)) as meeting:
                for ended in meeting.rounds():
                    display.step(before + ended)
                found += meeting.results()
    return found


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
                self._room.acquire()
                member.go_on()
            for _ in range(self._places):  # until nobody is inside
                self._room.acquire()
            self._room.release(self._places)
            failed = next((one.error for one in left if one.error is not None), None)
            if failed is not None:
                raise failed
            left = [one for one in left if not one.ended]
            answered = self._answer(left)
            yield len(self.members) - len(left)

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
    """Open a meeting; whoever has not ended when it closes is sent home."""
    meeting = _Meeting(function, items, places)
    try:
        yield meeting
    finally:
        for member in meeting.members:
            member.dismiss()


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
        self._waiting = self._dismissed = False
        work = copy_context().run
        self._thread = Thread(target=work, args=(self._work, function, item), daemon=True)

    def go_on(self) -> None:
        """Begin, or go on with the answer; the room has a place for it."""
        if self._waiting:
            self._waiting = False
            self._turn.release()
        else:
            self._thread.start()

    def dismiss(self) -> None:
        """End what waits for an answer; what is at work ends when it asks next."""
        self._dismissed = True
        if self._waiting:
            self._turn.release()
            self._thread.join()

    def ask(self, answer: Answer, question: Any, kind: Hashable) -> Any:
        """Leave the room with a question, and return with its answer."""
        self.kind, self.question = (answer, kind), question
        self.spent = self.clock()
        self._waiting = True
        self._room.release()
        if not self._dismissed:
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
        try:
            self.result = function(item)
        except _Dismissed:
            return
        except BaseException as error:
            self.error = error
        self.ended = True
        self._room.release()
