#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Draws a held-out set: 102 convolutions, linear layers and products, as YAML for qgen-tune.

    bench/held_out/make_problems.py SEED > problems.yaml             # layers of networks.py, drawn by this seed
    bench/held_out/make_problems.py SEED --made-up > problems.yaml   # random sizes, uniform in the logarithm, most round
    qgen-tune --problems problems.yaml --strategy batches --budget 300

The same seed draws the same problems; docs/results_choices.md names the seeds that were used.
"""

import argparse
import random

import networks

CONVOLUTIONS = {"q8ta_conv2d": 28, "q8ta_conv2d_transposed": 6, "conv2d_q8ta_q8csw": 6, "conv2d_q8csw": 4, "conv2d": 4}
PRODUCTS = {"q8ta_linear": 10, "linear_q8csw": 9, "linear_q4gsw": 8, "linear_q8ta_q8csw": 8, "linear_dq8ca_q8csw": 6,
            "linear_dq8ca_q4gsw": 6, "matmul": 7}
REALS = ["f16", "f16", "f32"]  # of linear layers and products
INT8_INPUT = ["input_scale=0.04", "input_zero_point=-3"]
INT8_OUTPUT = ["output_scale=0.05", "output_zero_point=5"]


class Draw(random.Random):
    def between(self, least, most):
        """A real, by its logarithm."""
        return least * (most / least) ** self.random()

    def side(self, least, most, step):
        """A multiple of step, or in one of three cases of an eighth of it."""
        side = self.between(least, most)
        if self.random() < 0.66:
            return max(step, round(side / step) * step)
        eighth = step // 8
        return max(least, round(side / eighth) * eighth)

    def rows(self):
        """Of activations: a token, a batch, a prompt."""
        return self.choice([1, 1, int(self.between(2, 9)), int(self.between(8, 33)), int(self.between(32, 257)),
                            int(self.between(128, 1025)), 2 ** self.randint(1, 11)])


def made_up_convolution(draw, is_transposed):
    """Images, and a layer. A window, a stride and sides that together are no convolution are drawn anew."""
    while True:
        kind = draw.choice(["window"] * 3 + ["pointwise"] * 2 + ["depthwise", "grouped"])
        if is_transposed and kind in ("pointwise", "depthwise"):
            continue
        images = draw.choice([1, 1, 1, 2, 4, 8, 16, 32])
        channels = draw.side(16, 1024, 16) if draw.random() < 0.85 else draw.choice([1, 3, 4, 6, 12])
        outputs = draw.side(16, 1024, 16)
        width = int(draw.between(7, 225))
        height = width if draw.random() < 0.7 else int(draw.between(7, 225))
        taps = 1 if kind == "pointwise" else draw.choice([2, 3, 4, 4, 5] if is_transposed else [3, 3, 3, 5, 7, 2])
        stride = draw.choice([1, 2, 2, 2] if is_transposed else [1, 1, 1, 2])
        padding = draw.choice([0, taps // 2]) if taps > 1 else 0
        groups = 1
        if kind == "depthwise":
            outputs = groups = channels
        elif kind == "grouped":
            groups = draw.choice([2, 4, 8, 32])
            channels, outputs = (max(1, sides // (4 * groups)) * 4 * groups for sides in (channels, outputs))
        layer = networks.Convolution(channels, outputs, (height, width), (taps,) * 2, (stride,) * 2, (padding,) * 2,
                                     (1,) * 2, groups, 0, is_transposed)
        if is_fit(images, layer) and min(height, width) + 2 * padding >= taps:
            return images, layer


def network_convolution(draw, is_transposed):
    while True:
        images, layer = draw.choice([1, 1, 1, 4, 8, 32]), draw.choice(networks.CONVOLUTIONS)
        if layer.is_transposed == is_transposed and is_fit(images, layer):
            return images, layer


def is_fit(images, layer):
    """Whether it is measured within a second or so."""
    pixels, places = images, layer.channels // layer.groups
    for side, taps, stride in zip(layer.sides, layer.taps, layer.strides):
        pixels *= side
        places *= taps if layer.is_transposed else taps / stride
    return pixels * layer.outputs * places <= 6e10 and pixels * max(layer.channels, layer.outputs) <= 6e7


def text(values):
    """[1, 2] of different values; one that is the same for both sides is written once."""
    return str(values[0]) if len(set(values)) == 1 else "[" + ",".join(map(str, values)) + "]"


def convolution(draw, operator, dtype, draw_layer):
    images, layer = draw_layer(draw, operator.endswith("transposed"))
    by = lambda *sides: "x".join(map(str, sides))
    rows = (layer.outputs, layer.channels // layer.groups)
    if layer.is_transposed:
        rows = (layer.channels, layer.outputs // layer.groups)
    shape = [f"input={by(images, layer.channels, *layer.sides)}:{dtype}",
             f"weight={by(*rows, *layer.taps)}:{dtype if operator == 'conv2d' else 'i8'}"]
    if operator != "conv2d":
        shape.append(f"weight_scales={layer.outputs}:f32=0.01")
    if draw.random() < 0.8:
        shape.append(f"bias={layer.outputs}:f32")
    window = [f"stride={text(layer.strides)}", f"padding={text(layer.padding)}", f"groups={layer.groups}"]
    if set(layer.dilation) != {1}:
        window.append(f"dilation={text(layer.dilation)}")
    if layer.output_padding:
        window.append(f"output_padding={layer.output_padding}")
    problem = {"operator": operator, "shape": shape,
               "set": (INT8_INPUT if "q8ta" in operator else []) + (INT8_OUTPUT if operator.startswith("q8ta") else [])
               + window}
    if operator.startswith("q8ta"):
        layout = draw.choice(["packed_4c"] * 5 + ["strided", "packed_4w4c", "packed_4c1w"])
        if len(layer.sides) == 1:
            layout = "strided"  # rows have no other
        problem["layout"] = [f"input={layout}", f"output={layout}"]
    return problem


def made_up_product(draw, operator):
    """A layer and what its reals are; None where a very large one was drawn."""
    m, k, n = draw.rows(), draw.side(64, 16384, 64), draw.side(64, 16384, 64)
    if is_large(m, k, n):
        return None
    dtype = draw.choice(REALS)
    batches = draw.choice([1, 1, 2, 8, 12]) if operator == "matmul" else 1
    if batches > 1:
        k, n = min(k, 4096), min(n, 2048)
    return networks.Product(m, k, n, batches), dtype


def network_product(draw, operator):
    of_matmul = networks.ATTENTIONS + networks.LINEAR_LAYERS[::12]
    layer = draw.choice(of_matmul if operator == "matmul" else networks.LINEAR_LAYERS)
    return None if is_large(layer.batches * layer.m, layer.k, layer.n) else (layer, draw.choice(REALS))


def is_large(m, k, n):
    return m * k * n > 1.2e11 or k * n > 1.2e8


def product(draw, operator, draw_layer):
    drawn = draw_layer(draw, operator)
    if drawn is None:
        return None
    (m, k, n, batches), dtype = drawn
    if operator == "matmul":
        first, other = (f"{m}x{k}", f"{k}x{n}") if batches == 1 else (f"{batches}x{m}x{k}", f"{batches}x{k}x{n}")
        return {"operator": operator, "shape": [f"input={first}:{dtype}", f"other={other}:{dtype}"]}
    if "q4gsw" in operator:
        group = draw.choice([32, 64, 128, 128])
        k, n = max(group, k // group * group), max(8, n // 8 * 8)
        weight = [f"weight={n}x{k}:i8=-8..7", f"weight_scales={n}x{k // group}:f32=0.01"]
        return {"operator": operator, "shape": [f"input={m}x{k}:{dtype}", *weight]}
    k = max(4, k // 4 * 4)
    scales = f"weight_scales={n}:f32=0.01"
    if operator == "q8ta_linear":
        return {"operator": operator, "shape": [f"input={m}x{k}:i8", f"weight={n}x{k}:i8", scales],
                "set": INT8_INPUT + INT8_OUTPUT, "layout": ["input=strided", "output=strided"]}
    problem = {"operator": operator, "shape": [f"input={m}x{k}:{dtype}", f"weight={n}x{k}:i8=-128..127", scales]}
    if operator == "linear_q8ta_q8csw":
        problem["set"] = ["input_scale=0.01"]
    return problem


def make_problems(seed, is_made_up):
    draw = Draw(seed)
    problems = []

    def add(count, make):
        wanted = len(problems) + count
        while len(problems) < wanted:
            problem = make()
            if problem and problem not in problems:
                problems.append(problem)

    for operator, count in CONVOLUTIONS.items():
        is_int8 = operator.startswith("q8ta")
        add(count, lambda: convolution(draw, operator, "i8" if is_int8 else draw.choice(["f16", "f32"]),
                                       made_up_convolution if is_made_up else network_convolution))
    for operator, count in PRODUCTS.items():
        add(count, lambda: product(draw, operator, made_up_product if is_made_up else network_product))
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("--made-up", action="store_true", help="of no network")
    arguments = parser.parse_args()
    for problem in make_problems(arguments.seed, arguments.made_up):
        print(f"- operator: {problem.pop('operator')}")
        for key, values in problem.items():
            print("  {}: [{}]".format(key, ", ".join('"' + value + '"' for value in values)))


if __name__ == "__main__":
    main()
