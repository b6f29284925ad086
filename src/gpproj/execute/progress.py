"""One way to show how far long work is: a live line on a terminal, silence in a log."""

from __future__ import annotations

import sys
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar

    from gpproj.execute.whole import WholeProgress

# Two live lines would overwrite each other, in whatever thread the second one is opened.
_screen = Lock()

whole: WholeProgress | None = None
"""The display of work in stages that holds the screen: others show their steps in it."""


class Progress:
    """Show on standard error how far a search is, what it found last and the time left.

    A terminal gets one live line, which is gone when the work ends. Anything else (a file, a pipe,
    a notebook) gets only what is announced. Inside another display, this package's or one of rich,
    it stays silent; inside a `WholeProgress` it shows its steps there.

    Parameters
    ----------
    title : str
    steps : int
        How many there are.
    done : int
        How many were done before, by the work that is now resumed: they cost no time here.
    enabled : bool
        False shows nothing and costs nothing.

    Examples
    --------
    >>> with Progress("forward search", steps=2, enabled=False) as display:
    ...     display.announce(f"about {time_text(40)}: 2 steps, 0.012 s an evaluation")
    ...     display.step(done=1, best="rm", error=0.412)
    """

    def __init__(self, title: str, steps: int, *, done: int = 0, enabled: bool = True) -> None:
        self._title = title
        self._steps = steps
        self._resumed = done
        self._enabled = enabled
        self._holds_screen = False
        self._console: Console | None = None  # None: silent
        self._bar: Bar | None = None  # None: not a terminal

    def __enter__(self) -> Self:
        self._holds_screen = self._enabled and _screen.acquire(blocking=False)
        if self._holds_screen:
            try:
                self._open()
            except BaseException:
                self._close()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._holds_screen:
            self._close()

    def announce(self, text: str) -> None:
        """Write one line that stays: what the work is going to cost, before it begins."""
        if self._console is not None:
            self._console.out(f"{self._title}: {text}", highlight=False)

    def step(self, done: int, best: str | None = None, error: float | None = None) -> None:
        """Show that a step is finished.

        Parameters
        ----------
        done : int
            How many steps are finished by now.
        best : str, optional
            What the step chose.
        error : float, optional
            The relative error that is left.
        """
        outer = whole if self._enabled and not self._holds_screen else None
        if self._bar is None and outer is None:
            return
        news = f"step {done} of {self._steps}"
        if error is not None:
            news += f", error {error:.3f}"
        if best is not None:  # last, where a narrow terminal cuts
            news += f", best {best}"
        if outer is not None:
            outer.part(done / self._steps, news, self._resumed / self._steps)
        if self._bar is None:
            return
        left = ""
        if self._resumed < done < self._steps:
            each = self._elapsed() / (done - self._resumed)
            left = f"{time_text(each * (self._steps - done))} left"
        self._bar.update(self._bar.task_ids[0], completed=done, news=news, left=left)

    @property
    def _first_news(self) -> str:
        return f"step {self._resumed} of {self._steps}"

    def _elapsed(self) -> float:
        return monotonic() - self._started

    def _open(self) -> None:
        # A live display of rich stands in for standard error. Its console is not ours, so that rich
        # itself would neither refuse our line nor keep it apart.
        if hasattr(sys.stderr, "rich_proxied_file"):
            return
        from rich.console import Console

        self._started = monotonic()
        # Notebooks are treated as logs: a live display there needs widgets.
        self._console = Console(stderr=True, force_jupyter=False)
        # Asked of the file too: rich takes FORCE_COLOR, common in automatic builds, for a terminal.
        if self._console.is_interactive and self._console.file.isatty():
            self._bar = self._live_line(self._console)  # known before it starts: see `__enter__`
            self._bar.start()

    def _live_line(self, console: Console) -> Bar:
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar
        from rich.table import Column

        whatever_is_left = Column(no_wrap=True, ratio=1)
        bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=10),
            TextColumn("{task.fields[news]}", markup=False, table_column=whatever_is_left),
            TimeElapsedColumn(),
            # At least one blank: rich does not widen a line that has an empty part.
            TextColumn("{task.fields[left]:1}", markup=False),
            console=console,
            refresh_per_second=4,
            transient=True,
            expand=True,
            # Standard output may go to a file, and what others print there must stay there.
            redirect_stdout=False,
        )
        bar.add_task(
            self._title,
            total=self._steps,
            completed=self._resumed,
            news=self._first_news,
            left="",
        )
        return bar

    def _close(self) -> None:
        try:
            if self._bar is not None:
                self._bar.stop()
        finally:
            self._console = self._bar = None
            self._holds_screen = False
            _screen.release()


def time_text(seconds: float) -> str:
    """Write a time as people say it, in its largest units.

    Examples
    --------
    >>> time_text(8.2), time_text(170), time_text(7800), time_text(54000)
    ('8 s', '3 min', '2 h 10 min', '15 h')
    """
    if round(seconds) < 60:
        return f"{round(seconds)} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    if hours == 0:
        return f"{minutes} min"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
