# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Names of types, for annotations only."""
from __future__ import annotations

import os
from typing import Any, Union

import numpy as np

Array = np.ndarray[Any, Any]
DType = np.dtype[Any]
Path = Union[str, "os.PathLike[str]"]
