# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
# %% [markdown]
# # Operators and models
# A linear layer in int8, compared with NumPy, and a network from an ONNX file. Run this from the project's folder.

# %%
import pathlib
import tempfile
import time

import numpy as np

import qgen

dev = qgen.Device()
print(dev.name)

# %% [markdown]
# ## An operator
# Weights are packed once. `x8` and `y` are arrays; `dev.tensor()` and `keep=True` give tensors that stay on the device.

# %%
rng = np.random.default_rng(0)
x = rng.standard_normal((32, 256)).astype(np.float32)
weight = rng.standard_normal((64, 256)).astype(np.float32)
codes, scales = qgen.quantize(weight)  # int8, and a scale for each row
packed = dev.weight(codes)

input_scale = float(np.abs(x).max() / 127)
x8 = dev.q8ta_quantize(x, output_scale=input_scale)
y = dev.q8ta_linear_dequantize(x8, packed, scales, input_scale=input_scale, activation="relu")

expected = np.maximum(x @ weight.T, 0)
print(f"{np.abs(y - expected).max() / expected.max():.1%} of the largest value off at most")
assert np.abs(y - expected).max() < 0.05 * expected.max()

# %% [markdown]
# ## Its kernels, and measured times
# `tune()` measures them in processes of their own. It gives a row for each, and `times.plot()` draws them.

# %%
with tempfile.TemporaryDirectory() as folder:
    store = pathlib.Path(folder) / "times.sqlite"
    times = qgen.tune("q8ta_quantize", {"input": x}, {"output_scale": input_scale}, budget=3, store=store)
    dev.use_times(store)
print(times)
assert times.best.us > 0

# %% [markdown]
# ## A model
# The three slowest layers, measured one by one. A saved model loads in milliseconds on the same device.

# %%
model = qgen.Model("examples/picture/scenes.onnx", dev)
(name, (dtype, shape)), = model.inputs.items()
picture = rng.random([max(side, 1) for side in shape]).astype(dtype)
outputs = model.run({name: picture})
for step in sorted(model.profile({name: picture}), key=lambda step: -step.us)[:3]:
    print(f"{step.us:9.1f} us  {step.name}  {step.kernel}")

with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / "scenes.qgen"
    model.save(file)
    began = time.perf_counter()
    again = qgen.Model(file, dev)
    print(f"loaded again in {1e3 * (time.perf_counter() - began):.0f} ms")
    for output, values in again.run({name: picture}).items():
        assert np.array_equal(values, outputs[output])
