# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Calls of the shipped operators from Python, compared with NumPy. Each kernel's exactness is tested in C++; this
tests that names, arrays, attributes and outputs arrive.

A row is: operator, inputs, attributes, the expected outputs. Scales are powers of two, so that int8 results are exact.
"""
import json
import unittest

import numpy as np

import qgen
from qgen._library import lib

RNG = np.random.default_rng(7)


def reals(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def codes(*shape, least=-128, most=127):
    return RNG.integers(least, most + 1, shape, np.int8)


def quantized(values, scale, zero=0):
    return np.clip(np.rint(values / scale) + zero, -128, 127).astype(np.int8)


def f64(values):
    return np.asarray(values, np.float64)


def shares(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def normalized(x, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)


def by_rms(x, eps=1e-5):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)


def convolved(x, w, groups=1, padding=0):
    """[N, C, H, W] with [O, I, KH, KW], stride 1."""
    x = np.pad(f64(x), [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    w = f64(w)
    rows, columns = x.shape[2] - w.shape[2] + 1, x.shape[3] - w.shape[3] + 1
    part, of_group = x.shape[1] // groups, w.shape[0] // groups
    y = np.zeros((x.shape[0], w.shape[0], rows, columns))
    for o in range(w.shape[0]):
        first = o // of_group * part
        for r in range(w.shape[2]):
            for s in range(w.shape[3]):
                y[:, o] += (x[:, first:first + part, r:r + rows, s:s + columns] * w[o, :, r, s][:, None, None]).sum(1)
    return y


def transposed(x, w):
    """[N, C, H, W] with [C, O, KH, KW], stride 1."""
    x, w = f64(x), f64(w)
    y = np.zeros((x.shape[0], w.shape[1], x.shape[2] + w.shape[2] - 1, x.shape[3] + w.shape[3] - 1))
    for r in range(w.shape[2]):
        for s in range(w.shape[3]):
            y[:, :, r:r + x.shape[2], s:s + x.shape[3]] += np.einsum("nchw,co->nohw", x, w[:, :, r, s])
    return y


def pooled(x, reduce):
    """Windows of 2 x 2, side by side."""
    n, c, h, w = x.shape
    return reduce(reduce(f64(x).reshape(n, c, h // 2, 2, w // 2, 2), 5), 3)


def twice_as_large(x):
    return x.repeat(2, axis=2).repeat(2, axis=3)


def hardswish(x):
    return x * np.clip(x + 3, 0, 6) / 6


def attended(query, key, value):
    """Of [B, S, N, D]."""
    q, k, v = (f64(t).transpose(0, 2, 1, 3) for t in (query, key, value))
    return (shares(q @ k.swapaxes(2, 3) / np.sqrt(q.shape[-1])) @ v).transpose(0, 2, 1, 3)


def rotated(x, cos, sin):
    """Element i with element i + R, of [B, S, N, D] and tables [S, R]."""
    half = cos.shape[-1]
    a, b, c, s = x[..., :half], x[..., half:], cos[None, :, None], sin[None, :, None]
    return np.concatenate([a * c - b * s, b * c + a * s], axis=-1)


def affine_rows():
    x, s, z = reals(4, 32), np.full(1, 0.125, np.float32), np.full(1, 3, np.int32)
    q = quantized(x, 0.125, 3)
    least, most = float(min(x.min(), 0)), float(max(x.max(), 0))
    scale = (most - least) / 255
    whole = {"input": q, "input_scale": s, "input_zero_point": z, "output_scale": 2 * s}
    return [
        ("quantize_affine", {"input": x, "scale": s, "zero_point": z}, {}, q),
        ("quantize_linear", {"input": x, "scale": s, "zero_point": z}, {}, q),
        ("dequantize_affine", {"input": q, "scale": s, "zero_point": z}, {}, (f64(q) - 3) * 0.125),
        ("requantize", whole, {}, quantized((f64(q) - 3) * 0.125, 0.25)),
        ("choose_qparams_affine", {"input": x}, {}, (scale, np.clip(-128 - np.rint(least / scale), -128, 127)))]


def q8ta_rows():
    a, b = codes(3, 40), codes(3, 40)
    one, two = {"input_scale": 0.0625, "output_scale": 0.125}, {"other_scale": 0.125}
    x, y = f64(a) * 0.0625, f64(b) * 0.125
    image = codes(1, 4, 6, 6)
    table = np.arange(255, -1, -1) - 128
    return [
        ("q8ta_quantize", {"input": reals(2, 8) * 0 + 0.5}, {"output_scale": 0.25}, np.full((2, 8), 2)),
        ("q8ta_quantize_linear", {"input": reals(2, 8) * 0 + 0.5}, {"output_scale": 0.25}, np.full((2, 8), 2)),
        ("q8ta_dequantize", {"input": a}, {"input_scale": 0.0625}, x),
        ("q8ta_relu", {"input": a}, one, quantized(np.maximum(x, 0), 0.125)),
        ("q8ta_leaky_relu", {"input": a}, {**one, "slope": 0.25}, quantized(np.where(x < 0, x / 4, x), 0.125)),
        ("q8ta_sigmoid", {"input": a}, {"input_scale": 0.0625, "output_scale": 1 / 128},
         quantized(1 / (1 + np.exp(-x)), 1 / 128)),
        ("q8ta_hardswish", {"input": a}, one, quantized(hardswish(x), 0.125)),
        ("q8ta_add", {"input": a, "other": b}, {**one, **two}, quantized(x + y, 0.125)),
        ("q8ta_sub", {"input": a, "other": b}, {**one, **two}, quantized(x - y, 0.125)),
        ("q8ta_mul", {"input": a, "other": b}, {**one, **two}, quantized(x * y, 0.125)),
        ("q8ta_clone", {"input": a}, {}, a),
        ("q8ta_table", {"input": a}, {"table": table}, table[a.astype(int) + 128]),
        ("q8ta_concat", {"input_1": a, "input_2": b},
         {"axis": 0, "input_1_scale": 0.125, "input_2_scale": 0.125, "output_scale": 0.125}, np.concatenate([a, b])),
        ("q8ta_pixel_shuffle", {"input": image}, {"input_scale": 1.0, "output_scale": 1.0, "upscale_factor": 2},
         image.reshape(1, 1, 2, 2, 6, 6).transpose(0, 1, 4, 2, 5, 3).reshape(1, 1, 12, 12)),
        ("q8ta_max_pool2d", {"input": image}, {"kernel_size": 2}, pooled(image, np.max)),
        ("q8ta_avg_pool2d", {"input": image}, {"kernel_size": 2, "input_scale": 0.5, "output_scale": 0.5},
         quantized(pooled(image, np.mean), 1)),
        ("q8ta_resize2d", {"input": image}, {"sizes": [12, 12]}, twice_as_large(image))]


def linear_rows():
    x, w = codes(5, 64), codes(16, 64)
    scales = np.full(16, 2.0 ** -7, np.float32)
    ints = f64(x) @ f64(w).T
    r, w4 = reals(5, 64), codes(16, 64, least=-8, most=7)
    grouped = np.full((16, 2), 0.25, np.float32)
    in_ints = quantized(r, 0.03125)
    a, b, bias = reals(2, 5, 16), reals(2, 16, 8), reals(8)
    u = codes(2, 5, 16), codes(2, 16, 8)
    by = {"input_scale": np.full(1, 0.5, np.float32), "other_scale": np.full(1, 0.25, np.float32)}
    product = f64(u[0]) @ f64(u[1]) * 0.125
    dequantized = f64(w) * 2.0 ** -7
    return [
        ("q8ta_linear", {"input": x, "weight": w, "weight_scales": scales},
         {"input_scale": 0.0625, "output_scale": 0.5}, quantized(ints * 2.0 ** -11, 0.5)),
        ("q8ta_linear_dequantize", {"input": x, "weight": w, "weight_scales": scales}, {"input_scale": 0.0625},
         ints * 2.0 ** -11),
        ("linear_q8ta_q8csw", {"input": r, "weight": w, "weight_scales": scales}, {"input_scale": 0.03125},
         f64(in_ints) @ f64(w).T * 2.0 ** -12),
        ("linear_q8csw", {"input": r, "weight": w, "weight_scales": scales}, {}, r @ dequantized.T),
        ("linear_dq8ca_q8csw", {"input": r, "weight": w, "weight_scales": scales}, {}, r @ dequantized.T),
        ("linear_q4gsw", {"input": r, "weight": w4, "weight_scales": grouped}, {}, r @ f64(w4).T * 0.25),
        ("linear_dq8ca_q4gsw", {"input": r, "weight": w4, "weight_scales": grouped}, {}, r @ f64(w4).T * 0.25),
        ("linear_q4gsw_backward", {"d_output": reals(3, 16) * 0 + 1, "weight": w4, "weight_scales": grouped}, {},
         np.ones((3, 16)) @ f64(w4) * 0.25),
        ("embedding_q4gsw", {"indices": np.array([3, 0], np.int32), "weight": w4, "weight_scales": grouped}, {},
         f64(w4)[[3, 0]] * 0.25),
        ("matmul", {"input": a, "other": b, "bias": bias}, {"activation": "relu"},
         np.maximum(f64(a) @ f64(b) + bias, 0)),
        ("bmm", {"input": u[0], "other": u[1], **by}, {}, product),
        ("fused_bmm", {"input": u[0], "other": u[1], **by}, {}, product)]


def convolution_rows():
    x, w = codes(1, 4, 8, 8), codes(8, 4, 3, 3)
    scales, in_scale = np.full(8, 2.0 ** -7, np.float32), {"input_scale": 0.0625}
    exact = convolved(x, w) * 2.0 ** -11
    r, v = reals(1, 4, 8, 8), reals(8, 4, 3, 3)
    back, small = reals(4, 8, 2, 2), codes(4, 8, 2, 2)
    byte = quantized(r, 0.03125)
    given = {"input": x, "weight": w, "weight_scales": scales}
    zero, scale = np.full(1, 3, np.int32), np.full(1, 0.0625, np.float32)
    span = float(max(r.max(), 0) - min(r.min(), 0)) / 255
    at_zero = np.clip(np.rint(-128 - min(r.min(), 0) / np.float32(span)), -128, 127)
    image = quantized(r, np.float32(span), at_zero)
    return [
        ("q8ta_conv2d", given, {**in_scale, "output_scale": 0.5}, quantized(exact, 0.5)),
        ("q8ta_conv2d_dequantize", given, in_scale, exact),
        ("conv2d_q8ta_q8csw", {**given, "input": r}, {"input_scale": 0.03125}, convolved(byte, w) * 2.0 ** -12),
        ("conv2d_q8csw", {**given, "input": r}, {"padding": 1}, convolved(r, w, padding=1) * 2.0 ** -7),
        ("conv2d", {"input": r, "weight": v}, {"padding": 1}, convolved(r, v, padding=1)),
        ("conv2d_transposed", {"input": r, "weight": back}, {}, transposed(r, back)),
        ("q8ta_conv2d_transposed", {"input": x, "weight": small, "weight_scales": scales},
         {**in_scale, "output_scale": 0.5}, quantized(transposed(x, small) * 2.0 ** -11, 0.5)),
        ("dq8ta_conv2d", {"input": x, "scale": scale, "zero_point": zero, "weight": w, "weight_scales": scales}, {},
         convolved(f64(x) - 3, w) * 2.0 ** -11),
        ("conv2d_dq8ta_q8csw", {**given, "input": r}, {}, convolved((f64(image) - at_zero) * span, w) * 2.0 ** -7),
        ("dynamic_quantize_image", {"input": r}, {},
         (image, span, at_zero, (f64(image) - at_zero).sum(1, keepdims=True)))]


def movement_rows():
    x, other = reals(3, 4, 5), reals(3, 4, 5)
    index = np.array([2, 0], np.int32)
    along = RNG.integers(0, 4, (3, 2, 5)).astype(np.int32)
    image = reals(1, 2, 6, 6)
    return [
        ("concat", {"input_1": x, "input_2": other}, {"axis": 1}, np.concatenate([x, other], 1)),
        ("expand", {"input": x[:, :1]}, {"sizes": [3, 4, 5]}, np.broadcast_to(x[:, :1], (3, 4, 5))),
        ("gather", {"input": x, "indices": index}, {"axis": 1}, x[:, index]),
        ("gather_elements", {"input": x, "indices": along}, {"axis": 1}, np.take_along_axis(x, along, 1)),
        ("pad", {"input": x}, {"before": [0, 1, 0], "after": [0, 0, 2], "value": 0.5},
         np.pad(x, [(0, 0), (1, 0), (0, 2)], constant_values=0.5)),
        ("permute", {"input": x}, {"permutation": [2, 0, 1]}, x.transpose(2, 0, 1)),
        ("slice", {"input": x}, {"starts": [0, 3, 1], "ends": [2, 0, 5], "steps": [1, -1, 2]}, x[0:2, 3:0:-1, 1:5:2]),
        ("reduce", {"input": x}, {"operation": "log_sum_exp", "axes": [-1]},
         np.log(np.exp(f64(x)).sum(-1, keepdims=True))),
        ("resize2d", {"input": image}, {"sizes": [12, 12]}, twice_as_large(image)),
        ("avg_pool2d", {"input": image}, {"kernel_size": 2}, pooled(image, np.mean)),
        ("max_pool2d", {"input": image}, {"kernel_size": 2}, pooled(image, np.max)),
        ("pointwise", {"input_1": x}, {"steps": [31, 1, 255, 255, 2, 1, 0, 255]}, f64(x) / (1 + np.exp(-f64(x))))]


def normalization_rows():
    x, skip, weight, bias = reals(3, 64), reals(3, 64), reals(64), reals(64)
    both = f64(x) + skip
    return [
        ("softmax", {"input": x}, {}, shares(f64(x))),
        ("layer_norm", {"input": x, "weight": weight, "bias": bias}, {"epsilon": 1e-5},
         normalized(f64(x)) * weight + bias),
        ("rms_norm", {"input": x, "weight": weight}, {"epsilon": 1e-5}, by_rms(f64(x)) * weight),
        ("skip_layer_norm", {"input": x, "skip": skip, "weight": weight}, {"epsilon": 1e-5},
         (normalized(both) * weight, both)),
        ("skip_rms_norm", {"input": x, "skip": skip, "weight": weight}, {"epsilon": 1e-5},
         (by_rms(both) * weight, both))]


def attention_rows():
    query, key, value = reals(2, 3, 4, 16), reals(2, 5, 4, 16), reals(2, 5, 4, 16)
    angles = np.outer(np.arange(3), 1 / 10.0 ** np.arange(8))
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    caches, new = [reals(1, 2, 6, 8), reals(1, 2, 6, 8)], [reals(1, 1, 2, 8), reals(1, 1, 2, 8)]
    written = [cache.copy() for cache in caches]
    for cache, rows in zip(written, new):
        cache[:, :, 3] = rows[:, 0]
    scales = np.abs(reals(2, 5, 4, 2)).astype(np.float32)
    packed = [codes(2, 5, 4, 16), codes(2, 5, 4, 16)]
    plain = [f64(rows) * f64(scales[..., i : i + 1]) for i, rows in enumerate(packed)]
    # The new rows are integers, and the greatest of each is 127: so scales are 1.
    int8_caches, whole = [codes(1, 2, 6, 8), codes(1, 2, 6, 8)], [codes(1, 1, 2, 8, least=-127), codes(1, 1, 2, 8, least=-127)]
    for rows in whole:
        rows[..., 0] = 127
    int8_written, scale_cache = [cache.copy() for cache in int8_caches], reals(1, 2, 6, 2)
    written_scales = scale_cache.copy()
    written_scales[:, :, 3] = 1
    for cache, rows in zip(int8_written, whole):
        cache[:, :, 3] = rows[:, 0]
    int8_caches = {"key_cache": int8_caches[0], "value_cache": int8_caches[1], "scale_cache": scale_cache,
                   "last": np.array([3], np.int32)}
    whole = [rows.astype(np.float32) for rows in whole]
    # Blocks of two keys, of which both sequences share the first.
    table = np.array([[3, 1, 0], [3, 2, 4]], np.int32)
    in_blocks = [reals(5, 2, 4, 16), reals(5, 2, 4, 16)]
    gathered = [blocks[table].reshape(2, 6, 4, 16) for blocks in in_blocks]
    int8_blocks, block_scales = [codes(5, 2, 4, 16), codes(5, 2, 4, 16)], np.abs(reals(5, 2, 4, 2)).astype(np.float32)
    plain_blocks = [f64(rows) * f64(block_scales[..., i : i + 1]) for i, rows in enumerate(int8_blocks)]
    gathered_int8 = [blocks[table].reshape(2, 6, 4, 16) for blocks in plain_blocks]
    block_caches = [reals(5, 2, 2, 8), reals(5, 2, 2, 8)]
    written_blocks = [cache.copy() for cache in block_caches]
    for cache, rows in zip(written_blocks, new):
        cache[1, :, 1] = rows[0, 0]
    int8_block_caches, block_scale_cache = [codes(5, 2, 2, 8), codes(5, 2, 2, 8)], reals(5, 2, 2, 2)
    int8_written_blocks, written_block_scales = [cache.copy() for cache in int8_block_caches], block_scale_cache.copy()
    written_block_scales[1, :, 1] = 1
    for cache, rows in zip(int8_written_blocks, whole):
        cache[1, :, 1] = rows[0, 0]
    return [
        ("attention", {"query": query, "key": key, "value": value}, {}, attended(query, key, value)),
        ("attention_q8rs", {"query": query, "key": packed[0], "value": packed[1], "scales": scales}, {},
         attended(query, *plain)),
        ("attention_paged", {"query": query, "key": in_blocks[0], "value": in_blocks[1], "blocks": table}, {},
         attended(query, *gathered)),
        ("attention_paged_q8rs", {"query": query, "key": int8_blocks[0], "value": int8_blocks[1], "scales": block_scales,
                                  "blocks": table}, {}, attended(query, *gathered_int8)),
        ("cache_write_paged", {"key_cache": block_caches[0], "value_cache": block_caches[1], "key": new[0], "value": new[1],
                               "blocks": table[:1], "last": np.array([3], np.int32)}, {},
         (*written_blocks, np.array([4]))),
        ("cache_write_paged_q8rs", {"key_cache": int8_block_caches[0], "value_cache": int8_block_caches[1],
                                    "scale_cache": block_scale_cache, "key": whole[0], "value": whole[1],
                                    "blocks": table[:1], "last": np.array([3], np.int32)}, {},
         (*int8_written_blocks, written_block_scales, np.array([4]))),
        ("cache_write_q8rs", {**int8_caches, "key": whole[0], "value": whole[1]}, {},
         (*int8_written, written_scales, np.array([4]))),
        ("rotary_embedding", {"input": query, "cos": cos, "sin": sin}, {}, rotated(f64(query), cos, sin)),
        ("cache_write", {"key_cache": caches[0], "value_cache": caches[1], "key": new[0], "value": new[1],
                         "last": np.array([3], np.int32)}, {}, (*written, np.array([4])))]


def fused_rows():
    a, b = reals(3, 32), reals(3, 32)
    x, y = f64(a), f64(b)
    out = {"output_scale": np.full(1, 0.03125, np.float32)}
    q, half = codes(3, 32), {"input_scale": np.full(1, 0.03125, np.float32)}
    z = f64(q) * 0.03125
    return [
        ("fused_add", {"input": a, "other": b}, {}, x + y), ("fused_mul", {"input": a, "other": b}, {}, x * y),
        ("fused_add", {"input": q, "other": b, **half}, {}, z + y),
        ("fused_clip", {"input": a}, {"low": -0.5, "high": 0.5}, np.clip(x, -0.5, 0.5)),
        ("fused_relu", {"input": q, **half, **out}, {}, quantized(np.maximum(z, 0), 0.03125)),
        ("fused_hardswish", {"input": a}, {}, hardswish(x)),
        ("fused_sigmoid", {"input": a}, {}, 1 / (1 + np.exp(-x)))]


ROWS = (affine_rows() + q8ta_rows() + linear_rows() + convolution_rows() + movement_rows() + normalization_rows() +
        attention_rows() + fused_rows())
# Their outputs are packed weights, whose bytes have no order that NumPy knows. test_weights_are_packed() runs them.
PACKED = {"pack_weight", "quantize_q4gsw"}
# Dynamic quantization rounds each input row to 8 bits: by as much as half a step of the row's range.
LOOSE = {"linear_dq8ca_q8csw": 0.3, "linear_dq8ca_q4gsw": 1.0}


class TestEachOperator(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dev = qgen.Device()

    def compare(self, op, got, wanted):
        self.assertEqual(got.shape, np.shape(wanted) or got.shape, op)
        if got.dtype.kind in "iu":
            np.testing.assert_array_equal(got, wanted, op)
        else:
            np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=LOOSE.get(op, 2e-5), err_msg=op)

    def test_against_numpy(self):
        for op, inputs, attributes, expected in ROWS:
            with self.subTest(op):
                outputs = getattr(self.dev, op)(**inputs, **attributes)
                wanted = expected if isinstance(expected, tuple) else (expected,)
                got = outputs if isinstance(outputs, tuple) else (outputs,)
                self.assertEqual(len(got), len(wanted))
                for one, other in zip(got, wanted):
                    self.compare(op, one, other)

    def test_weights_are_packed(self):
        w = codes(16, 64, least=-8, most=7)
        packed = self.dev.pack_weight(w, form="weight_q8_rows", keep=True)
        self.assertEqual((packed.shape, packed.dtype), ((16, 64), np.int8))
        scales = np.full((16, 2), 0.5, np.float32)
        packed = self.dev.quantize_q4gsw(w * np.float32(0.5), scales, keep=True)
        self.assertEqual((packed.shape, packed.dtype), ((16, 64), np.int8))

    def test_rows_name_shipped_operators(self):  # a new operator needs no row: C++ tests compare its kernels
        shipped = {op["name"] for op in json.loads(lib.operators_json())["operators"]}
        self.assertLessEqual({row[0] for row in ROWS} | PACKED, shipped)


if __name__ == "__main__":
    unittest.main()
