#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Writes models with one node of a language model into field_tests/, with inputs, and outputs computed in float64 by
NumPy from the text of ONNX and ONNX Runtime.

    apt-get install python3-onnx python3-numpy
    tests/runtime/models/graph/write_language_model_tests.py [NAME...]

The results are committed, so the tests need no such package.
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(__file__).parent / "field_tests"
TYPES = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "int64": TensorProto.INT64,
         "int32": TensorProto.INT32, "bool": TensorProto.BOOL}
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def write(name, nodes, inputs, outputs, constants=None, opset=23):
    """`inputs`, `outputs` and `constants` are arrays by name; integers are stored as qgen takes them, int32."""
    folder = FOLDER / name
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir(): old.unlink()

    def infos(arrays):
        return [helper.make_tensor_value_info(n, TYPES[a.dtype.name], a.shape) for n, a in arrays.items()]

    graph = helper.make_graph(nodes, name, infos(inputs), infos(outputs),
                              [numpy_helper.from_array(a, n) for n, a in (constants or {}).items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset),
                                                    helper.make_opsetid("com.microsoft", 1)])
    onnx.save(model, folder / "model.onnx")
    for role, arrays in (("input", inputs), ("output", outputs)):
        for n, a in arrays.items():
            np.save(folder / f"{n}.{role}.npy", {"int64": a.astype(np.int32), "bool": a.astype(np.uint8)}.get(a.dtype.name, a))


def reals(seed, *shape, low=-1.0, high=1.0, dtype=np.float32):
    return np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)


# ---- normalization ----------------------------------------------------------------------------------------------------

def rms(x, weight, epsilon):
    x = x.astype(np.float64)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight


def layer(x, weight, bias, epsilon):
    x = x.astype(np.float64) - x.astype(np.float64).mean(-1, keepdims=True)
    return rms(x, weight, epsilon) + bias


@case
def rms_normalization():
    x, weight = reals(1, 2, 3, 24, low=-3, high=5), reals(2, 24, low=0.5, high=2)
    node = helper.make_node("RMSNormalization", ["x", "w"], ["y"], epsilon=1e-6)
    return [node], {"x": x}, {"y": rms(x, weight, 1e-6).astype(np.float32)}, {"w": weight}


@case
def rms_normalization_of_halves():
    x, weight = reals(1, 5, 40, low=-3, high=5, dtype=np.float16), reals(2, 40, low=0.5, high=2, dtype=np.float16)
    node = helper.make_node("RMSNormalization", ["x", "w"], ["y"])
    return [node], {"x": x}, {"y": rms(x, weight, 1e-5).astype(np.float16)}, {"w": weight}


@case
def rms_normalization_of_two_axes():
    x, weight = reals(1, 2, 3, 8, low=-3, high=5), reals(2, 3, 8, low=0.5, high=2)
    y = rms(x.reshape(2, 24), weight.reshape(24), 1e-5).reshape(x.shape)
    return [helper.make_node("RMSNormalization", ["x", "w"], ["y"], axis=-2)], {"x": x}, {"y": y.astype(np.float32)}, {
        "w": weight}


@case
def rms_normalization_written_out():
    x, weight = reals(1, 2, 3, 24, low=-3, high=5), reals(2, 24, low=0.5, high=2)
    nodes = [helper.make_node("Pow", ["x", "two"], ["square"]),
             helper.make_node("ReduceMean", ["square"], ["mean"], axes=[-1]),
             helper.make_node("Add", ["mean", "epsilon"], ["sum"]), helper.make_node("Sqrt", ["sum"], ["root"]),
             helper.make_node("Reciprocal", ["root"], ["factor"]), helper.make_node("Mul", ["x", "factor"], ["normal"]),
             helper.make_node("Mul", ["w", "normal"], ["y"])]
    constants = {"w": weight, "two": np.float32(2), "epsilon": np.float32(1e-6)}
    return nodes, {"x": x}, {"y": rms(x, weight, 1e-6).astype(np.float32)}, {
        n: np.asarray(a) for n, a in constants.items()}, 17


@case
def skip_simplified_layer_normalization():
    x, skip, weight = reals(1, 2, 3, 24), reals(2, 2, 3, 24), reals(3, 24, low=0.5, high=2)
    node = helper.make_node("SkipSimplifiedLayerNormalization", ["x", "skip", "w"], ["y", "", "", "sum"],
                            domain="com.microsoft", epsilon=1e-5)
    total = x.astype(np.float64) + skip
    return [node], {"x": x, "skip": skip}, {"y": rms(total, weight, 1e-5).astype(np.float32),
                                            "sum": total.astype(np.float32)}, {"w": weight}, 17


@case
def skip_layer_normalization():
    x, skip = reals(1, 2, 3, 24), reals(2, 2, 3, 24)
    weight, beta, bias = reals(3, 24, low=0.5, high=2), reals(4, 24), reals(5, 24)
    node = helper.make_node("SkipLayerNormalization", ["x", "skip", "w", "beta", "bias"], ["y", "", "", "sum"],
                            domain="com.microsoft", epsilon=1e-5)
    total = x.astype(np.float64) + skip + bias
    return [node], {"x": x, "skip": skip}, {"y": layer(total, weight, beta, 1e-5).astype(np.float32),
                                            "sum": total.astype(np.float32)}, {"w": weight, "beta": beta, "bias": bias}, 17


@case
def skip_layer_normalization_of_one_skip():
    x, skip, weight = reals(1, 2, 3, 24), reals(2, 3, 24), reals(3, 24, low=0.5, high=2)
    node = helper.make_node("SkipLayerNormalization", ["x", "skip", "w"], ["y", "", "", "sum"], domain="com.microsoft",
                            epsilon=1e-5)
    total = x.astype(np.float64) + skip
    return [node], {"x": x, "skip": skip}, {"y": layer(total, weight, 0, 1e-5).astype(np.float32),
                                            "sum": total.astype(np.float32)}, {"w": weight}, 17


for chosen in sys.argv[1:] or sorted(CASES): write(chosen, *CASES[chosen]())
