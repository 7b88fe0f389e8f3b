# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Quantizes a float32 ONNX model in the forms that ONNX Runtime's static quantization writes.

QDQ puts a QuantizeLinear and a DequantizeLinear around each quantized value; QOperator replaces nodes by QLinearConv and
others. Activations are asymmetric with one scale. Weights are symmetric: int8, or uint8 with a zero point of 128; of Conv
with a scale per output channel, if `per_channel`. Biases are int32. A Relu or Clip that the layer before it feeds alone
takes its value without a Q/DQ between the two, as ONNX Runtime does.
"""
import collections
import dataclasses

import numpy as np
import onnx
from onnx import helper, numpy_helper

LAYERS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
# With inputs and a first output of one type.
SAME = ("Abs", "Add", "AveragePool", "BatchNormalization", "Clip", "Concat", "Div", "Elu", "Erf", "Exp", "Expand", "Flatten",
        "Gather", "GlobalAveragePool", "GlobalMaxPool", "HardSigmoid", "HardSwish", "InstanceNormalization",
        "LayerNormalization", "LeakyRelu", "Log", "Max", "MaxPool", "Min", "Mul", "Pad", "Pow", "PRelu", "ReduceMax",
        "ReduceMean", "Relu", "Reshape", "Resize", "Sigmoid", "Slice", "Softmax", "Split", "Sqrt", "Squeeze", "Sub", "Tanh",
        "Transpose", "Unsqueeze")


@dataclasses.dataclass
class Form:
    name: str
    type: type = np.uint8  # of activations
    layers_only: bool = False
    folded: bool = False  # by ONNX Runtime's basic optimizations, before
    per_channel: bool = False
    operators: bool = False  # QOperator


FORMS = [Form(f"QDQ {name} {'layers' if layers else 'all'}{' folded' if folded else ''}", kind, layers, folded, kind is np.int8)
         for name, kind in (("u8", np.uint8), ("s8", np.int8)) for layers in (False, True) for folded in (False, True)]
FORMS.append(Form("QOperator u8", folded=True, operators=True))


def limits(kind):
    info = np.iinfo(kind)
    return int(info.min), int(info.max)


def parameters(low, high, kind):
    """Scale and zero point of an activation; 0 is exact."""
    low, high = min(float(low), 0.0), max(float(high), 0.0)
    scale = np.float32((high - low) / 255) if high > low else np.float32(1)
    least, most = limits(kind)
    return scale, kind(np.clip(round(least - low / float(scale)), least, most))


class Quantizer:
    def __init__(self, model, ranges, form):
        self.form, self.ranges = form, dict(ranges)
        self.model = onnx.ModelProto()
        self.model.CopyFrom(model)
        self.graph = self.model.graph
        self.constants = {t.name: numpy_helper.to_array(t) for t in self.graph.initializer}
        for node in self.graph.node:
            if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
                self.constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
        self.readers = collections.Counter(name for node in self.graph.node for name in node.input)
        self.readers.update(output.name for output in self.graph.output)
        self.nodes, self.quantized, self.dequantized, self.added = [], {}, {}, set()

    def constant(self, name, array):
        if name not in self.added: self.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
        self.added.add(name)
        return name

    def add(self, op, inputs, output, domain="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=f"{output}_{op}", domain=domain, **attributes))
        return output

    def is_float(self, name):
        if name in self.constants: return self.constants[name].dtype == np.float32
        return name in self.ranges

    def of_value(self, name):
        """Names of the scale and the zero point of an activation, or of a constant that is quantized as one."""
        low, high = self.ranges[name] if name in self.ranges else (self.constants[name].min(), self.constants[name].max())
        scale, zero = parameters(low, high, self.form.type)
        return self.constant(f"{name}_scale", scale), self.constant(f"{name}_zero_point", zero)

    def codes(self, name):
        if name not in self.quantized:
            self.quantized[name] = self.add("QuantizeLinear", [name, *self.of_value(name)], f"{name}_codes")
        return self.quantized[name]

    def round_trip(self, name):
        if name not in self.dequantized:
            self.dequantized[name] = self.add("DequantizeLinear", [self.codes(name), *self.of_value(name)], f"{name}_rounded")
        return self.dequantized[name]

    def weight(self, name, axis):
        """Names of the integers, the scales and the zero points of a weight."""
        values, kind = self.constants[name], self.form.type
        others = tuple(d for d in range(values.ndim) if d != axis)
        most = np.abs(values).max(others) if axis is not None else np.abs(values).max()
        scales = np.where(most > 0, most / 127, 1).astype(np.float32)
        wide = scales.reshape([-1 if d == axis else 1 for d in range(values.ndim)]) if axis is not None else scales
        zero = 0 if kind is np.int8 else 128
        codes = np.clip(np.round(values / wide), -127, 127).astype(np.int32) + zero
        return (self.constant(f"{name}_codes", codes.astype(kind)), self.constant(f"{name}_scales", scales),
                self.constant(f"{name}_zero_points", np.full(scales.shape, zero, kind))), scales

    def bias(self, name, input_scale, scales):
        sums = (np.float32(input_scale) * scales).astype(np.float32)
        codes = np.round(self.constants[name] / sums.astype(float))
        if np.abs(codes).max(initial=0) > 2**31 - 1: return None, None
        return self.constant(f"{name}_codes", codes.astype(np.int32)), self.constant(f"{name}_scales", sums)

    def axis_of(self, node):
        if not self.form.per_channel or node.op_type != "Conv": return None
        return 0

    def is_layer(self, node):
        return (node.op_type in LAYERS and node.domain == "" and self.is_float(node.input[0]) and
                node.input[0] not in self.constants and self.is_float(node.input[1]))

    def layer(self, node):
        changed = onnx.NodeProto()
        changed.CopyFrom(node)
        changed.input[0] = self.round_trip(node.input[0])
        if node.input[1] not in self.constants:
            changed.input[1] = self.round_trip(node.input[1])
        else:
            axis = self.axis_of(node)
            names, scales = self.weight(node.input[1], axis)
            plain = {} if axis is None else {"axis": axis}
            rounded = f"{node.input[1]}_rounded"
            if rounded not in self.added: self.add("DequantizeLinear", names, rounded, **plain)
            self.added.add(rounded)
            changed.input[1] = rounded
            if len(node.input) > 2 and node.input[2] in self.constants:
                scale = numpy_helper.to_array(next(t for t in self.graph.initializer if t.name == f"{node.input[0]}_scale"))
                codes, scales = self.bias(node.input[2], scale, scales)
                rounded = f"{node.input[2]}_of_{node.input[0]}"
                if codes:
                    plain = {"axis": 0} if axis is not None else {}
                    changed.input[2] = self.add("DequantizeLinear", [codes, scales], f"{node.name or node.output[0]}_bias", **plain)
        self.nodes.append(changed)

    def between(self, node):
        changed = onnx.NodeProto()
        changed.CopyFrom(node)
        bounds = node.op_type in ("Clip", "Pad", "Resize")  # their further inputs are no data
        for i, name in enumerate(node.input):
            if not name or not self.is_float(name) or (bounds and i > 0): continue
            if self.fuses(node): continue
            if node.op_type in ("BatchNormalization", "InstanceNormalization", "LayerNormalization", "PRelu") and i > 0: continue
            if name in self.constants and self.constants[name].size == 0: continue
            changed.input[i] = self.round_trip(name)
        self.nodes.append(changed)

    def fuses(self, node):
        """A function that the layer before it takes: its input has no round trip."""
        if node.op_type not in ("Relu", "Clip"): return False
        before = self.writer.get(node.input[0])
        return before is not None and self.is_layer(before) and self.readers[node.input[0]] == 1

    def run(self):
        self.writer = {name: node for node in self.graph.node for name in node.output}
        for node in self.graph.node:
            if self.form.operators and self.as_operator(node): continue
            if self.is_layer(node): self.layer(node)
            elif not self.form.layers_only and node.op_type in SAME and node.domain == "" and self.is_float(node.output[0]) and (
                    node.input[0] not in self.constants or len(node.input) > 1) and not self.form.operators:
                self.between(node)
            else: self.plain(node)
        for output in self.graph.output:
            if not self.form.layers_only and output.name in self.ranges and not self.form.operators: self.rounded_output(output.name)
        del self.graph.node[:]
        self.graph.node.extend(self.nodes)
        del self.graph.value_info[:]
        return self.cleaned()

    def rounded_output(self, name):
        for node in self.nodes:
            for i, output in enumerate(node.output):
                if output == name: node.output[i] = f"{name}_before"
            for i, read in enumerate(node.input):
                if read == name: node.input[i] = f"{name}_before"
        scale, zero = self.of_value(name)
        codes = self.quantized.get(name) or self.add("QuantizeLinear", [f"{name}_before", scale, zero], f"{name}_codes")
        self.add("DequantizeLinear", [codes, scale, zero], name)

    # ---- QOperator: values live as bytes, and become real where a node without such an operator reads them -----------------

    def plain(self, node):
        changed = onnx.NodeProto()
        changed.CopyFrom(node)
        self.nodes.append(changed)

    def as_operator(self, node):
        op = node.op_type
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        if not self.is_float(node.output[0] if node.output else "") or node.input[0] in self.constants: return False
        x = node.input[0]
        if not self.is_float(x): return False
        if op == "Softmax": self.ranges[node.output[0]] = 0.0, 255 / 256  # QLinearSoftmax needs a scale of 1 / 256
        out, microsoft = f"{node.output[0]}_codes", {"domain": "com.microsoft"}
        result = self.of_value(node.output[0])
        data = lambda name: (self.codes(name), *self.of_value(name))
        if op == "Conv" and node.input[1] in self.constants:
            names, scales = self.weight(node.input[1], None)
            inputs = [*data(x), *names, *result]
            if len(node.input) > 2:
                codes, _ = self.bias(node.input[2], numpy_helper.to_array(self.tensor(f"{x}_scale")), scales)
                if not codes: return False
                inputs.append(codes)
            self.add("QLinearConv", inputs, out, **attributes)
        elif op == "MatMul" and self.is_float(node.input[1]):
            other = self.weight(node.input[1], None)[0] if node.input[1] in self.constants else data(node.input[1])
            self.add("QLinearMatMul", [*data(x), *other, *result], out)
        elif op == "Gemm" and node.input[1] in self.constants and attributes.get("beta", 1) == 1:
            names, scales = self.weight(node.input[1], None)
            inputs = [*data(x), *names]
            codes = None
            if len(node.input) > 2: codes, _ = self.bias(node.input[2], numpy_helper.to_array(self.tensor(f"{x}_scale")), scales)
            attributes.pop("beta", None)
            self.add("QGemm", [*inputs, codes or "", *result], out, **microsoft, **attributes)
        elif op in ("Add", "Mul") and all(self.is_float(name) for name in node.input):
            self.add(f"QLinear{op}", [*data(x), *data(node.input[1]), *result], out, **microsoft)
        elif op in ("Sigmoid", "LeakyRelu", "Softmax"):
            if op == "Softmax": attributes["opset"] = self.opset()
            self.add(f"QLinear{op}", [*data(x), *result], out, **microsoft, **attributes)
        elif op == "GlobalAveragePool":
            self.add("QLinearGlobalAveragePool", [*data(x), *result], out, **microsoft, channels_last=0)
        elif op == "AveragePool":
            self.add("QLinearAveragePool", [*data(x), *result], out, **microsoft, **attributes)
        elif op == "Concat":
            inputs = [*result]
            for name in node.input: inputs += data(name)
            self.add("QLinearConcat", inputs, out, **microsoft, **attributes)
        else: return False
        self.quantized[node.output[0]] = out
        self.add("DequantizeLinear", [out, *result], node.output[0])
        return True

    def tensor(self, name):
        return next(t for t in self.graph.initializer if t.name == name)

    def opset(self):
        return next(it.version for it in self.model.opset_import if it.domain == "")

    def cleaned(self):
        """Without nodes and constants that nothing reads."""
        outputs = {output.name for output in self.graph.output}
        while True:
            read = outputs | {name for node in self.graph.node for name in node.input}
            kept = [node for node in self.graph.node if any(name in read for name in node.output)]
            if len(kept) == len(self.graph.node): break
            del self.graph.node[:]
            self.graph.node.extend(kept)
        tensors = [t for t in self.graph.initializer if t.name in read]
        del self.graph.initializer[:]
        self.graph.initializer.extend(tensors)
        inputs = [value for value in self.graph.input if value.name not in self.constants]
        del self.graph.input[:]
        self.graph.input.extend(inputs)
        if self.form.operators and not any(it.domain == "com.microsoft" for it in self.model.opset_import):
            self.model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
        return self.model


def quantized(model, ranges, form):
    """`ranges`: the least and the greatest element of each float32 value that the model computes or is given."""
    return Quantizer(model, ranges, form).run()
