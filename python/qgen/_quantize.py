# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Quantizes floating-point weights, and models."""
from __future__ import annotations

import os
import pathlib
import re
import tempfile
from typing import TYPE_CHECKING, Any, Iterable, Mapping, NamedTuple, Sequence

import numpy as np

from . import _programs
from ._errors import InvalidArgument

if TYPE_CHECKING:
    from ._types import Array, Path


def quantize(values: Any, axis: int | None = 0, bits: int = 8) -> tuple[Array, Array]:
    """Symmetric integers of reals: codes (int8) and scales (float32), so that codes * scales is near the values.

    `axis`: one scale for each index along it; None: one for all. `bits`: 8, or 4 for codes from -7 to 7.
    Codes are rounded half to even. A part of zeros has the scale 1.

    Errors: qgen.InvalidArgument, if a value is not finite.
    """
    if bits not in (4, 8):
        raise InvalidArgument(f"{bits} bits", "use 4 or 8")
    try:
        with np.errstate(over="ignore"):
            reals = np.asarray(values, np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"the values are no array of numbers: {error}") from None
    if not np.isfinite(reals).all():
        raise InvalidArgument("a value is NaN or infinite, or too large for float32")
    others = tuple(d for d in range(reals.ndim) if axis is None or d != axis % reals.ndim)
    most = np.abs(reals).max(axis=others, keepdims=True) if reals.size else np.zeros_like(reals)
    greatest = 2 ** (bits - 1) - 1
    scales = np.where(most > 0, most / greatest, 1).astype(np.float32)
    codes = np.clip(np.rint(reals / scales), -greatest, greatest).astype(np.int8)
    return codes, scales.reshape(-1)


class Layer(NamedTuple):
    """A quantized layer, with the signal-to-quantization-noise ratio in dB of its input and of its weight."""

    name: str
    op: str
    input_db: float
    weight_db: float


class Quantized(NamedTuple):
    """A model that was quantized: its file, its layers, and the ratio in dB of its outputs over all samples."""

    file: pathlib.Path
    layers: list[Layer]
    outputs_db: float


def _write_samples(samples: Iterable[Any], folder: pathlib.Path) -> None:
    for i, sample in enumerate(samples):
        if isinstance(sample, Mapping):
            (folder / f"{i:06}").mkdir()
            for name, array in sample.items():
                np.save(folder / f"{i:06}" / f"{name}.npy", array)
        else:
            np.save(folder / f"{i:06}.npy", sample)


def quantize_model(file: Path, out: Path, samples: Iterable[Any], *,
                   method: str = "minmax", keep: Sequence[str] = (), options: Sequence[str] = (),
                   program: str = "") -> Quantized:
    """Writes a float32 ONNX model as an int8 one, and gives the noise that each layer adds (docs/models.md).

    `samples`: arrays of the input, or dictionaries of arrays by input. `method`: minmax, percentile or entropy. `keep`:
    nodes that stay in floating point. `options`: further ones of `qgen-model quantize`. `program`: qgen-model; empty:
    $QGEN_MODEL, or qgen-model of PATH.
    """
    command = [_programs.find("qgen-model", program), "quantize", os.fspath(file), "-o", os.fspath(out)]
    command += ["--method", method]
    command += [word for node in keep for word in ("--keep", node)]
    with tempfile.TemporaryDirectory() as folder:
        _write_samples(samples, pathlib.Path(folder))
        text = _programs.run([*command, "--calibrate", folder, *options])
    rows = re.findall(r"^(.*?) +(\w+) +(-?[\d.]+|inf|-) +(-?[\d.]+|inf|-)$", text, re.MULTILINE)
    outputs = re.search(r"^outputs, all samples: (\S+) dB", text, re.MULTILINE)
    layers = [Layer(name.strip(), op, _decibels(x), _decibels(w)) for name, op, x, w in rows]
    return Quantized(pathlib.Path(out), layers, _decibels(outputs.group(1)) if outputs else float("nan"))


def _decibels(text: str) -> float:
    return float("nan") if text == "-" else float(text)
