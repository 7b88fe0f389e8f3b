# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
# %% [markdown]
# # Quantize a model, and look at the error
# A float32 ONNX model becomes an int8 one. It needs the program qgen-model. Run this from the project's folder.

# %%
import pathlib
import tempfile

import numpy as np

import qgen

FOLDER = pathlib.Path("tests/runtime/models/graph/field_tests/symbolic_residual_add")
sample = np.load(FOLDER / "x.input.npy")
dev = qgen.Device()
model = qgen.Model(FOLDER / "model.onnx", dev)
(name, _), = model.inputs.items()
expected = model.run({name: sample})

# %% [markdown]
# ## Three choices of ranges
# The ratio of signal to quantization noise of each layer's input and weight, and of the model's outputs, in dB.

# %%
folder = tempfile.TemporaryDirectory()
ratios = {}
for method in ("minmax", "percentile", "entropy"):
    quantized = qgen.quantize_model(FOLDER / "model.onnx", f"{folder.name}/{method}.onnx", [sample], method=method)
    ratios[method] = quantized.outputs_db
    print(f"{method}: outputs {quantized.outputs_db:.1f} dB")
    for layer in quantized.layers:
        print(f"  {layer.op:8} input {layer.input_db:.1f} dB, weight {layer.weight_db:.1f} dB")

# %% [markdown]
# ## The error of the best one, element by element

# %%
best = max(ratios, key=lambda method: ratios[method])
got = qgen.Model(f"{folder.name}/{best}.onnx", dev).run({name: sample})
signal = sum(float((values.astype(np.float64) ** 2).sum()) for values in expected.values())
noise = sum(float(((got[output].astype(np.float64) - values) ** 2).sum()) for output, values in expected.items())
ratio = 10 * np.log10(signal / noise)
print(f"{best}: {ratio:.1f} dB, the largest error is "
      f"{max(np.abs(got[output] - values).max() for output, values in expected.items()):.4f}")
assert ratio > 20 and abs(ratio - ratios[best]) < 1
folder.cleanup()
