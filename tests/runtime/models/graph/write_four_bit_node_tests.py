#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Writes node tests of integers of four bits, of blocks and of products, for onnx_node_test.cpp to run.

    tests/runtime/models/graph/write_four_bit_node_tests.py tests/runtime/models/graph/four_bit_node_tests

These are not ONNX's own. ONNX has such tests since 1.16, and Debian's python3-onnx is 1.12: what must come out is computed
here from the definitions of QuantizeLinear, DequantizeLinear, Cast and QLinearMatMul of opset 21. A folder a test: model.onnx, its inputs
as NAME.input.npy and its outputs as NAME.output.npy, where an integer of four bits is a byte.
"""

import pathlib
import sys

import numpy as np
from onnx import TensorProto, helper

INT4, UINT4 = 22, 21  # which the schema of 1.12 has no names for
RANGES = {INT4: (-8, 7), UINT4: (0, 15), TensorProto.INT8: (-128, 127), TensorProto.UINT8: (0, 255),
          TensorProto.INT16: (-32768, 32767)}
ARRAYS = {INT4: np.int8, UINT4: np.uint8, TensorProto.INT8: np.int8, TensorProto.UINT8: np.uint8,
          TensorProto.INT16: np.int16, TensorProto.FLOAT: np.float32, TensorProto.FLOAT16: np.float16}
random = np.random.default_rng(4)


def constant(name, kind, array):
    raw = np.asarray(array, ARRAYS[kind]).tobytes()
    if kind in (INT4, UINT4):  # two a byte, the first in the low half
        nibbles = [byte & 15 for byte in raw] + [0]
        raw = bytes(low | high << 4 for low, high in zip(nibbles[::2], nibbles[1::2]))
    return TensorProto(name=name, data_type=kind, dims=np.shape(array), raw_data=raw)


def spread(parameters, shape, axis, block):
    """A parameter for each element."""
    parameters = np.asarray(parameters)
    if parameters.ndim == 1:
        parameters = parameters.reshape([-1 if d == axis else 1 for d in range(len(shape))])
    elif parameters.ndim > 1:
        parameters = parameters.repeat(block, axis)
    return np.broadcast_to(parameters, shape)


def write(name, node, kinds, x, y, constants):
    graph = helper.make_graph([node], name, [helper.make_tensor_value_info("x", kinds[0], x.shape)],
                              [helper.make_tensor_value_info("y", kinds[1], y.shape)], constants)
    place = pathlib.Path(sys.argv[1]) / name
    place.mkdir(parents=True, exist_ok=True)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    (place / "model.onnx").write_bytes(model.SerializeToString())
    np.save(place / "x.input.npy", x.astype(ARRAYS[kinds[0]]))
    np.save(place / "y.output.npy", y.astype(ARRAYS[kinds[1]]))


def quantize(name, kind, shape, scale, zero, axis=1, block=0, says_type=False):
    """y = saturate(round(x / scale) + zero), ties to even."""
    x = random.uniform(-30, 30, shape).astype(np.float32)
    s, z = spread(np.float32(scale), shape, axis, block), spread(zero, shape, axis, block)
    y = np.clip(np.rint(x / s) + z, *RANGES[kind])
    attributes = {"axis": axis, "block_size": block} if np.ndim(scale) else {}
    constants = [constant("scale", TensorProto.FLOAT, scale)]
    if says_type:
        attributes["output_dtype"] = kind
    else:
        constants.append(constant("zero", kind, zero))
    node = helper.make_node("QuantizeLinear", ["x"] + [it.name for it in constants], ["y"], **attributes)
    write(name, node, (TensorProto.FLOAT, kind), x, y, constants)


def dequantize(name, kind, shape, scale, zero, axis=1, block=0):
    """y = (x - zero) * scale."""
    low, high = RANGES[kind]
    x = random.integers(low, high + 1, shape)
    y = (x - spread(zero, shape, axis, block)) * spread(np.float32(scale), shape, axis, block)
    attributes = {"axis": axis, "block_size": block} if np.ndim(scale) else {}
    constants = [constant("scale", TensorProto.FLOAT, scale), constant("zero", kind, zero)]
    node = helper.make_node("DequantizeLinear", ["x", "scale", "zero"], ["y"], **attributes)
    write(name, node, (kind, TensorProto.FLOAT), x, y, constants)


def cast(name, kinds):
    low, high = RANGES.get(kinds[0], (-8, 7))
    x = random.integers(low, high + 1, (3, 5))
    write(name, helper.make_node("Cast", ["x"], ["y"], to=kinds[1]), kinds, x, x, [])


def multiply(name, kind, scales_are, shape, weight_shape):
    """y = saturate(round((x - x_zero) (w - w_zero) x_scale w_scale / y_scale) + y_zero); no product is next to a tie."""
    low, high = RANGES[kind]
    scales = {"x": 0.0625, "w": 0.03125, "y": 0.75}  # which halves have
    zeros = {"x": low + 113, "w": low + 114, "y": low + 118}
    while True:
        x, w = random.integers(low, high + 1, shape), random.integers(low, high + 1, weight_shape)
        reals = (x - zeros["x"]) @ (w - zeros["w"]) * scales["x"] * scales["w"] / scales["y"]
        if np.abs(reals % 1 - 0.5).min() > 0.01:
            break
    y = np.clip(np.rint(reals) + zeros["y"], low, high)
    constants = [constant("w", kind, w)]
    for it in "xwy":
        constants += [constant(it + "_scale", scales_are, scales[it]), constant(it + "_zero", kind, zeros[it])]
    node = helper.make_node("QLinearMatMul", ["x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero"],
                            ["y"])
    write(name, node, (kind, kind), x, y, constants)


def main():
    quantize("quantizelinear_int4", INT4, (4, 5), 3.5, 1)
    quantize("quantizelinear_uint4", UINT4, (4, 5), 2.5, 7)
    quantize("quantizelinear_int4_axis", INT4, (2, 3, 5), [2.5, 3.5, 1.25], [1, -2, 0])
    quantize("quantizelinear_uint4_axis", UINT4, (2, 3, 5), [2.5, 3.5, 4.25], [8, 7, 0])
    quantize("quantizelinear_int4_by_output_dtype", INT4, (3, 4), 3.5, 0, says_type=True)
    quantize("quantizelinear_int16", TensorProto.INT16, (3, 4), 0.5, 100)
    quantize("quantizelinear_int16_by_output_dtype", TensorProto.INT16, (3, 4), 0.5, 0, says_type=True)
    quantize("quantizelinear_uint8_blocked", TensorProto.UINT8, (3, 4), [[1.5, 2.5], [3, 4.75], [0.25, 7]],
             [[100, 128], [0, 255], [9, 10]], block=2)
    quantize("quantizelinear_int8_blocked_along_the_first", TensorProto.INT8, (4, 3), [[1.5, 2.5, 0.25], [3, 4.75, 0.5]],
             [[-1, 0, 2], [0, 3, -4]], axis=0, block=2)
    quantize("quantizelinear_int4_blocked", INT4, (2, 6), [[2.5, 4.5], [3, 5.75]], [[1, -2], [0, 3]], block=3)
    dequantize("dequantizelinear_int4", INT4, (3, 5), 2.5, 1)
    dequantize("dequantizelinear_uint4", UINT4, (3, 5), 0.75, 9)
    dequantize("dequantizelinear_int4_axis", INT4, (2, 3, 5), [2.5, 3.5, 0.25], [1, -2, 0])
    dequantize("dequantizelinear_uint8_blocked", TensorProto.UINT8, (1, 4, 3), [[[1.5, 2.5, 3], [0.5, 4.75, 1]]],
               [[[1, 0, 255], [2, 3, 128]]], block=2)
    dequantize("dequantizelinear_int4_blocked", INT4, (2, 6), [[2.5, 4.5], [3, 5.75]], [[1, -2], [0, 3]], block=3)
    cast("cast_int4_to_float", (INT4, TensorProto.FLOAT))
    cast("cast_uint4_to_float", (UINT4, TensorProto.FLOAT))
    cast("cast_int4_to_float16", (INT4, TensorProto.FLOAT16))
    cast("cast_uint4_to_float16", (UINT4, TensorProto.FLOAT16))
    cast("cast_int4_to_int8", (INT4, TensorProto.INT8))
    cast("cast_uint4_to_uint8", (UINT4, TensorProto.UINT8))
    cast("cast_uint8_to_float", (TensorProto.UINT8, TensorProto.FLOAT))
    cast("cast_float_to_int4", (TensorProto.FLOAT, INT4))
    cast("cast_float_to_uint8", (TensorProto.FLOAT, TensorProto.UINT8))
    for word, kind in ("int8", TensorProto.INT8), ("uint8", TensorProto.UINT8):
        for real, scales_are in ("float32", TensorProto.FLOAT), ("float16", TensorProto.FLOAT16):
            multiply(f"qlinearmatmul_2D_{word}_{real}", kind, scales_are, (2, 4), (4, 3))
            multiply(f"qlinearmatmul_3D_{word}_{real}", kind, scales_are, (2, 2, 4), (2, 4, 3))


if __name__ == "__main__":
    main()
