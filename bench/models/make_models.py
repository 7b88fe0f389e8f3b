#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Writes quantized ONNX models, to measure `qgen-model` and compare it with others.

    bench/models/make_models.py build/models                      # all of them
    bench/models/make_models.py build/models resnet50 --size 64   # one, for images of 64 x 64

The networks follow their papers. Weights are random numbers from a fixed seed. They are scaled so that each layer's
output has a standard deviation of one, as after a trained network's normalization. Scales and zero points come from the
least and the greatest value of each tensor on random inputs (min-max calibration). Every operator has QuantizeLinear
and DequantizeLinear around it, as ONNX Runtime's static quantization writes them: weights int8 with one scale per
channel, activations int8 or uint8 with one scale per tensor, biases of Conv and Gemm int32 with the product of both
scales. The transformer's 4-bit weights are MatMulNBits, as ONNX Runtime's weight-only quantization writes them.

NAME.input.npy next to NAME.onnx is one random input. Needs Debian's python3-onnx and python3-numpy.
"""

import argparse
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
MICROSOFT = "com.microsoft"


def columns(x, kernel, stride, pads, dilation=1, fill=0.0):
    """[N, C, H, W] -> [N, C, kernel, kernel, OH, OW], the taps of each place."""
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])), constant_values=fill)
    height = (x.shape[2] - dilation * (kernel - 1) - 1) // stride + 1
    width = (x.shape[3] - dilation * (kernel - 1) - 1) // stride + 1
    taps = [[x[:, :, i * dilation:i * dilation + stride * (height - 1) + 1:stride,
               j * dilation:j * dilation + stride * (width - 1) + 1:stride] for j in range(kernel)]
            for i in range(kernel)]
    return np.stack([np.stack(row, 2) for row in taps], 2)


def convolve(x, weight, stride, pads, groups):
    outputs, inner, kernel = weight.shape[0], weight.shape[1], weight.shape[2]
    patches = columns(x, kernel, stride, pads)
    n, _, _, _, height, width = patches.shape
    if inner == 1 and groups == x.shape[1]:
        return np.einsum("ncijhw,cij->nchw", patches, weight[:, 0], optimize=True)
    assert groups == 1
    flat = patches.transpose(0, 4, 5, 1, 2, 3).reshape(n * height * width, inner * kernel * kernel)
    y = flat @ weight.reshape(outputs, -1).T
    return y.reshape(n, height, width, outputs).transpose(0, 3, 1, 2)


class Network:
    """A float network that computes its calibration inputs while it is built, and writes itself quantized.

    A tensor is a name; `values` has what it is on the calibration inputs.
    """

    def __init__(self, seed, is_unsigned):
        self.random = np.random.default_rng(seed)
        self.is_unsigned = is_unsigned
        self.values = {}
        self.nodes = []
        self.constants = []
        self.quantized = {}  # tensor -> its dequantized value
        self.scales = {}

    # ---- quantization

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def scale_of(self, tensor):
        """Scale and zero point of an activation, from its range; 0 is always in it, so that it is exact."""
        if tensor not in self.scales:
            low, high = min(float(self.values[tensor].min()), 0.0), max(float(self.values[tensor].max()), 0.0)
            scale = np.float32((high - low) / 255) if high > low else np.float32(1)
            least = 0 if self.is_unsigned else -128
            zero_point = int(np.clip(np.rint(least - low / scale), least, least + 255))
            self.scales[tensor] = scale, zero_point
        return self.scales[tensor]

    def dequantized(self, tensor):
        """`tensor` through QuantizeLinear and DequantizeLinear, once."""
        if tensor not in self.quantized:
            scale, zero_point = self.scale_of(tensor)
            dtype = np.uint8 if self.is_unsigned else np.int8
            names = [self.constant(f"{tensor}.scale", np.array(scale, np.float32)),
                     self.constant(f"{tensor}.zero_point", np.array(zero_point, dtype))]
            self.node("QuantizeLinear", [tensor, *names], f"{tensor}.q")
            self.node("DequantizeLinear", [f"{tensor}.q", *names], f"{tensor}.dq")
            self.quantized[tensor] = f"{tensor}.dq"
        return self.quantized[tensor]

    def weight(self, name, array, axis):
        """int8, one scale a channel; gives these scales."""
        others = tuple(d for d in range(array.ndim) if d != axis)
        scales = np.maximum(np.abs(array).max(axis=others), 1e-6).astype(np.float32) / np.float32(127)
        shape = [1] * array.ndim
        shape[axis] = -1
        codes = np.clip(np.rint(array / scales.reshape(shape)), -127, 127).astype(np.int8)
        names = [self.constant(f"{name}.weight", codes), self.constant(f"{name}.weight_scale", scales),
                 self.constant(f"{name}.weight_zero_point", np.zeros(len(scales), np.int8))]
        self.node("DequantizeLinear", names, f"{name}.weight_dq", axis=axis)
        return scales

    def bias(self, name, bias, scales, source):
        """int32, one for each channel of the weight."""
        bias_scales = (self.scale_of(source)[0] * scales).astype(np.float32)
        names = [self.constant(f"{name}.bias", np.rint(bias / bias_scales).astype(np.int32)),
                 self.constant(f"{name}.bias_scale", bias_scales),
                 self.constant(f"{name}.bias_zero_point", np.zeros(len(scales), np.int32))]
        self.node("DequantizeLinear", names, f"{name}.bias_dq", axis=0)

    # ---- operators

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=f"{op}_{len(self.nodes)}", **attributes))
        return output

    def layer(self, name, x, weight, axis, compute, op, **attributes):
        """A layer with a weight: scaled so that its output has a standard deviation of one."""
        source = self.dequantized(x)
        y = compute(weight)
        weight = weight / max(float(y.std()), 1e-6)
        y /= max(float(y.std()), 1e-6)
        bias = self.random.normal(0, 0.1, weight.shape[axis])
        self.bias(name, bias, self.weight(name, weight, axis), x)
        self.values[name] = y + (bias.reshape(1, -1, 1, 1) if y.ndim == 4 else bias)
        return self.node(op, [source, f"{name}.weight_dq", f"{name}.bias_dq"], name, **attributes)

    def conv(self, name, x, outputs, kernel, stride=1, groups=1):
        inner = self.values[x].shape[1] // groups
        weight = self.random.normal(0, 1, (outputs, inner, kernel, kernel)).astype(np.float32)
        pads = [kernel // 2] * 4
        return self.layer(name, x, weight, 0, lambda w: convolve(self.values[x], w, stride, pads, groups), "Conv",
                          kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=pads, group=groups)

    def conv_transpose(self, name, x, outputs):
        """Twice as large: taps of 2, stride 2."""
        channels = self.values[x].shape[1]
        weight = self.random.normal(0, 1, (channels, outputs, 2, 2)).astype(np.float32)

        def compute(w):
            n, _, height, width = self.values[x].shape
            y = np.einsum("nchw,coij->nohiwj", self.values[x], w, optimize=True)
            return y.reshape(n, outputs, 2 * height, 2 * width)

        return self.layer(name, x, weight, 1, compute, "ConvTranspose", kernel_shape=[2, 2], strides=[2, 2])

    def linear(self, name, x, outputs):
        weight = self.random.normal(0, 1, (outputs, self.values[x].shape[-1])).astype(np.float32)
        return self.layer(name, x, weight, 0, lambda w: self.values[x] @ w.T, "Gemm", transB=1)

    def matmul(self, name, x, outputs):
        """A linear layer of any number of tokens, whose bias an Add of reals adds."""
        source = self.dequantized(x)
        inner = self.values[x].shape[-1]
        weight = (self.random.normal(0, 1, (inner, outputs)) / np.sqrt(inner)).astype(np.float32)
        bias = self.random.normal(0, 0.1, outputs).astype(np.float32)
        self.weight(name, weight, 1)
        self.values[name] = self.values[x] @ weight + bias
        self.node("MatMul", [source, f"{name}.weight_dq"], f"{name}.product")
        return self.node("Add", [f"{name}.product", self.constant(f"{name}.bias", bias)], name)

    def matmul_of_nibbles(self, name, x, outputs, block=32):
        """A linear layer of reals whose weight has four bits and a scale for each block along K."""
        inner = self.values[x].shape[-1]
        weight = (self.random.normal(0, 1, (outputs, inner // block, block)) / np.sqrt(inner)).astype(np.float32)
        scales = np.abs(weight).max(axis=2) / np.float32(7)
        codes = (np.clip(np.rint(weight / scales[:, :, None]), -8, 7) + 8).astype(np.uint8)
        known = (codes.astype(np.float32) - 8) * scales[:, :, None]
        self.values[name] = self.values[x] @ known.reshape(outputs, inner).T
        names = [self.constant(f"{name}.weight", codes[:, :, 0::2] | codes[:, :, 1::2] << 4),
                 self.constant(f"{name}.weight_scale", scales.reshape(-1))]
        return self.node("MatMulNBits", [x, *names], name, domain=MICROSOFT, K=inner, N=outputs, bits=4,
                         block_size=block)

    def relu(self, name, x):
        """Reads what x is before it is quantized."""
        self.values[name] = np.maximum(self.values[x], 0)
        return self.node("Relu", [x], name)

    def relu6(self, name, x):
        self.values[name] = np.clip(self.values[x], 0, 6)
        if not any(c.name == "six" for c in self.constants):
            self.constant("zero", np.array(0, np.float32))
            self.constant("six", np.array(6, np.float32))
        return self.node("Clip", [x, "zero", "six"], name)

    def add(self, name, x, y):
        self.values[name] = self.values[x] + self.values[y]
        return self.node("Add", [self.dequantized(x), self.dequantized(y)], name)

    def max_pool(self, name, x, kernel, stride, pad):
        self.values[name] = columns(self.values[x], kernel, stride, [pad] * 4, fill=-np.inf).max((2, 3))
        self.scales[name] = self.scale_of(x)
        return self.node("MaxPool", [self.dequantized(x)], name, kernel_shape=[kernel] * 2, strides=[stride] * 2,
                         pads=[pad] * 4)

    def global_pool(self, name, x):
        self.values[name] = self.values[x].mean((2, 3), keepdims=True)
        return self.node("GlobalAveragePool", [self.dequantized(x)], name)

    def flatten(self, name, x):
        self.values[name] = self.values[x].reshape(len(self.values[x]), -1)
        self.scales[name] = self.scale_of(x)
        return self.node("Flatten", [self.dequantized(x)], name)

    def concat(self, name, x, y):
        self.values[name] = np.concatenate([self.values[x], self.values[y]], 1)
        return self.node("Concat", [self.dequantized(x), self.dequantized(y)], name, axis=1)

    def product(self, name, x, y):
        """Of matrices of activations."""
        self.values[name] = self.values[x] @ self.values[y]
        return self.node("MatMul", [self.dequantized(x), self.dequantized(y)], name)

    def heads(self, name, x, count, order):
        """[batch, tokens, channels] -> [batch, tokens, heads, channels of one], its dimensions in `order`."""
        batch, tokens, channels = self.values[x].shape
        shape = self.constant(f"{name}.shape", np.array([0, tokens, count, channels // count], np.int64))
        self.values[name] = self.values[x].reshape(batch, tokens, count, -1).transpose(order)
        self.scales[name] = self.scale_of(x)
        self.node("Reshape", [self.dequantized(x), shape], f"{name}.parts")
        return self.node("Transpose", [f"{name}.parts"], name, perm=order)

    def joined_heads(self, name, x):
        batch, count, tokens, channels = self.values[x].shape
        shape = self.constant(f"{name}.shape", np.array([0, tokens, count * channels], np.int64))
        self.values[name] = self.values[x].transpose(0, 2, 1, 3).reshape(batch, tokens, -1)
        self.scales[name] = self.scale_of(x)
        self.node("Transpose", [self.dequantized(x)], f"{name}.parts", perm=[0, 2, 1, 3])
        return self.node("Reshape", [f"{name}.parts", shape], name)

    # Floating-point: the parts that stay so between quantized layers.

    def sum_of_reals(self, name, x, y):
        self.values[name] = self.values[x] + self.values[y]
        return self.node("Add", [x, y], name)

    def product_of_reals(self, name, x, y):
        self.values[name] = self.values[x] * self.values[y]
        return self.node("Mul", [x, y], name)

    def softmax_of(self, name, x, factor):
        scaled = self.values[x] * np.float32(factor)
        powers = np.exp(scaled - scaled.max(-1, keepdims=True))
        self.values[name] = powers / powers.sum(-1, keepdims=True)
        self.node("Mul", [x, self.constant(f"{name}.factor", np.array(factor, np.float32))], f"{name}.scaled")
        return self.node("Softmax", [f"{name}.scaled"], name, axis=-1)

    def layer_norm(self, name, x):
        channels = self.values[x].shape[-1]
        weight, bias = (self.random.normal(mean, 0.1, channels).astype(np.float32) for mean in (1, 0))
        value = self.values[x]
        spread = np.sqrt(value.var(-1, keepdims=True) + 1e-5)
        self.values[name] = (value - value.mean(-1, keepdims=True)) / spread * weight + bias
        names = [self.constant(f"{name}.weight", weight), self.constant(f"{name}.bias", bias)]
        return self.node("LayerNormalization", [x, *names], name, axis=-1, epsilon=1e-5)

    def silu(self, name, x):
        self.values[f"{name}.gate"] = 1 / (1 + np.exp(-self.values[x]))
        return self.product_of_reals(name, x, self.node("Sigmoid", [x], f"{name}.gate"))

    # ---- the file

    def input(self, shape):
        self.values["input"] = self.random.normal(0, 1, shape).astype(np.float32)
        return "input"

    def save(self, folder, name, output):
        last = self.dequantized(output)
        shape = self.values["input"].shape
        batch = ["batch", *shape[1:]]
        graph = helper.make_graph(
            self.nodes, name, [helper.make_tensor_value_info("input", TensorProto.FLOAT, batch)],
            [helper.make_tensor_value_info(last, TensorProto.FLOAT, ["batch", *self.values[output].shape[1:]])],
            self.constants)
        opsets = [helper.make_opsetid("", OPSET)]
        if any(node.domain == MICROSOFT for node in self.nodes):
            opsets.append(helper.make_opsetid(MICROSOFT, 1))
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="qgen")
        onnx.checker.check_model(model)
        onnx.save(model, str(folder / f"{name}.onnx"))


def resnet50(net, size):
    """He, Zhang, Ren, Sun 2015, with the stride in the 3x3 convolution, as PyTorch has it."""
    x = net.input((2, 3, size, size))
    x = net.max_pool("pool", net.relu("relu", net.conv("conv1", x, 64, 7, 2)), 3, 2, 1)
    for stage, (width, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)]):
        for block in range(blocks):
            name = f"layer{stage + 1}.{block}"
            stride = 2 if stage > 0 and block == 0 else 1
            y = net.relu(f"{name}.relu1", net.conv(f"{name}.conv1", x, width, 1))
            y = net.relu(f"{name}.relu2", net.conv(f"{name}.conv2", y, width, 3, stride))
            y = net.conv(f"{name}.conv3", y, 4 * width, 1)
            shortcut = net.conv(f"{name}.downsample", x, 4 * width, 1, stride) if block == 0 else x
            x = net.relu(f"{name}.relu3", net.add(f"{name}.add", y, shortcut))
    return net.linear("fc", net.flatten("flat", net.global_pool("mean", x)), 1000)


def mobilenet_v2(net, size):
    """Sandler, Howard, Zhu, Zhmoginov, Chen 2018."""
    x = net.relu6("relu", net.conv("conv1", net.input((2, 3, size, size)), 32, 3, 2))
    channels = 32
    for stage, (expansion, outputs, blocks, stride) in enumerate(
            [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]):
        for block in range(blocks):
            name = f"block{stage + 1}.{block}"
            y, wide = x, channels * expansion
            if expansion > 1:
                y = net.relu6(f"{name}.relu1", net.conv(f"{name}.expand", y, wide, 1))
            step = stride if block == 0 else 1
            y = net.relu6(f"{name}.relu2", net.conv(f"{name}.depthwise", y, wide, 3, step, wide))
            y = net.conv(f"{name}.project", y, outputs, 1)
            x = net.add(f"{name}.add", y, x) if step == 1 and channels == outputs else y
            channels = outputs
    x = net.relu6("relu_last", net.conv("conv_last", x, 1280, 1))
    return net.linear("classifier", net.flatten("flat", net.global_pool("mean", x)), 1000)


def unet(net, size):
    """Ronneberger, Fischer, Brox 2015, with three levels and padded convolutions."""
    def double(name, x, channels):
        x = net.relu(f"{name}.relu1", net.conv(f"{name}.conv1", x, channels, 3))
        return net.relu(f"{name}.relu2", net.conv(f"{name}.conv2", x, channels, 3))

    a = double("down1", net.input((2, 3, size, size)), 16)
    b = double("down2", net.max_pool("pool1", a, 2, 2, 0), 32)
    c = double("bottom", net.max_pool("pool2", b, 2, 2, 0), 64)
    d = double("up2", net.concat("skip2", net.conv_transpose("rise2", c, 32), b), 32)
    e = double("up1", net.concat("skip1", net.conv_transpose("rise1", d, 16), a), 16)
    return net.conv("head", e, 4, 1)


def transformer(net, tokens, channels=256, heads=4):
    """A block with normalization first: attention in int8 (Vaswani et al. 2017), then a gated layer (Shazeer 2020) whose
    weights have four bits."""
    x = net.input((2, tokens, channels))
    y = net.layer_norm("attention.norm", x)
    query = net.heads("query.heads", net.matmul("query", y, channels), heads, [0, 2, 1, 3])
    key = net.heads("key.heads", net.matmul("key", y, channels), heads, [0, 2, 3, 1])
    value = net.heads("value.heads", net.matmul("value", y, channels), heads, [0, 2, 1, 3])
    shares = net.softmax_of("shares", net.product("scores", query, key), (channels / heads)**-0.5)
    mixed = net.joined_heads("mixed.heads", net.product("mixed", shares, value))
    x = net.sum_of_reals("attention.sum", x, net.matmul("attention.out", mixed, channels))
    y = net.layer_norm("mlp.norm", x)
    gate = net.silu("mlp.silu", net.matmul_of_nibbles("mlp.gate", y, 2 * channels))
    y = net.product_of_reals("mlp.gated", gate, net.matmul_of_nibbles("mlp.up", y, 2 * channels))
    return net.sum_of_reals("mlp.sum", x, net.matmul_of_nibbles("mlp.down", y, channels))


NETWORKS = {"resnet50": (resnet50, 224), "mobilenet_v2": (mobilenet_v2, 224), "unet": (unet, 128),
            "transformer": (transformer, 64)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="where the models go")
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=f"of {', '.join(NETWORKS)}; without: all")
    parser.add_argument("--size", type=int, help="of the images' sides, or how many tokens; without: %s" % ", ".join(
                            f"{name} {size}" for name, (_, size) in NETWORKS.items()))
    parser.add_argument("--unsigned", action="store_true", help="activations in uint8 instead of int8")
    arguments = parser.parse_args()
    for name in arguments.networks:
        if name not in NETWORKS:
            parser.error(f"'{name}' is none of {', '.join(NETWORKS)}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.networks or NETWORKS:
        build, size = NETWORKS[name]
        net = Network(1, arguments.unsigned)
        net.save(arguments.folder, name, build(net, arguments.size or size))
        shape = net.values["input"].shape[1:]
        np.save(arguments.folder / f"{name}.input.npy",
                np.random.default_rng(7).normal(0, 1, (1, *shape)).astype(np.float32))
        print(f"{arguments.folder / name}.onnx")


if __name__ == "__main__":
    main()
