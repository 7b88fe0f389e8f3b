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
    """`inputs`, `outputs` and `constants` are arrays by name; integers are stored as qgen takes them, int32.

    The input `last`, the positions of the last rows, is given to the importer as a constant.
    """
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
            kind = "constant" if (role, n) == ("input", "last") else role
            np.save(folder / f"{n}.{kind}.npy", {"int64": a.astype(np.int32), "bool": a.astype(np.uint8)}.get(a.dtype.name, a))


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


# ---- rotary embeddings --------------------------------------------------------------------------------------------------

def rotated(x, cos, sin, interleaved=False):
    """x is [B, S, N, D], cos and sin are [B, S, R]."""
    y, r = x.astype(np.float64), cos.shape[-1]
    cos, sin = cos[:, :, None].astype(np.float64), sin[:, :, None].astype(np.float64)
    first, second = (slice(0, 2 * r, 2), slice(1, 2 * r, 2)) if interleaved else (slice(0, r), slice(r, 2 * r))
    a, b = y[..., first].copy(), y[..., second].copy()
    y[..., first], y[..., second] = a * cos - b * sin, b * cos + a * sin
    return y


def angles(rows, width):
    table = np.arange(rows)[:, None] / 10000.0 ** (np.arange(width) / width)
    return np.cos(table).astype(np.float32), np.sin(table).astype(np.float32)


@case
def rotary_embedding_of_positions():
    x, (cos, sin) = reals(1, 2, 3, 5, 8), angles(16, 4)  # [B, N, S, D]
    positions = np.array([[3, 4, 5, 6, 7], [0, 9, 2, 1, 15]])
    y = rotated(x.transpose(0, 2, 1, 3), cos[positions], sin[positions]).transpose(0, 2, 1, 3)
    node = helper.make_node("RotaryEmbedding", ["x", "cos", "sin", "positions"], ["y"])
    return [node], {"x": x, "positions": positions}, {"y": y.astype(np.float32)}, {"cos": cos, "sin": sin}


@case
def rotary_embedding_of_rows():
    x, cos, sin = reals(1, 2, 5, 24), reals(2, 2, 5, 3), reals(3, 2, 5, 3)
    y = rotated(x.reshape(2, 5, 3, 8), cos, sin, True).reshape(x.shape)
    node = helper.make_node("RotaryEmbedding", ["x", "cos", "sin"], ["y"], num_heads=3, rotary_embedding_dim=6, interleaved=1)
    return [node], {"x": x, "cos": cos, "sin": sin}, {"y": y.astype(np.float32)}


@case
def rotary_embedding_of_microsoft():
    x, (cos, sin) = reals(1, 2, 5, 24), angles(16, 4)
    positions = np.array([[3, 4, 5, 6, 7], [0, 9, 2, 1, 15]])
    y = rotated(x.reshape(2, 5, 3, 8), cos[positions], sin[positions]).reshape(x.shape)
    node = helper.make_node("RotaryEmbedding", ["x", "positions", "cos", "sin"], ["y"], domain="com.microsoft")
    return [node], {"x": x, "positions": positions}, {"y": y.astype(np.float32)}, {"cos": cos, "sin": sin}, 17


@case
def rotary_embedding_of_microsoft_from_a_position():
    x, (cos, sin) = reals(1, 2, 3, 5, 8), angles(16, 4)  # [B, N, S, D]
    y = rotated(x.transpose(0, 2, 1, 3), cos[None, 6:11], sin[None, 6:11]).transpose(0, 2, 1, 3)
    node = helper.make_node("RotaryEmbedding", ["x", "position", "cos", "sin"], ["y"], domain="com.microsoft")
    return [node], {"x": x, "position": np.array([6])}, {"y": y.astype(np.float32)}, {"cos": cos, "sin": sin}, 17


# ---- attention ----------------------------------------------------------------------------------------------------------

