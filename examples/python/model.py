# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Runs a quantized network from an ONNX file, times its layers, saves it and loads it again (docs/python.md)."""
import sys
import tempfile
import time

import numpy as np

import qgen

model = qgen.Model(sys.argv[1])
(name, (dtype, shape)), = model.inputs.items()
picture = np.random.default_rng(0).random([max(side, 1) for side in shape]).astype(dtype)
outputs = model.run({name: picture})
for step in sorted(model.profile({name: picture}), key=lambda step: -step.us)[:3]:
    print(f"{step.us:9.1f} us  {step.name}  {step.kernel}")

with tempfile.NamedTemporaryFile(suffix=".qgen") as file:
    model.save(file.name)
    began = time.perf_counter()
    again = qgen.Model(file.name, model.device)
    print(f"loaded again in {1e3 * (time.perf_counter() - began):.0f} ms")
    for output, values in again.run({name: picture}).items():
        assert np.array_equal(values, outputs[output])
