#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Writes tests of nodes that ONNX Runtime's optimizations join, for onnx_node_test.cpp to run.

    tests/runtime/models/graph/write_optimized_node_tests.py tests/runtime/models/graph/field_tests

The outputs are computed here, from the definitions in ONNX Runtime's docs/ContribOperators.md. A folder a test: model.onnx,
its inputs as NAME.input.npy and its outputs as NAME.output.npy.
"""
import math
import pathlib
import sys

import numpy as np
from onnx import helper, numpy_helper

random = np.random.default_rng(11)


def reals(*shape, low=-3, high=3):
    return random.uniform(low, high, shape).astype(np.float32)


def write(name, op, inputs, outputs, constants=(), **attributes):
    """`inputs` and `outputs`: arrays by name; an input that `constants` names is an initializer; None: it is left out."""
    node = helper.make_node(op, [key if array is not None else "" for key, array in inputs.items()],
                            list(outputs), name=name, domain="com.microsoft", **attributes)
    kind = {np.dtype("float32"): 1, np.dtype("uint8"): 2, np.dtype("int8"): 3, np.dtype("int32"): 6}
    tell = lambda arrays: [helper.make_tensor_value_info(key, kind[array.dtype], array.shape) for key, array in arrays]
    given = [(key, array) for key, array in inputs.items() if array is not None]
    graph = helper.make_graph([node], name, tell(pair for pair in given if pair[0] not in constants),
                              tell(outputs.items()),
                              [numpy_helper.from_array(array, key) for key, array in given if key in constants])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17),
                                                                 helper.make_opsetid("com.microsoft", 1)])
    place = pathlib.Path(sys.argv[1]) / name
    place.mkdir(parents=True, exist_ok=True)
    (place / "model.onnx").write_bytes(model.SerializeToString())
    for key, array in given:
        if key not in constants: np.save(place / f"{key}.input.npy", array)
    for key, array in outputs.items(): np.save(place / f"{key}.output.npy", array)


def gelu(x):
    return (x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))).astype(np.float32)


def fast_gelu(x):
    return (x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))).astype(np.float32)


def functions():
    x, bias = reals(2, 3, 8, low=-2, high=2), reals(8, low=-1, high=1)
    write("optimized_gelu", "Gelu", {"x": x}, {"y": gelu(x)})
    write("optimized_bias_gelu", "BiasGelu", {"x": x, "bias": bias}, {"y": gelu(x + bias)}, ["bias"])
    write("optimized_fast_gelu", "FastGelu", {"x": x}, {"y": fast_gelu(x)})
    write("optimized_fast_gelu_of_a_sum", "FastGelu", {"x": x, "bias": bias}, {"y": fast_gelu(x + bias)}, ["bias"])
    for name, alpha in ("optimized_quick_gelu", 1.702), ("optimized_quick_gelu_of_one", 1.0):
        write(name, "QuickGelu", {"x": x}, {"y": (x / (1 + np.exp(-alpha * x))).astype(np.float32)}, alpha=alpha)


def products():
    a, b = reals(2, 3, 4, 5), reals(2, 3, 5, 6)
    swap = lambda x: np.ascontiguousarray(x.swapaxes(-1, -2))
    move = lambda x: np.ascontiguousarray(np.moveaxis(x, -2, 0))  # its rows in front of the batches
    y = a @ b
    write("optimized_matmul_scaled", "FusedMatMul", {"a": a, "b": b}, {"y": np.float32(0.25) * y}, alpha=0.25)
    write("optimized_matmul_of_turned", "FusedMatMul", {"a": swap(a), "b": swap(b)}, {"y": y}, transA=1, transB=1)
    write("optimized_matmul_of_moved", "FusedMatMul", {"a": move(a), "b": move(b)}, {"y": y}, transBatchA=1,
          transBatchB=1)
    write("optimized_matmul_of_moved_and_turned", "FusedMatMul", {"a": move(swap(a)), "b": swap(b)}, {"y": -y}, alpha=-1.0,
          transA=1, transBatchA=1, transB=1)


def integer_products():
    x, w = random.integers(0, 256, (3, 16)).astype(np.uint8), random.integers(-128, 128, (16, 5)).astype(np.int8)
    x_zero, w_zero, bias = np.array(120, np.uint8), random.integers(-9, 9, 5).astype(np.int8), reals(5)
    x_scale, w_scale = np.array(0.03, np.float32), reals(5, low=0.01, high=0.02)
    sums = (x.astype(np.int32) - x_zero) @ (w.astype(np.int32) - w_zero)
    y = sums * (x_scale * w_scale)
    parts = {"x": x, "w": w, "x_scale": x_scale, "w_scale": w_scale, "x_zero": x_zero, "w_zero": w_zero}
    constants = ["w", "x_scale", "w_scale", "x_zero", "w_zero", "bias"]
    write("optimized_integer_matmul", "MatMulIntegerToFloat", parts, {"y": y.astype(np.float32)}, constants)
    write("optimized_integer_matmul_of_a_sum", "MatMulIntegerToFloat", {**parts, "bias": bias},
          {"y": (y + bias).astype(np.float32)}, constants)

    reals_of_x = reals(3, 16)
    low, high = min(reals_of_x.min(), 0), max(reals_of_x.max(), 0)
    scale = np.float32((high - low) / np.float32(255))
    zero = np.clip(np.rint(-low / scale), 0, 255)
    codes = np.clip(np.rint(reals_of_x / scale) + zero, 0, 255)
    sums = (codes - zero) @ (w.astype(np.float64) - w_zero)
    y = sums * (scale * w_scale)
    write("optimized_dynamic_matmul", "DynamicQuantizeMatMul",
          {"x": reals_of_x, "w": w, "w_scale": w_scale, "w_zero": w_zero, "bias": bias},
          {"y": (y + bias).astype(np.float32)}, ["w", "w_scale", "w_zero", "bias"])
    write("optimized_dynamic_matmul_of_no_zero_point", "DynamicQuantizeMatMul",
          {"x": reals_of_x, "w": w, "w_scale": w_scale, "w_zero": None},
          {"y": ((codes - zero) @ w.astype(np.float64) * (scale * w_scale)).astype(np.float32)}, ["w", "w_scale"])


def embeddings():
    ids, segments = random.integers(0, 9, (2, 4)).astype(np.int32), random.integers(0, 2, (2, 4)).astype(np.int32)
    words, places, kinds = reals(9, 8), reals(6, 8), reals(2, 8)
    gamma, beta = reals(8), reals(8)
    constants = ["words", "places", "kinds", "gamma", "beta"]

    def normalized(x):
        mean = x.mean(-1, keepdims=True)
        return ((x - mean) / np.sqrt(((x - mean)**2).mean(-1, keepdims=True) + 1e-5) * gamma + beta).astype(np.float32)

    tables = {"words": words, "places": places}
    norm = {"gamma": gamma, "beta": beta}
    mask = np.array([[1, 2, 1, 0], [1, 1, 0, -1]], np.int32)  # ones count
    total = words[ids] + places[:4] + kinds[segments]
    write("optimized_embedding", "EmbedLayerNormalization",
          {"ids": ids, "segments": segments, **tables, "kinds": kinds, **norm, "mask": mask},
          {"y": normalized(total), "lengths": (mask == 1).sum(1).astype(np.int32), "sum": total}, constants, epsilon=1e-5)
    positions = random.integers(0, 6, (2, 4)).astype(np.int32)
    write("optimized_embedding_of_positions", "EmbedLayerNormalization",
          {"ids": ids, "segments": None, **tables, "kinds": None, **norm, "mask": None, "positions": positions},
          {"y": normalized(words[ids] + places[positions]), "lengths": np.zeros(2, np.int32)}, constants, epsilon=1e-5)


functions()
products()
integer_products()
embeddings()
