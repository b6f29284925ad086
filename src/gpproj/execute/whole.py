"""One display for work in several stages, into which the displays of the stages go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Self

from gpproj.execute import progress
from gpproj.execute.progress import Progress, time_text


class WholeProgress(Progress):
    """Show on standard error how far work in stages is, and the time left of all of them.

    A `Progress` that is opened inside a stage shows its steps here, and has no line of its own.

    Parameters
    ----------
    title : str
    seconds : mapping of str to float
        About how long each stage takes, in their order.
    enabled : bool
        False shows nothing.

    Examples
    --------
    >>> with WholeProgress("select", {"fit": 5.0, "search": 20.0}, enabled=False) as display:
    ...     with display.stage("fit"):
    ...         pass
    """

    def __init__(self, title: str, seconds: Mapping[str, float], *, enabled: bool = True) -> None:
        self._seconds = {name: max(float(one), 1e-3) for name, one in seconds.items()}
        super().__init__(title, PARTS, enabled=enabled)
        self._finished = 0.0
        self._stage: str | None = None

    def __enter__(self) -> Self:
        super().__enter__()
        if self._holds_screen:
            progress.whole = self
        return self

    def __exit__(self, *error: object) -> None:
        if self._holds_screen:
            progress.whole = None
        super().__exit__(*error)

    @property
    def _first_news(self) -> str:
        return ""

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Show that a stage begins, and when it ends that it is done."""
        self._stage = name
        self.part(0.0, "")
        try:
            yield
        finally:
            self._stage = None
        self._finished += self._seconds[name]

    def skip(self, name: str) -> None:
        """Leave out a stage that was done before, by work that is now resumed."""
        del self._seconds[name]

    def part(self, share: float, news: str, begun: float = 0.0) -> None:
        """Show how far the current stage is.

        Parameters
        ----------
        share : float
            From 0 to 1.
        news : str
        begun : float
            Share that was done before.
        """
        if self._bar is None or self._stage is None:
            return
        own, total = self._seconds[self._stage], sum(self._seconds.values())
        done = self._finished + own * share
        spent = self._elapsed()
        # What has been done says how fast the rest will be, the more the more of it there is.
        real = self._finished + own * (share - begun)
        pace = (spent + PRIOR_WEIGHT * total) / (real + PRIOR_WEIGHT * total)
        self._bar.update(
            self._bar.task_ids[0],
            completed=PARTS * done / total,
            news=f"{self._stage}{': ' if news else ''}{news}",
            left=f"{time_text(pace * (total - done))} left",
        )


PARTS = 1000
"""Parts of the line."""

PRIOR_WEIGHT = 0.05
"""Share of the expected time that has to pass before the pace counts as much as the expectation."""
