# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Runs qgen's programs: they compile, tune and quantize. Their errors become exceptions."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time
from typing import Sequence

from ._errors import Error, InvalidArgument, NotFound, SystemFailed


def find(name: str, named: str = "") -> str:
    """The path of a program: `named`, else $QGEN_<NAME>, such as $QGEN_TUNE for qgen-tune, else the one of PATH."""
    variable = {"qgen": "QGEN", "qgen-tune": "QGEN_TUNE", "qgen-model": "QGEN_MODEL"}[name]
    found = shutil.which(named or os.environ.get(variable, name))
    if not found:
        raise NotFound(f"there is no program {named or name}", f"install qgen's programs, or name one by ${variable}")
    return found


def shipped_templates(program: str) -> pathlib.Path | None:
    """The folder of lib/*.glsl that belongs to this qgen: $QGEN_TEMPLATES, or that of its installation."""
    named = os.environ.get("QGEN_TEMPLATES")
    folder = pathlib.Path(named) if named else pathlib.Path(program).resolve().parents[1] / "share/qgen/templates"
    return folder if folder.is_dir() else None


def run(command: Sequence[str | os.PathLike[str]]) -> str:
    """The standard output. Errors have the program's own words."""
    told = subprocess.run([os.fspath(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    if told.returncode != 0:
        raise error_of(os.fspath(command[0]), told.returncode, told.stderr or told.stdout)
    return told.stdout


def error_of(program: str, code: int, text: str) -> Error:
    """By the exit codes of qgen's programs: 2 for wrong arguments, others for the machine and for what failed."""
    kind = InvalidArgument if code == 2 else SystemFailed
    return kind(text.strip() or f"{pathlib.Path(program).name} ended with code {code}")


class Bar:
    """A progress bar on standard error: for terminals and notebooks, or if `wanted`."""

    WIDTH = 30

    def __init__(self, total: float, unit: str, wanted: bool | None = None) -> None:
        self._total, self._unit, self._length = max(total, 1e-9), unit, 0
        self._is_shown = (sys.stderr.isatty() or "ipykernel" in sys.modules) if wanted is None else wanted

    def show(self, done: float, text: str = "") -> None:
        """`done`: so many of the total."""
        if not self._is_shown:
            return
        full = min(round(self.WIDTH * done / self._total), self.WIDTH)
        line = f"[{'#' * full}{' ' * (self.WIDTH - full)}] {done:.0f} of {self._total:.0f} {self._unit} {text}"[:110]
        print("\r" + line.ljust(self._length), end="", file=sys.stderr, flush=True)
        self._length = len(line)

    def close(self) -> None:
        if self._is_shown and self._length:
            print(file=sys.stderr)


class Ticking:
    """A bar of the seconds that pass within `with`."""

    def __init__(self, seconds: float, wanted: bool | None = None) -> None:
        self._bar, self._seconds, self._began = Bar(seconds, "s", wanted), seconds, time.monotonic()
        self.text = ""  # behind the seconds
        self._is_done = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)

    def _tick(self) -> None:
        while not self._is_done.wait(0.1):
            self._bar.show(min(time.monotonic() - self._began, self._seconds), self.text)

    @property
    def left(self) -> float:
        """Seconds until the end; at least 0."""
        return max(self._seconds - (time.monotonic() - self._began), 0)

    def __enter__(self) -> Ticking:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_done.set()
        self._thread.join()
        self._bar.close()
