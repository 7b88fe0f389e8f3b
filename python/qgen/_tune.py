# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Tunes operators, by the program qgen-tune."""
from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any, Mapping

from ._device import _DTYPES, _word, as_numpy
from ._errors import NotFound, SystemFailed


def tune(op: str, inputs: Mapping[str, Any], attributes: Mapping[str, Any] | None = None, *, budget: float = 20,
         store: str = "", program: str = "") -> None:
    """Measures the kernels of an operator for inputs of these shapes, for `budget` seconds. Progress is printed.

    Times go to the store: `dev.use_times(store)` chooses by them, `dev.times(store)` lists them. `program`: qgen-tune, or
    the tuner of your own operators; empty: $QGEN_TUNE, or qgen-tune of PATH.
    """
    found = shutil.which(program or os.environ.get("QGEN_TUNE", "qgen-tune"))
    if not found:
        raise NotFound("there is no qgen-tune", "install qgen's programs, or name one by $QGEN_TUNE")
    command = [found, "--operator", op, "--budget", str(budget)]
    for name, value in inputs.items():
        array = as_numpy(value, name)
        command += ["--shape", f"{name}={'x'.join(map(str, array.shape))}:{_DTYPES[array.dtype.name]}"]
    for name, value in (attributes or {}).items():
        command += ["--set", f"{name}={_word(value)}"]
    if store:
        command += ["--store", str(store)]
    told = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if told.returncode != 0:
        raise SystemFailed(f"qgen-tune ended with code {told.returncode}: {told.stderr.strip()}")
