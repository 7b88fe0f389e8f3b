#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Writes ONNX's own node tests of quantization, of 8-bit operators and of convolutions, for onnx_node_test.cpp to run.

    tests/runtime/models/graph/write_onnx_node_tests.py tests/runtime/models/graph/onnx_node_tests

Debian's python3-onnx 1.12 generates them; it is needed here, and not to run them. A folder a test: model.onnx, its
inputs as NAME.input.npy, what must come out as NAME.output.npy. Weights, scales, zero points and bounds, which those tests have as
inputs, are NAME.constant.npy: an importer has to know them.
"""

import pathlib
import sys

import numpy as np
from onnx import TensorProto

BYTES = {TensorProto.UINT8, TensorProto.INT8}
HAVE_CONSTANTS = {"QuantizeLinear", "DequantizeLinear", "QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger",
                  "Conv", "ConvTranspose", "Clip"}
CONVOLUTIONS = {"Conv", "ConvTranspose"}


def cases():
    for name in ("float", "int", "bool", "object"):  # which python3-onnx 1.12 uses, and NumPy 1.24 has no more
        setattr(np, name, __builtins__.__dict__[name])
    np.random.seed(1)
    from onnx.backend.test.case.node import collect_testcases
    for case in collect_testcases(None):
        graph = case.model.graph
        has_bytes = any(value.type.tensor_type.elem_type in BYTES for value in [*graph.input, *graph.output])
        if has_bytes or graph.node[0].op_type in CONVOLUTIONS:
            yield case


def main():
    folder = pathlib.Path(sys.argv[1])
    for case in cases():
        graph = case.model.graph
        place = folder / case.name.removeprefix("test_")
        place.mkdir(parents=True, exist_ok=True)
        (place / "model.onnx").write_bytes(case.model.SerializeToString())
        inputs, outputs = case.data_sets[0]
        for i, (value, array) in enumerate(zip(graph.input, inputs)):
            is_constant = i > 0 and graph.node[0].op_type in HAVE_CONSTANTS
            np.save(place / f"{value.name}.{'constant' if is_constant else 'input'}.npy", array)
        for value, array in zip(graph.output, outputs):
            np.save(place / f"{value.name}.output.npy", array)


if __name__ == "__main__":
    main()
