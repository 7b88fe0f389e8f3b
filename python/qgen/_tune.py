# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Tunes shipped operators, by the program qgen-tune."""
from __future__ import annotations

import os
import pathlib
import re
import tempfile
from typing import TYPE_CHECKING, Any, Mapping, Sequence, Tuple, Union, overload

from . import _programs
from ._device import _DTYPES, _word, as_numpy
from ._errors import InvalidArgument
from ._times import Time, Times, TunedProblems

if TYPE_CHECKING:
    from ._types import Path

# An operator, its inputs, and its attributes.
Problem = Union[Tuple[str, Mapping[str, Any]], Tuple[str, Mapping[str, Any], Mapping[str, Any]]]

_ROW = re.compile(r"- \{id: (.+), us: ([0-9.e+-]+), low: ([0-9.e+-]+), high: ([0-9.e+-]+),")
_LEAST_BUDGET = 1  # of qgen-tune, in seconds


def _default_store() -> str:
    """The store of this user, which qgen-tune uses unless it is given --out."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache): cache = os.path.expanduser("~/.cache")
    return os.environ.get("QGEN_TUNING_STORE") or os.path.join(cache, "qgen", "tuning.sqlite")


@overload
def tune(problems: str, inputs: Mapping[str, Any], attributes: Mapping[str, Any] | None = None, *,
         budget: float = 20, store: Path = "", device: str = "", progress: bool | None = None,
         program: str = "") -> Times: ...


@overload
def tune(problems: Sequence[Problem], *, budget: float = 20, store: Path = "", device: str = "",
         progress: bool | None = None, program: str = "") -> TunedProblems: ...


def tune(problems: str | Sequence[Problem], inputs: Mapping[str, Any] | None = None,
         attributes: Mapping[str, Any] | None = None, *, budget: float = 20, store: Path = "", device: str = "",
         progress: bool | None = None, program: str = "") -> Times | TunedProblems:
    """Measures the kernels of an operator for inputs of these shapes, for `budget` seconds. Gives a row for each.

        rows = qgen.tune("softmax", {"input": x}, budget=10)
        tuned = qgen.tune([("softmax", {"input": x}), ("q8ta_relu", {"input": x8}, scales)], budget=60)

    `problems`: an operator; or a list of tuples: an operator, its inputs, and its attributes if it needs some. Then
    the budget is that of all of them, at least a second for each, and the result has the rows of each. Every kernel is checked before it is timed,
    in a process of its own. Times go to the store: `dev.use_times(store)` chooses by them, `dev.times(store)` lists
    them. `progress`: whether a bar is shown; None: in terminals and notebooks. `program`: qgen-tune, or the tuner of
    your own operators; empty: $QGEN_TUNE, or qgen-tune of PATH.
    """
    is_one = isinstance(problems, str)
    given: Sequence[Problem] = [(problems, inputs or {}, attributes or {})] if isinstance(problems, str) else problems
    if not is_one and (inputs or attributes):
        raise InvalidArgument("a list of problems has their inputs in it", 'qgen.tune([("softmax", {"input": x})])')
    command = [_programs.find("qgen-tune", program), "--store", os.fspath(store) or _default_store()]
    if device:
        command += ["--device", device]
    requests = [_request(*problem) for problem in given]
    tuned = TunedProblems()
    with _programs.Ticking(budget, progress) as ticking:
        for i, request in enumerate(requests):
            if not is_one:
                ticking.text = f"problem {i + 1} of {len(requests)}: {request[1]}"
            share = ticking.left / (len(requests) - i)
            tuned.append(_rows([*command, "--budget", f"{max(share, _LEAST_BUDGET):.1f}", *request],
                               " ".join(word for word in request if not word.startswith("--"))))
    return tuned[0] if is_one else tuned


def _request(op: str, inputs: Mapping[str, Any], attributes: Mapping[str, Any] | None = None) -> list[str]:
    """qgen-tune's arguments for a problem."""
    if not inputs:
        raise InvalidArgument(f"'{op}' is given no inputs", "their shapes are the problem")
    request = ["--operator", op]
    for name, value in inputs.items():
        array = as_numpy(value, name)
        request += ["--shape", f"{name}={'x'.join(map(str, array.shape))}:{_DTYPES[array.dtype.name]}"]
    for name, value in (attributes or {}).items():
        request += ["--set", f"{name}={_word(value)}"]
    return request


def _rows(command: list[str], problem: str) -> Times:
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "times.yaml"
        _programs.run([*command, "--out", out])
        text = out.read_text() if out.exists() else ""
    rows = (Time(kernel, float(us), float(low), float(high)) for kernel, us, low, high in _ROW.findall(text))
    return Times(rows, problem=problem)
