# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Shows which kernel is chosen and why, and that another kernel gives the same bits (docs/python.md)."""
import re

import numpy as np

import qgen

dev = qgen.Device()
x = np.arange(-128, 128, dtype=np.int8).reshape(4, 64)
scales = {"input_scale": 0.5, "output_scale": 0.25}
told = dev.explain("q8ta_relu", {"input": x}, scales)
print(told)

kernels = re.findall(r"q8ta_unary\.[\w./]+", told)
best = dev.q8ta_relu(x, **scales)
for kernel in kernels:
    other = dev.run("q8ta_relu", {"input": x}, scales, kernel=kernel)["output"]
    assert np.array_equal(best, other), kernel
print(f"{len(kernels)} kernels give the same bits")
