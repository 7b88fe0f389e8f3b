#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Writes a language model with random weights, as ONNX Runtime's generator tools write them.

    bench/models/make_language_model.py build/models/tiny_int4.onnx
    bench/models/make_language_model.py build/models/tiny_f16.onnx --type f16
    bench/models/make_language_model.py build/models/small_int4.onnx --layers 12 --width 768 --heads 12 --kv-heads 4
    bench/models/make_language_model.py build/models/tiny_onnx.onnx --attention onnx
    bench/models/make_language_model.py build/models/layer.onnx --layers 1 --width 4096 --heads 32 --kv-heads 8 \
        --inner 14336 --block 128 --activations f16 --repeat 16

Each layer has SkipSimplifiedLayerNormalization, GroupQueryAttention with rotary positions, and a gated SiLU. `int4` has
MatMulNBits of 4 bits in blocks of 32 and float32 activations (--block, --activations), `f16` has MatMul of float16,
`f32` of float32. Inputs are input_ids, attention_mask and past_key_values.N.key and .value; outputs are logits,
present.N.key and .value. With `--attention onnx` a layer has ONNX's own Attention, and with `multi_head`
MultiHeadAttention; both come after RotaryEmbedding, and position_ids take the place of attention_mask. With
`--repeat N`, N columns of each weight are random and the others repeat them, so that a large model is written fast and
compresses well. Weights come from a fixed seed, so the same command writes the same model. Needs Debian's python3-onnx
and python3-numpy.
"""

import argparse
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MICROSOFT = "com.microsoft"


class Writer:
    def __init__(self, options):
        self.options = options
        self.random = np.random.default_rng(options.seed)
        self.real = np.float16 if "f16" in (options.type, options.activations) else np.float32
        self.nodes, self.constants = [], []

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, op, inputs, name, domain="", outputs=1, **attributes):
        names = [name] + [f"{name}.{i}" for i in range(1, outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=name, domain=domain, **attributes))
        return names if outputs > 1 else name

    def weight(self, inner, outer):
        return self.random.standard_normal((inner, outer)).astype(np.float32) / np.sqrt(inner)

    def quantized(self, rows, real=np.float32):
        """4 bits in blocks along a row, and a scale for each block."""
        blocks = rows.reshape(len(rows), -1, self.options.block).astype(np.float32)
        scales = np.abs(blocks).max(2) / 7
        codes = (np.clip(np.rint(blocks / scales[:, :, None]), -8, 7) + 8).astype(np.uint8)
        return codes[:, :, 0::2] | codes[:, :, 1::2] << 4, scales.astype(real)

    def product(self, x, name, inner, outer):
        columns = min(outer, self.options.repeat or outer)
        weight = self.weight(inner, columns)
        if self.options.type != "int4":
            weight = np.resize(weight.T, (outer, inner)).T
            return self.node("MatMul", [x, self.constant(f"{name}.weight", weight.astype(self.real))], name)
        packed, scales = self.quantized(weight.T, self.real)
        packed, scales = np.resize(packed, (outer, *packed.shape[1:])), np.resize(scales, (outer, scales.shape[1]))
        inputs = [x, self.constant(f"{name}.weight", packed), self.constant(f"{name}.scales", scales.reshape(-1))]
        return self.node("MatMulNBits", inputs, name, MICROSOFT, K=inner, N=outer, bits=4,
                         block_size=self.options.block)

    def norm_weight(self, name):
        return self.constant(f"{name}.weight", self.random.uniform(0.5, 1.5, self.options.width).astype(self.real))

    def lengths(self):
        """seqlens_k and total_sequence_length, from the mask."""
        one = self.constant("one", np.array([1], np.int64))
        ones = self.node("ReduceSum", ["attention_mask", one], "mask_sum", keepdims=0)
        last = self.node("Cast", [self.node("Sub", [ones, one], "last")], "seqlens_k", to=TensorProto.INT32)
        side = self.node("Gather", [self.node("Shape", ["attention_mask"], "mask_shape"),
                                    self.constant("side", np.array(1, np.int64))], "mask_side", axis=0)
        return last, self.node("Cast", [side], "total_sequence_length", to=TensorProto.INT32)

    def rotary(self):
        options = self.options
        width = options.width // options.heads
        angles = np.arange(options.positions)[:, None] * 10000.0 ** (-np.arange(0, width, 2) / width)
        return (self.constant("cos_cache", np.cos(angles).astype(self.real)),
                self.constant("sin_cache", np.sin(angles).astype(self.real)))

    def layer(self, i, x, lengths, rotary):
        options = self.options
        width, head = options.width, options.width // options.heads
        name = f"layers.{i}"
        query, key, value = (self.product(x, f"{name}.{part}", width, heads * head) for part, heads in
                             (("query", options.heads), ("key", options.kv_heads), ("value", options.kv_heads)))
        if options.attention != "group":
            self.plain_attention(name, [query, key, value], i, rotary)
            return self.product(f"{name}.attention", f"{name}.output", width, width)
        self.nodes.append(helper.make_node(
            "GroupQueryAttention",
            [query, key, value, f"past_key_values.{i}.key", f"past_key_values.{i}.value", *lengths, *rotary],
            [f"{name}.attention", f"present.{i}.key", f"present.{i}.value"], name=f"{name}.attention", domain=MICROSOFT,
            num_heads=options.heads, kv_num_heads=options.kv_heads, do_rotary=1, rotary_interleaved=0))
        return self.product(f"{name}.attention", f"{name}.output", width, width)

    def plain_attention(self, name, heads, i, rotary):
        counts = (self.options.heads, self.options.kv_heads)
        for part, count in enumerate(counts):
            heads[part] = self.node("RotaryEmbedding", [heads[part], "position_ids", *rotary], f"{name}.rotated.{part}",
                                    MICROSOFT, num_heads=count)
        past = [f"past_key_values.{i}.key", f"past_key_values.{i}.value"]
        outputs = [f"{name}.attention", f"present.{i}.key", f"present.{i}.value"]
        if self.options.attention == "onnx":
            node = helper.make_node("Attention", [*heads, "", *past], outputs, q_num_heads=counts[0],
                                    kv_num_heads=counts[1], is_causal=1, name=f"{name}.attention")
        else:
            node = helper.make_node("MultiHeadAttention", [*heads, "", "", "", *past], outputs, num_heads=counts[0],
                                    unidirectional=1, name=f"{name}.attention", domain=MICROSOFT)
        self.nodes.append(node)

    def gated(self, i, x):
        name, width, inner = f"layers.{i}", self.options.width, self.options.inner
        gate, up = (self.product(x, f"{name}.{part}", width, inner) for part in ("gate", "up"))
        silu = self.node("Mul", [gate, self.node("Sigmoid", [gate], f"{name}.sigmoid")], f"{name}.silu")
        return self.product(self.node("Mul", [silu, up], f"{name}.gated"), f"{name}.down", inner, width)

    def skip_norm(self, skip, x, name):
        outputs = [name, "", "", f"{name}.sum"]
        self.nodes.append(helper.make_node("SkipSimplifiedLayerNormalization", [skip, x, self.norm_weight(name)],
                                           outputs, name=name, domain=MICROSOFT, epsilon=1e-5))
        return name, f"{name}.sum"

    def embedded(self, table):
        if self.options.embedding != "int4":
            return self.node("Gather", [self.constant("embedding", table), "input_ids"], "embedded", axis=0)
        packed, scales = self.quantized(table)
        inputs = [self.constant("embedding", packed.reshape(len(table), -1)), "input_ids",
                  self.constant("embedding.scales", scales.astype(self.real))]
        return self.node("GatherBlockQuantized", inputs, "embedded", MICROSOFT, block_size=self.options.block, bits=4,
                         gather_axis=0, quantize_axis=1)

    def model(self):
        options = self.options
        skip = self.embedded(self.random.standard_normal((options.vocabulary, options.width)).astype(self.real))
        x = self.node("SimplifiedLayerNormalization", [skip, self.norm_weight("norm")], "norm", epsilon=1e-5, axis=-1)
        lengths, rotary = self.lengths() if options.attention == "group" else None, self.rotary()
        for i in range(options.layers):
            x, skip = self.skip_norm(skip, self.layer(i, x, lengths, rotary), f"layers.{i}.after_attention")
            x, skip = self.skip_norm(skip, self.gated(i, x), f"layers.{i}.after_gated")
        logits = self.product(x, "logits", options.width, options.vocabulary)
        return self.finished(logits)

    def finished(self, logits):
        options = self.options
        real = TensorProto.FLOAT16 if self.real == np.float16 else TensorProto.FLOAT
        head = options.width // options.heads
        info = helper.make_tensor_value_info
        inputs = [info("input_ids", TensorProto.INT64, ["batch", "sequence"])]
        if options.attention == "group":
            inputs.append(info("attention_mask", TensorProto.INT64, ["batch", "total_sequence"]))
        else:
            inputs.append(info("position_ids", TensorProto.INT64, ["batch", "sequence"]))
        outputs = [info(logits, real, ["batch", "sequence", options.vocabulary])]
        for i in range(options.layers):
            for part in ("key", "value"):
                inputs.append(info(f"past_key_values.{i}.{part}", real, ["batch", options.kv_heads, "past", head]))
                outputs.append(info(f"present.{i}.{part}", real, ["batch", options.kv_heads, "total_sequence", head]))
        graph = helper.make_graph(self.nodes, "language_model", inputs, outputs, self.constants)
        return helper.make_model(graph, ir_version=8, producer_name="make_language_model.py", opset_imports=[
            helper.make_opsetid("", 23 if options.attention == "onnx" else 17), helper.make_opsetid(MICROSOFT, 1)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path, help="the ONNX file to write")
    parser.add_argument("--type", choices=["int4", "f16", "f32"], default="int4")
    parser.add_argument("--block", type=int, default=32, help="of int4: weights that share a scale")
    parser.add_argument("--activations", choices=["f16", "f32"], default="f32", help="of int4")
    parser.add_argument("--repeat", type=int, help="random columns of each weight (all)")
    parser.add_argument("--embedding", choices=["real", "int4"], default="real", help="int4: GatherBlockQuantized")
    parser.add_argument("--attention", choices=["group", "onnx", "multi_head"], default="group")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--kv-heads", type=int, default=2)
    parser.add_argument("--inner", type=int, help="the width inside the gated layers (2 x width)")
    parser.add_argument("--vocabulary", type=int, default=1000)
    parser.add_argument("--positions", type=int, default=4096, help="rows of the rotary tables")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.inner = options.inner or 2 * options.width
    options.file.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(Writer(options).model(), str(options.file))
    print(f"{options.file}: {options.file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
