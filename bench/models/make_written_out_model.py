#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Writes small language models with random weights, with attention, rotary embeddings and caches as several nodes each.
The nodes are those that PyTorch's exporters write.

    apt-get install python3-onnx python3-numpy
    bench/models/make_written_out_model.py FORM FILE [--type f16] [--seed N]

    llama     groups of heads, rotary embeddings of positions, the mask of attention_mask and computed positions
    sdpa      the same as scaled_dot_product_attention: the scale on both sides, a mask of booleans, rotary tables,
              no input of positions
    gptj      the same with rotary embeddings of neighbours: x[..., ::2] and x[..., 1::2]
    gpt2      learned positions, LayerNormalization, Gemm, a mask that is a part of a table
    whisper   the decoder of speech recognition: attention to itself, and to keys and values of an encoder
    encoded   the same, and the keys and values are computed of the encoder's result, with a mask of its rows
    merged    the same in an If of use_cache_branch, as Optimum writes it: without caches, and with them for one token

The inputs are those of docs/language_models.md. `whisper` also has past_key_values.N.encoder.key and .value, and
`encoded` has encoder_hidden_states and encoder_attention_mask. `merged` has all of these.
"""
import argparse
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Graph:
    """Nodes and constants; each method adds nodes and gives the name of the result."""

    def __init__(self, options, opset):
        self.options, self.opset = options, opset
        self.real = np.float16 if options.type == "f16" else np.float32
        self.type = TensorProto.FLOAT16 if options.type == "f16" else TensorProto.FLOAT
        self.lowest = np.finfo(self.real).min
        self.random = np.random.default_rng(options.seed)
        self.nodes, self.constants, self.inputs, self.outputs = [], [], [], []
        self.count = 0

    def node(self, op, *inputs, count=1, **attributes):
        self.count += 1
        names = [f"{op}_{self.count}" + (f"_{i}" if count > 1 else "") for i in range(count)]
        inputs = [it if isinstance(it, str) else self.constant(it) for it in inputs]
        self.nodes.append(helper.make_node(op, inputs, names, name=f"/{op}_{self.count}", **attributes))
        return names[0] if count == 1 else names

    def __getattr__(self, op):
        if not op[0].isupper(): raise AttributeError(op)
        return lambda *inputs, **attributes: self.node(op, *inputs, **attributes)

    def constant(self, value):
        value = np.asarray(value, np.int64 if isinstance(value, (int, list)) else None)
        self.count += 1
        self.constants.append(numpy_helper.from_array(value, f"constant_{self.count}"))
        return f"constant_{self.count}"

    def weight(self, *shape, scale=None):
        scale = scale or 1.5 / np.sqrt(shape[0])
        return (scale * self.random.standard_normal(shape)).astype(self.real)

    def number(self, value):
        return np.asarray(value, self.real)

    def side(self, x, axis):
        return self.Gather(self.Shape(x), axis, axis=0)

    def list(self, *numbers):
        """Of sides and numbers, as torch.onnx makes the argument of a Reshape."""
        return self.Concat(*(self.Unsqueeze(it, [0]) if isinstance(it, str) else [it] for it in numbers), axis=0)

    def input(self, name, kind, shape):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, value, name, kind, shape):
        for node in self.nodes:
            node.output[:] = [name if it == value else it for it in node.output]
            node.input[:] = [name if it == value else it for it in node.input]
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def model(self, name):
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.constants)
        return helper.make_model(graph, ir_version=8, producer_name="make_written_out_model.py",
                                 opset_imports=[helper.make_opsetid("", self.opset)])


class Decoder(Graph):
    kv_heads = 2
    has_positions, has_mask = True, True

    def __init__(self, options, opset):
        super().__init__(options, opset)
        self.width, self.heads, self.vocabulary = options.width, options.heads, options.vocabulary
        self.head = self.width // self.heads
        if self.kv_heads is None: self.kv_heads = self.heads

    def caches(self, kind=""):
        for i in range(self.options.layers):
            for part in ("key", "value"):
                self.input(f"past_key_values.{i}{kind}.{part}", self.type,
                           ["batch_size", self.kv_heads, "past_sequence_length", self.head])

    def begin(self):
        self.input("input_ids", TensorProto.INT64, ["batch_size", "sequence_length"])
        if self.has_mask: self.input("attention_mask", TensorProto.INT64, ["batch_size", "past_sequence_length + 1"])
        if self.has_positions: self.input("position_ids", TensorProto.INT64, ["batch_size", "sequence_length"])

    def heads_first(self, x, heads):
        shape = self.list(self.side(x, 0), self.side(x, 1), heads, self.head)
        return self.Transpose(self.Reshape(x, shape), perm=[0, 2, 1, 3])

    def rows_first(self, x):
        turned = self.Transpose(x, perm=[0, 2, 1, 3])
        return self.Reshape(turned, self.list(self.side(turned, 0), self.side(turned, 1), self.width))

    def with_past(self, past, x, kind=""):
        both = self.Concat(f"past_key_values.{past}", x, axis=-2)
        name = f"present.{past}"
        self.output(both, name, self.type, ["batch_size", self.kv_heads, "past_sequence_length + sequence_length", self.head])
        return name

    def repeated(self, x):
        """repeat_kv of transformers."""
        group = self.heads // self.kv_heads
        if group == 1: return x
        sides = [self.side(x, 0), self.kv_heads, group, self.side(x, 2), self.head]
        target = self.list(*sides)
        ones = self.ConstantOfShape([5], value=helper.make_tensor("value", TensorProto.INT64, [1], [1]))
        chosen = self.Where(self.Equal(target, self.Mul(ones, -1)), ones, target)
        wide = self.Expand(self.Unsqueeze(x, [2]), chosen)
        return self.Reshape(wide, self.list(sides[0], self.heads, sides[3], self.head))

    def past_length(self, kind=""):
        return self.side(f"past_key_values.0{kind}.key", 2)

    def rms_norm(self, x):
        square = self.Pow(x, self.number(2))
        mean = self.ReduceMean(square, [-1]) if self.opset >= 18 else self.ReduceMean(square, axes=[-1])
        root = self.Sqrt(self.Add(mean, self.number(1e-6 if self.real == np.float32 else 1e-5)))
        weight = self.random.uniform(0.5, 1.5, self.width).astype(self.real)
        return self.Mul(weight, self.Mul(x, self.Div(self.number(1), root)))

    def layer_norm(self, x):
        weight = self.random.uniform(0.5, 1.5, self.width).astype(self.real)
        bias = self.random.uniform(-0.1, 0.1, self.width).astype(self.real)
        if self.opset >= 17: return self.LayerNormalization(x, weight, bias, axis=-1, epsilon=1e-5)
        centred = self.Sub(x, self.ReduceMean(x, axes=[-1]))
        variance = self.ReduceMean(self.Pow(centred, self.number(2)), axes=[-1])
        normal = self.Div(centred, self.Sqrt(self.Add(variance, self.number(1e-5))))
        return self.Add(self.Mul(normal, weight), bias)

    def gated(self, x):
        inner = 2 * self.width
        gate, up = self.MatMul(x, self.weight(self.width, inner)), self.MatMul(x, self.weight(self.width, inner))
        return self.MatMul(self.Mul(self.Mul(gate, self.Sigmoid(gate)), up), self.weight(inner, self.width))

    def end(self, x):
        logits = self.MatMul(x, self.weight(self.width, self.vocabulary))
        self.output(logits, "logits", self.type, ["batch_size", "sequence_length", self.vocabulary])

    def table(self):
        return self.random.standard_normal((self.vocabulary, self.width)).astype(self.real)


class Llama(Decoder):
    def __init__(self, options):
        super().__init__(options, 14)

    def mask(self, x):
        """_prepare_4d_causal_attention_mask_with_cache_position."""
        past, rows = self.past_length(), self.side(x, 1)
        total = self.Add(past, rows)
        positions = self.Range(past, total, 1)
        fill = self.Expand(self.number(self.lowest), self.list(rows, total))
        causal = self.Trilu(fill, 1, upper=1)
        later = self.Greater(self.Range(0, total, 1), self.Reshape(positions, [-1, 1]))
        causal = self.Mul(causal, self.Cast(later, to=self.type))
        causal = self.Expand(self.Unsqueeze(causal, [0, 1]), self.list(self.side(x, 0), 1, rows, total))
        padding = self.Cast(self.Unsqueeze("attention_mask", [1, 2]), to=self.type)
        is_padding = self.Equal(self.Add(causal, padding), self.number(0))
        return self.Where(is_padding, self.number(self.lowest), causal)

    def angles(self):
        inverse = (1 / 10000 ** (np.arange(0, self.head, 2) / self.head)).astype(np.float32).reshape(1, -1, 1)
        wide = self.Expand(inverse, self.list(self.side("position_ids", 0), self.head // 2, 1))
        positions = self.Cast(self.Unsqueeze("position_ids", [1]), to=TensorProto.FLOAT)
        frequencies = self.Transpose(self.MatMul(wide, positions), perm=[0, 2, 1])
        angle = self.Concat(frequencies, frequencies, axis=-1)
        return tuple(self.Cast(self.Mul(function(angle), np.float32(1)), to=self.type) for function in (self.Cos, self.Sin))

    def rotated(self, x, cos, sin):
        half = self.Div(self.side(x, 3), 2)
        first = self.Slice(x, [0], self.Unsqueeze(half, [0]), [3], [1])
        second = self.Slice(x, self.Unsqueeze(half, [0]), [2**63 - 1], [3], [1])
        turned = self.Concat(self.Neg(second), first, axis=-1)
        return self.Add(self.Mul(x, cos), self.Mul(turned, sin))

    def attended(self, q, k, v, mask):
        scores = self.Div(self.MatMul(q, self.Transpose(k, perm=[0, 1, 3, 2])), self.number(np.sqrt(self.head)))
        weights = self.Softmax(self.Add(scores, mask), axis=-1)
        return self.MatMul(weights, v)

    def build(self):
        self.begin()
        self.caches()
        table = self.table()
        x = self.Gather(table, "input_ids")
        mask = self.mask(x)
        cos, sin = (self.Unsqueeze(it, [1]) for it in self.angles())
        for i in range(self.options.layers):
            skip, x = x, self.rms_norm(x)
            q, k, v = (self.heads_first(self.MatMul(x, self.weight(self.width, heads * self.head)), heads)
                       for heads in (self.heads, self.kv_heads, self.kv_heads))
            q, k = self.rotated(q, cos, sin), self.rotated(k, cos, sin)
            k, v = self.with_past(f"{i}.key", k), self.with_past(f"{i}.value", v)
            x = self.rows_first(self.attended(q, self.repeated(k), self.repeated(v), mask))
            x = self.Add(skip, self.MatMul(x, self.weight(self.width, self.width)))
            x = self.Add(x, self.gated(self.rms_norm(x)))
        self.end(self.rms_norm(x))


class Sdpa(Llama):
    has_positions = False

    def __init__(self, options):
        Decoder.__init__(self, options, 18)

    def mask(self, x):
        past, rows = self.past_length(), self.side(x, 1)
        total = self.Add(past, rows)
        self.positions = self.Unsqueeze(self.Range(past, total, 1), [0])
        seen = self.LessOrEqual(self.Range(0, total, 1), self.Reshape(self.positions, [-1, 1]))
        known = self.Unsqueeze(self.Cast("attention_mask", to=TensorProto.BOOL), [1, 2])
        return self.And(self.Unsqueeze(seen, [0, 1]), known)

    def angles(self):
        angle = np.arange(self.options.positions)[:, None] * 10000.0 ** (-np.arange(0, self.head, 2) / self.head)
        angle = np.concatenate((angle, angle), 1)
        return tuple(self.Gather(function(angle).astype(self.real), self.positions) for function in (np.cos, np.sin))

    def rotated(self, x, cos, sin):
        first, second = self.node("Split", x, [self.head // 2] * 2, count=2, axis=-1)
        return self.Add(self.Mul(x, cos), self.Mul(self.Concat(self.Neg(second), first, axis=-1), sin))

    def attended(self, q, k, v, mask):
        """scaled_dot_product_attention of torch.onnx."""
        side = self.Cast(self.Slice(self.Shape(q), [-1], [2**63 - 1]), to=self.type)
        root = self.Sqrt(self.Div(self.number([1]), self.Sqrt(side)))
        turned = self.Transpose(k, perm=[0, 1, 3, 2])
        scores = self.MatMul(self.Mul(q, root), self.Mul(turned, root))
        additive = self.Where(mask, self.number(0), self.number(-np.inf))
        weights = self.Softmax(self.Add(scores, additive), axis=-1)
        weights = self.Where(self.IsNaN(weights), self.number(0), weights)
        return self.MatMul(weights, v)


class GptJ(Sdpa):
    def angles(self):
        angle = np.arange(self.options.positions)[:, None] * 10000.0 ** (-np.arange(0, self.head, 2) / self.head)
        angle = np.repeat(angle, 2, 1)
        return tuple(self.Gather(function(angle).astype(self.real), self.positions) for function in (np.cos, np.sin))

    def rotated(self, x, cos, sin):
        """rotate_every_two of transformers."""
        even, odd = (self.Slice(x, [start], [2**63 - 1], [3], [2]) for start in (0, 1))
        pairs = self.Concat(self.Unsqueeze(self.Neg(odd), [-1]), self.Unsqueeze(even, [-1]), axis=-1)
        turned = self.Reshape(pairs, self.list(*(self.side(pairs, i) for i in range(3)), self.head))
        return self.Add(self.Mul(x, cos), self.Mul(turned, sin))


class Gpt2(Decoder):
    kv_heads = None

    def __init__(self, options):
        super().__init__(options, 14)

    def product(self, x, columns):
        """Conv1D of transformers."""
        rows = x
        inner = self.width if columns != self.width or not self.is_wide else 2 * self.width
        flat = self.Reshape(rows, [-1, inner])
        bias = self.random.uniform(-0.1, 0.1, columns).astype(self.real)
        result = self.Gemm(flat, self.weight(inner, columns), bias)
        return self.Reshape(result, self.list(self.side(rows, 0), self.side(rows, 1), columns))

    def gelu(self, x):
        cube = self.Add(x, self.Mul(self.Pow(x, self.number(3)), self.number(0.044715)))
        inner = self.Add(self.Tanh(self.Mul(cube, self.number(np.sqrt(2 / np.pi)))), self.number(1))
        return self.Mul(self.Mul(x, self.number(0.5)), inner)

    def causal(self, scores, q, k):
        rows, total = self.side(q, 2), self.side(k, 2)
        table = np.tril(np.ones((self.options.positions,) * 2, bool))[None, None]
        part = self.Slice(table, self.Unsqueeze(self.Sub(total, rows), [0]), self.Unsqueeze(total, [0]), [2], [1])
        part = self.Slice(part, [0], self.Unsqueeze(total, [0]), [3], [1])
        return self.Where(part, scores, self.number(self.lowest))

    def build(self):
        self.is_wide = False
        self.begin()
        self.caches()
        table = self.table()
        x = self.Add(self.Gather(table, "input_ids"),
                     self.Gather(self.weight(self.options.positions, self.width, scale=0.5), "position_ids"))
        known = self.Cast(self.Unsqueeze("attention_mask", [1, 2]), to=self.type)
        padding = self.Mul(self.Sub(self.number(1), known), self.number(self.lowest))
        for i in range(self.options.layers):
            parts = self.node("Split", self.product(self.layer_norm(x), 3 * self.width), [self.width] * 3, count=3, axis=2)
            q, k, v = (self.heads_first(part, self.heads) for part in parts)
            k, v = self.with_past(f"{i}.key", k), self.with_past(f"{i}.value", v)
            scores = self.Div(self.MatMul(q, self.Transpose(k, perm=[0, 1, 3, 2])), self.number(np.sqrt(self.head)))
            scores = self.Add(self.causal(scores, q, k), padding)
            attended = self.MatMul(self.Softmax(scores, axis=-1), v)
            x = self.Add(self.product(self.rows_first(attended), self.width), x)
            wide = self.gelu(self.product(self.layer_norm(x), 2 * self.width))
            self.is_wide = True
            x = self.Add(x, self.product(wide, self.width))
            self.is_wide = False
        self.end(self.layer_norm(x))


class Whisper(Decoder):
    kv_heads = None
    has_positions, has_mask = False, False

    def __init__(self, options):
        super().__init__(options, 17)

    def product(self, x, rows, columns, has_bias=True):
        y = self.MatMul(x, self.weight(rows, columns))
        return self.Add(self.random.uniform(-0.1, 0.1, columns).astype(self.real), y) if has_bias else y

    def query(self, x):
        scaled = self.Mul(self.product(x, self.width, self.width), self.number(self.head**-0.5))
        return self.heads_first(scaled, self.heads)

    def inputs_of_encoder(self):
        for i in range(self.options.layers):
            for part in ("key", "value"):
                self.input(f"past_key_values.{i}.encoder.{part}", self.type,
                           ["batch_size", self.heads, "encoder_sequence_length", self.head])

    def of_encoder(self, i):
        """Keys and values of a layer."""
        return f"past_key_values.{i}.encoder.key", f"past_key_values.{i}.encoder.value"

    def mask_of_encoder(self, scores, rows):
        return scores

    def own_mask(self, past, rows, total):
        later = self.Greater(self.Range(0, total, 1), self.Unsqueeze(self.Range(past, total, 1), [1]))
        mask = self.Where(later, self.number(self.lowest), self.number(0))
        return self.Expand(self.Unsqueeze(mask, [0, 1]), self.list(self.side("input_ids", 0), 1, rows, total))

    def build(self):
        self.begin()
        self.caches(".decoder")
        self.inputs_of_encoder()
        table = self.table()
        x = self.Gather(table, "input_ids")
        past, rows = self.past_length(".decoder"), self.side("input_ids", 1)
        total = self.Add(past, rows)
        positions = self.Slice(self.weight(self.options.positions, self.width, scale=0.5), self.Unsqueeze(past, [0]),
                               self.Unsqueeze(total, [0]), [0], [1])
        x = self.Add(x, positions)
        mask = self.own_mask(past, rows, total)
        for i in range(self.options.layers):
            normal = self.layer_norm(x)
            q = self.query(normal)
            k = self.heads_first(self.product(normal, self.width, self.width, False), self.heads)
            v = self.heads_first(self.product(normal, self.width, self.width), self.heads)
            k, v = self.with_past(f"{i}.decoder.key", k), self.with_past(f"{i}.decoder.value", v)
            scores = self.MatMul(q, self.Transpose(k, perm=[0, 1, 3, 2]))
            if mask: scores = self.Add(scores, mask)
            attended = self.rows_first(self.MatMul(self.Softmax(scores, axis=-1), v))
            x = self.Add(x, self.product(attended, self.width, self.width))
            q = self.query(self.layer_norm(x))
            k, v = self.of_encoder(i)
            scores = self.mask_of_encoder(self.MatMul(q, self.Transpose(k, perm=[0, 1, 3, 2])), rows)
            attended = self.rows_first(self.MatMul(self.Softmax(scores, axis=-1), v))
            x = self.Add(x, self.product(attended, self.width, self.width))
            wide = self.product(self.layer_norm(x), self.width, 2 * self.width)
            root = self.Div(wide, self.number(np.sqrt(2)))
            gelu = self.Mul(self.Mul(wide, self.Add(self.Erf(root), self.number(1))), self.number(0.5))
            x = self.Add(x, self.product(gelu, 2 * self.width, self.width))
        self.end(self.layer_norm(x))


class Encoded(Whisper):
    encoder_mask = None

    def inputs_of_encoder(self):
        self.input("encoder_attention_mask", TensorProto.INT64, ["batch_size", "encoder_sequence_length"])
        self.input("encoder_hidden_states", self.type, ["batch_size", "encoder_sequence_length", self.width])

    def of_encoder(self, i):
        k = self.product("encoder_hidden_states", self.width, self.width, False)
        v = self.product("encoder_hidden_states", self.width, self.width)
        return self.heads_first(k, self.heads), self.heads_first(v, self.heads)

    def mask_of_encoder(self, scores, rows):
        self.encoder_mask = self.encoder_mask or self.expanded_mask(rows)
        return self.Add(scores, self.encoder_mask)

    def expanded_mask(self, rows):
        """_expand_mask of transformers."""
        mask = "encoder_attention_mask"
        wide = self.Expand(self.Unsqueeze(mask, [1, 2]), self.list(self.side(mask, 0), 1, rows, self.side(mask, 1)))
        inverted = self.Sub(self.number(1), self.Cast(wide, to=self.type))
        return self.Where(self.Cast(inverted, to=TensorProto.BOOL), self.number(self.lowest), inverted)


class WithoutCache(Encoded):
    def caches(self, kind=""):
        pass

    def past_length(self, kind=""):
        return self.constant(0)

    def with_past(self, past, x, kind=""):
        self.output(x, f"present.{past}", self.type, ["batch_size", self.heads, "sequence_length", self.head])
        return f"present.{past}"

    def of_encoder(self, i):
        names = []
        for part, x in zip(("key", "value"), super().of_encoder(i)):
            names.append(f"present.{i}.encoder.{part}")
            self.output(x, names[-1], self.type, ["batch_size", self.heads, "encoder_sequence_length", self.head])
        return names


class OfOneToken(Encoded):
    """No mask of its own tokens: it was traced with one. The keys of the encoder are inputs, and no outputs."""

    def inputs_of_encoder(self):
        super().inputs_of_encoder()
        Whisper.inputs_of_encoder(self)

    def of_encoder(self, i):
        first = len(self.nodes)
        super().of_encoder(i)  # for the same random numbers
        del self.nodes[first:]
        for part in ("key", "value"):
            none = numpy_helper.from_array(np.zeros((0, self.heads, 0, self.head), self.real))
            value = self.node("Constant", value=none)
            self.output(value, f"present.{i}.encoder.{part}", self.type, ["batch_size", self.heads, "encoder_sequence_length", self.head])
        return Whisper.of_encoder(self, i)

    def own_mask(self, past, rows, total):
        return None


class Merged(Graph):
    """merge_decoders of Optimum: both branches use the same weights and names."""

    def __init__(self, options):
        super().__init__(options, 17)

    def build(self):
        branches = [kind(self.options) for kind in (OfOneToken, WithoutCache)]
        shared = {}
        for branch in branches:
            branch.build()
            read = {it for node in branch.nodes for it in node.input}
            names = {}
            for constant in branch.constants:
                if constant.name not in read: continue
                content = (constant.data_type, tuple(constant.dims), constant.raw_data)
                names[constant.name] = shared.setdefault(content, f"shared_{len(shared)}")
            for node in branch.nodes: node.input[:] = [names.get(it, it) for it in node.input]
            for it in branch.inputs:
                if it.name not in [other.name for other in self.inputs]: self.inputs.append(it)
        for (kind, dims, data), name in shared.items():
            self.constants.append(helper.make_tensor(name, kind, dims, data, raw=True))
        self.input("use_cache_branch", TensorProto.BOOL, [1])
        self.outputs = branches[0].outputs
        names = [it.name for it in self.outputs]
        graphs = []
        for branch, name in zip(branches, ("with_past", "no_past")):
            by_name = {it.name: it for it in branch.outputs}
            graphs.append(helper.make_graph(branch.nodes, name, [], [by_name[it] for it in names]))
        self.nodes = [helper.make_node("If", ["use_cache_branch"], names, name="optimum::if", then_branch=graphs[0], else_branch=graphs[1])]


FORMS = {"llama": Llama, "sdpa": Sdpa, "gptj": GptJ, "gpt2": Gpt2, "whisper": Whisper, "encoded": Encoded,
         "merged": Merged}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("form", choices=FORMS)
    parser.add_argument("file", type=pathlib.Path, help="the ONNX file to write")
    parser.add_argument("--type", choices=["f16", "f32"], default="f32")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--vocabulary", type=int, default=96)
    parser.add_argument("--positions", type=int, default=64, help="rows of the tables")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    graph = FORMS[options.form](options)
    graph.build()
    options.file.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(graph.model(options.form), str(options.file))
    print(f"{options.file}: {options.file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
