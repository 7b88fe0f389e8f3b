#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Writes an ONNX model of a short and a long element-wise chain, to measure their kernels. Needs no package.

    bench/models/make_chain_model.py build/chains.onnx
    qgen-model chains build/chains.onnx -o build/net.chains
    qgen-model run build/chains.onnx --profile build/interpreted.json
    qgen-model run build/chains.onnx --chains build/net.chains --profile build/compiled.json

A second argument is the number of rows (4096). The short chain has 2 steps. The long one has 25 steps; 7 of them are
functions.
"""
import pathlib
import sys

FLOAT = 1
COLUMNS = 4096


def varint(number):
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def field(number, value):
    """A field of a protobuf message: a number, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor_type(name, *sides):
    shape = b"".join(field(1, field(1, side)) for side in sides)
    return field(1, name) + field(2, field(1, field(1, FLOAT) + field(2, shape)))


def node(op, input_name, output):
    return field(1, input_name) + field(2, output) + field(3, output) + field(4, op)


def model(rows):
    nodes = [("Abs", "x", "magnitude"), ("Sqrt", "magnitude", "short")]
    long = ["Mish", "Erf", "Softsign", "Sin", "Softplus"]
    for i, op in enumerate(long):
        nodes.append((op, f"long_{i - 1}" if i else "x", "long" if i == len(long) - 1 else f"long_{i}"))
    graph = b"".join(field(1, node(*one)) for one in nodes) + field(2, "chains")
    graph += field(11, tensor_type("x", rows, COLUMNS))
    graph += b"".join(field(12, tensor_type(name, rows, COLUMNS)) for name in ("short", "long"))
    return field(1, 8) + field(7, graph) + field(8, field(2, 18))


if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
pathlib.Path(sys.argv[1]).write_bytes(model(int(sys.argv[2]) if len(sys.argv) == 3 else 4096))
