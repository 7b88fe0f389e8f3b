# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Tunes shipped operators, by the program qgen-tune."""
from __future__ import annotations

import os
import pathlib
import re
import tempfile
from typing import TYPE_CHECKING, Any, Mapping

from . import _programs
from ._device import _DTYPES, _word, as_numpy
from ._times import Time, Times

if TYPE_CHECKING:
    from ._types import Path

_ROW = re.compile(r"- \{id: (.+), us: ([0-9.e+-]+), low: ([0-9.e+-]+), high: ([0-9.e+-]+),")


def _default_store() -> str:
    """The store of this user, which qgen-tune uses unless it is given --out."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.environ.get("QGEN_TUNING_STORE") or os.path.join(cache, "qgen", "tuning.sqlite")


def tune(op: str, inputs: Mapping[str, Any], attributes: Mapping[str, Any] | None = None, *, budget: float = 20,
         store: Path = "", device: str = "", progress: bool | None = None, program: str = "") -> Times:
    """Measures the kernels of an operator for inputs of these shapes, for `budget` seconds. Gives a row for each.

    Every kernel is checked before it is timed, in a process of its own. Times go to the store: `dev.use_times(store)`
    chooses by them, `dev.times(store)` lists them. `progress`: whether a bar is shown; None: in terminals and
    notebooks.
    `program`: qgen-tune, or the tuner of your own operators; empty: $QGEN_TUNE, or qgen-tune of PATH.
    """
    command = [_programs.find("qgen-tune", program), "--operator", op, "--budget", str(budget)]
    for name, value in inputs.items():
        array = as_numpy(value, name)
        command += ["--shape", f"{name}={'x'.join(map(str, array.shape))}:{_DTYPES[array.dtype.name]}"]
    for name, value in (attributes or {}).items():
        command += ["--set", f"{name}={_word(value)}"]
    command += ["--store", os.fspath(store) or _default_store()]
    if device:
        command += ["--device", device]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "times.yaml"
        with _programs.Ticking(budget, progress):
            _programs.run([*command, "--out", out])
        text = out.read_text() if out.exists() else ""
    return Times(Time(kernel, float(us), float(low), float(high)) for kernel, us, low, high in _ROW.findall(text))
