# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Quantizes floating-point weights."""
from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import InvalidArgument


def quantize(values: Any, axis: int | None = 0, bits: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Symmetric integers of reals: codes (int8) and scales (float32), so that codes * scales is near the values.

    `axis`: one scale for each index along it; None: one for all. `bits`: 8, or 4 for codes from -7 to 7.
    Codes are rounded half to even. A part of zeros has the scale 1.
    """
    if bits not in (4, 8):
        raise InvalidArgument(f"{bits} bits", "use 4 or 8")
    reals = np.asarray(values, np.float32)
    others = tuple(d for d in range(reals.ndim) if axis is None or d != axis % reals.ndim)
    most = np.abs(reals).max(axis=others, keepdims=True) if reals.size else np.zeros_like(reals)
    greatest = 2 ** (bits - 1) - 1
    scales = np.where(most > 0, most / greatest, 1).astype(np.float32)
    codes = np.clip(np.rint(reals / scales), -greatest, greatest).astype(np.int8)
    return codes, scales.reshape(-1)
