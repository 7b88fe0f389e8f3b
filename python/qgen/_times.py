# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Times of kernels: rows that print, and that are drawn if matplotlib is there."""
from __future__ import annotations

import importlib
from typing import Any, NamedTuple

from ._errors import NotFound


class Time(NamedTuple):
    """A kernel, the median of its times in microseconds, and the range of its times."""

    kernel: str
    us: float
    low: float
    high: float


def _us_of(row: Time) -> float:
    return row.us


class Times(list[Time]):
    """Rows of Time, the fastest first. `wrong`: why kernels were left out, by their ids. `problem`: its name."""

    def __init__(self, rows: Any = (), wrong: dict[str, str] | None = None, problem: str = "") -> None:
        super().__init__(sorted(rows, key=_us_of))
        self.wrong = wrong or {}
        self.problem = problem

    @property
    def best(self) -> Time:
        """Errors: qgen.NotFound, if no kernel was measured."""
        if not self:
            reasons = "; ".join(f"{kernel}: {why}" for kernel, why in self.wrong.items())
            raise NotFound("no kernel was measured", reasons)
        return self[0]

    def __str__(self) -> str:
        lines = [f"{row.us:12.2f} us  {row.low:.2f} to {row.high:.2f}  {row.kernel}" for row in self]
        return "\n".join(lines + [f"{'left out':>15}  {kernel}: {why}" for kernel, why in self.wrong.items()])

    def plot(self, axes: Any = None) -> Any:
        """Draws a bar for each kernel, with the range of its times. Gives matplotlib's axes.

        Errors: qgen.NotFound, if matplotlib is not installed.
        """
        axes = axes or _pyplot().subplots(figsize=(8, _inches(self)), layout="constrained")[1]
        ranges = [[row.us - row.low for row in self], [row.high - row.us for row in self]]
        axes.barh([row.kernel for row in self], [row.us for row in self], xerr=ranges)
        axes.invert_yaxis()
        axes.set_xlabel("microseconds")
        axes.set_title(self.problem)
        return axes


class TunedProblems(list[Times]):
    """The Times of each problem, in the order in which the problems were given."""

    def __str__(self) -> str:
        return "\n".join(f"{times.problem}\n{times}" for times in self)

    def plot(self) -> Any:
        """Draws the bars of each problem, one below the other. Gives matplotlib's axes, one for each problem.

        Errors: qgen.NotFound, if matplotlib is not installed.
        """
        heights = [_inches(times) for times in self]
        _, axes = _pyplot().subplots(len(self), figsize=(8, sum(heights)), height_ratios=heights, squeeze=False,
                                     layout="constrained")
        return [times.plot(of) for times, of in zip(self, axes[:, 0])]


def _pyplot() -> Any:
    try:
        return importlib.import_module("matplotlib.pyplot")
    except ImportError:
        raise NotFound("there is no matplotlib", "pip install matplotlib, or print the rows") from None


def _inches(times: Times) -> float:
    return 0.3 * len(times) + 1
