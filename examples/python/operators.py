# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""A linear layer in int8 with floats around it, compared with NumPy (docs/python.md)."""
import numpy as np

import qgen

rng = np.random.default_rng(0)
x = rng.standard_normal((32, 256)).astype(np.float32)
weight = rng.standard_normal((64, 256)).astype(np.float32)

dev = qgen.Device()
codes, scales = qgen.quantize(weight)  # int8, and a scale for each row
packed = dev.weight(codes)  # packed once, for all calls

input_scale = float(np.abs(x).max() / 127)
x8 = dev.q8ta_quantize(x, output_scale=input_scale)
y = dev.q8ta_linear_dequantize(x8, packed, scales, input_scale=input_scale, activation="relu")

expected = np.maximum(x @ weight.T, 0)
print(f"{dev.name}: {np.abs(y - expected).max() / expected.max():.1%} of the largest value off at most")
assert np.abs(y - expected).max() < 0.05 * expected.max()