def attended(q, k, v, mask=None, scale=None, softcap=0, causal=None, window=0):
    """q is [B, N, S, D], k and v are [B, M, T, D]. causal: the first row has the keys below causal + 1; None: all."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    scores = q @ k.swapaxes(-1, -2) * (scale or 1 / np.sqrt(q.shape[-1]))
    if softcap: scores = softcap * np.tanh(scores / softcap)
    if mask is not None: scores = scores + (np.where(mask, 0.0, -np.inf) if mask.dtype == bool else mask)
    if causal is not None:
        row, key = np.arange(q.shape[2])[:, None] + causal, np.arange(k.shape[2])
        scores = np.where((key > row) | (key <= row - window if window else False), -np.inf, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def heads_first(x, heads):
    return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(0, 2, 1, 3)


def rows_first(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


@case
def attention_4d_gqa_causal():
    q, k, v = reals(1, 2, 6, 5, 8), reals(2, 2, 3, 7, 8), reals(3, 2, 3, 7, 10)
    node = helper.make_node("Attention", ["q", "k", "v"], ["y"], is_causal=1, softcap=2.0)
    return [node], {"q": q, "k": k, "v": v}, {"y": attended(q, k, v, softcap=2, causal=0).astype(np.float32)}


@case
def attention_4d_of_halves():
    q, k, v = (reals(i, 2, 2, 5, 16, dtype=np.float16) for i in range(3))
    mask = reals(4, 5, 5, dtype=np.float16)
    node = helper.make_node("Attention", ["q", "k", "v", "mask"], ["y"], scale=0.3)
    return [node], {"q": q, "k": k, "v": v, "mask": mask}, {"y": attended(q, k, v, mask, np.float32(0.3)).astype(np.float16)}


@case
def attention_3d_boolean_mask():
    q, k, v = reals(1, 2, 5, 24), reals(2, 2, 7, 24), reals(3, 2, 7, 24)
    mask = np.random.default_rng(4).uniform(size=(2, 1, 5, 7)) < 0.7
    mask[..., 0] = True
    y = rows_first(attended(heads_first(q, 3), heads_first(k, 3), heads_first(v, 3), mask))
    node = helper.make_node("Attention", ["q", "k", "v", "mask"], ["y"], q_num_heads=3, kv_num_heads=3)
    return [node], {"q": q, "k": k, "v": v, "mask": mask}, {"y": y.astype(np.float32)}


@case
def attention_3d_past():
    q, k, v = reals(1, 2, 3, 24), reals(2, 2, 3, 8), reals(3, 2, 3, 8)
    past_k, past_v = reals(4, 2, 1, 4, 8), reals(5, 2, 1, 4, 8)
    all_k, all_v = (np.concatenate((past, heads_first(x, 1)), 2) for past, x in ((past_k, k), (past_v, v)))
    y = rows_first(attended(heads_first(q, 3), all_k, all_v, causal=4))
    node = helper.make_node("Attention", ["q", "k", "v", "", "past_k", "past_v"], ["y", "present_k", "present_v"],
                            q_num_heads=3, kv_num_heads=1, is_causal=1)
    return [node], {"q": q, "k": k, "v": v, "past_k": past_k, "past_v": past_v}, {
        "y": y.astype(np.float32), "present_k": all_k, "present_v": all_v}


@case
def attention_of_some_keys():
    q, k, v = reals(1, 2, 2, 3, 8), reals(2, 2, 2, 7, 8), reals(3, 2, 2, 7, 8)
    lengths = np.array([7, 4])
    y = np.concatenate([attended(q[b:b + 1], k[b:b + 1, :, :n], v[b:b + 1, :, :n], causal=n - 3)
                        for b, n in enumerate(lengths)])
    node = helper.make_node("Attention", ["q", "k", "v", "", "", "", "lengths"], ["y"], is_causal=1)
    return [node], {"q": q, "k": k, "v": v, "lengths": lengths}, {"y": y.astype(np.float32)}, {}, 24


@case
def multi_head_attention_bias_and_padding():
    q, k, v, bias = reals(1, 2, 5, 24), reals(2, 2, 7, 24), reals(3, 2, 7, 24), reals(4, 72)
    padding = np.array([[1] * 7, [1] * 4 + [0] * 3], np.int32)
    mask = np.where(padding, 0, np.float32(-10000))[:, None, None]
    parts = [heads_first(x.astype(np.float64) + bias[24 * i:24 * i + 24], 3) for i, x in enumerate((q, k, v))]
    node = helper.make_node("MultiHeadAttention", ["q", "k", "v", "bias", "padding"], ["y"], num_heads=3,
                            domain="com.microsoft")
    return [node], {"q": q, "k": k, "v": v, "padding": padding}, {
        "y": rows_first(attended(*parts, mask)).astype(np.float32)}, {"bias": bias}, 17


@case
def multi_head_attention_past():
    q, k, v = reals(1, 2, 3, 24), reals(2, 2, 3, 24), reals(3, 2, 3, 24)
    past_k, past_v, bias = reals(4, 2, 3, 4, 8), reals(5, 2, 3, 4, 8), reals(6, 1, 3, 3, 7)
    all_k, all_v = (np.concatenate((past, heads_first(x, 3)), 2) for past, x in ((past_k, k), (past_v, v)))
    y = rows_first(attended(heads_first(q, 3), all_k, all_v, bias, causal=4))
    node = helper.make_node("MultiHeadAttention", ["q", "k", "v", "", "", "bias", "past_k", "past_v"],
                            ["y", "present_k", "present_v"], num_heads=3, unidirectional=1, domain="com.microsoft")
    return [node], {"q": q, "k": k, "v": v, "bias": bias, "past_k": past_k, "past_v": past_v}, {
        "y": y.astype(np.float32), "present_k": all_k, "present_v": all_v}, {}, 17


def group_query(past, sequence, is_packed, **attributes):
    """Six heads of queries and two of keys; rotary embeddings, and as many keys in the past."""
    qkv = [reals(1, 2, sequence, 48), reals(2, 2, sequence, 16), reals(3, 2, sequence, 16)]
    caches = {"past_k": reals(4, 2, 2, past, 8), "past_v": reals(5, 2, 2, past, 8)}
    cos, sin = angles(16, 4)
    last = np.full((2, 1), past + sequence - 1, np.int32)
    here = slice(past, past + sequence)
    q, k = (rotated(x.reshape(2, sequence, -1, 8), cos[None, here], sin[None, here]).transpose(0, 2, 1, 3)
            for x in qkv[:2])
    all_k = np.concatenate((caches["past_k"], k), 2)
    all_v = np.concatenate((caches["past_v"], heads_first(qkv[2], 2)), 2)
    window = attributes.get("local_window_size", 0)  # with the key of the row itself
    y = rows_first(attended(q, all_k, all_v, softcap=attributes.get("softcap", 0), causal=past, window=window))
    names = ["qkv", "", ""] if is_packed else ["q", "k", "v"]
    given = dict(zip(names, [np.concatenate(qkv, -1)] if is_packed else qkv))
    node = helper.make_node("GroupQueryAttention", [*names, "past_k", "past_v", "last", "total", "cos", "sin"],
                            ["y", "present_k", "present_v"], num_heads=6, kv_num_heads=2, do_rotary=1,
                            domain="com.microsoft", **attributes)
    return [node], {**given, **caches, "last": last}, {
        "y": y.astype(np.float32), "present_k": all_k.astype(np.float32), "present_v": all_v}, {
            "cos": cos, "sin": sin, "total": np.array(past + sequence, np.int32)}, 17


@case
def group_query_attention_prompt():
    return group_query(0, 5, False)


@case
def group_query_attention_token():
    return group_query(6, 1, True, softcap=3.0)


@case
def group_query_attention_window():
    return group_query(6, 4, False, local_window_size=3)


for chosen in sys.argv[1:] or sorted(CASES): write(chosen, *CASES[chosen]())
