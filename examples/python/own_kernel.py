# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
# %% [markdown]
# # A kernel of your own
# The largest element of each row, from the spec and the template of `examples/reduction`. It needs the program qgen and
# no C++ compiler. Run this from the project's folder.

# %%
import numpy as np

import qgen

own = qgen.load("examples/reduction/specs")  # compiles each variant; own.reload() after an edit
x = np.random.default_rng(0).standard_normal((512, 1000)).astype(np.float32)
arrays = {"input": x, "output": np.empty(512, np.float32)}
row_max = own["row_max"].bind(arrays, rows=512, columns=1000, scale=0.5)
row_max.check(lambda input: 0.5 * input.max(axis=1))  # against NumPy
print(row_max.time())
times = row_max.tune(lambda input: 0.5 * input.max(axis=1), budget=5)  # each kernel is checked, then timed
print(times)  # times.plot() draws them
y = row_max.run()["output"]  # by the fastest

# %% [markdown]
# ## Why other kernels do not fit

# %%
assert np.array_equal(y, 0.5 * x.max(axis=1))
assert not times.wrong
for kernel, why in row_max.refused.items():
    print(f"{kernel}: {why}")

# %% [markdown]
# ## A spec and a template as text

# %%
SPEC = """
operator: scale
summary: y = factor * x
template: scale.comp
operands:
  x: {access: read,  dtype: f32}
  y: {access: write, dtype: f32}
problem:
  numel: u32
  factor: f32
parameters:
  vec: [1, 4]
specialization:
  workgroup: [64, 256]
applies_when: [numel % vec == 0]
grid: [ceil_div(numel, vec * workgroup), 1, 1]
"""
TEMPLATE = """#version 450
${extensions()}
${local_size(workgroup)}
${declare(x, vec)}
${declare(y, vec)}
${declare_problem()}
void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i < problem.numel / ${vec}) y_data[i] = problem.factor * x_data[i];
}
"""
texts = qgen.load(SPEC, {"scale.comp": TEMPLATE})
v = np.arange(1000, dtype=np.float32)
scale = texts["scale"].bind({"x": v, "y": np.empty_like(v)}, numel=v.size, factor=3)
assert np.array_equal(scale.run()["y"], 3 * v)
print(scale.tune(lambda x: 3 * x, budget=2))
