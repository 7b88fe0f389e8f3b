#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Makes up problems that no cost was fitted to: 102 convolutions, linear layers and products, as YAML for qgen-tune.

    bench/made_up/make_problems.py SEED > problems.yaml      # a seed that was never used: README.md names those that were
    qgen-tune --problems problems.yaml --strategy halving --budget 300

Sides are drawn by their logarithm, most of them round. The same seed makes the same problems.
"""

import argparse
import random

CONVOLUTIONS = {"q8ta_conv2d": 28, "q8ta_conv2d_transposed": 6, "conv2d_q8ta_q8csw": 6, "conv2d_q8csw": 4, "conv2d": 4}
PRODUCTS = {"q8ta_linear": 10, "linear_q8csw": 9, "linear_q4gsw": 8, "linear_q8ta_q8csw": 8, "linear_dq8ca_q8csw": 6,
            "linear_dq8ca_q4gsw": 6, "matmul": 7}
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


def convolution(draw, operator, dtype):
    """One problem. A window, a stride and sides that together are no convolution, or a very large one, are drawn anew."""
    transposed = operator.endswith("transposed")
    while True:
        kind = draw.choice(["window"] * 3 + ["pointwise"] * 2 + ["depthwise", "grouped"])
        if transposed and kind in ("pointwise", "depthwise"):
            continue
        images = draw.choice([1, 1, 1, 2, 4, 8, 16, 32])
        channels = draw.side(16, 1024, 16) if draw.random() < 0.85 else draw.choice([1, 3, 4, 6, 12])
        outputs = draw.side(16, 1024, 16)
        width = int(draw.between(7, 225))
        height = width if draw.random() < 0.7 else int(draw.between(7, 225))
        taps = 1 if kind == "pointwise" else draw.choice([2, 3, 4, 4, 5] if transposed else [3, 3, 3, 5, 7, 2])
        stride = draw.choice([1, 2, 2, 2] if transposed else [1, 1, 1, 2])
        padding = draw.choice([0, taps // 2]) if taps > 1 else 0
        groups = 1
        if kind == "depthwise":
            outputs = groups = channels
        elif kind == "grouped":
            groups = draw.choice([2, 4, 8, 32])
            channels, outputs = (max(1, sides // (4 * groups)) * 4 * groups for sides in (channels, outputs))
        products = images * outputs * height * width * channels // groups * taps ** 2
        if products / (1 if transposed else stride ** 2) > 6e10:
            continue
        if images * max(channels, outputs) * height * width <= 6e7 and min(height, width) + 2 * padding >= taps:
            break
    rows = (channels, outputs // groups) if transposed else (outputs, channels // groups)
    shape = [f"input={images}x{channels}x{height}x{width}:{dtype}",
             f"weight={rows[0]}x{rows[1]}x{taps}x{taps}:{dtype if operator == 'conv2d' else 'i8'}"]
    if operator != "conv2d":
        shape.append(f"weight_scales={outputs}:f32=0.01")
    if draw.random() < 0.8:
        shape.append(f"bias={outputs}:f32")
    problem = {"operator": operator, "shape": shape,
               "set": (INT8_INPUT if "q8ta" in operator else []) + (INT8_OUTPUT if operator.startswith("q8ta") else [])
               + [f"stride={stride}", f"padding={padding}", f"groups={groups}"]}
    if operator.startswith("q8ta"):
        layout = draw.choice(["packed_4c"] * 5 + ["strided", "packed_4w4c", "packed_4c1w"])
        problem["layout"] = [f"input={layout}", f"output={layout}"]
    return problem


def product(draw, operator):
    """One problem, or None where a very large one was drawn."""
    m, k, n = draw.rows(), draw.side(64, 16384, 64), draw.side(64, 16384, 64)
    if m * k * n > 1.2e11 or k * n > 1.2e8:
        return None
    dtype = draw.choice(["f16", "f16", "f32"])
    if operator == "matmul":
        batches = draw.choice([1, 1, 2, 8, 12])
        if batches == 1:
            return {"operator": operator, "shape": [f"input={m}x{k}:{dtype}", f"other={k}x{n}:{dtype}"]}
        k, n = min(k, 4096), min(n, 2048)
        return {"operator": operator, "shape": [f"input={batches}x{m}x{k}:{dtype}", f"other={batches}x{k}x{n}:{dtype}"]}
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


def make_problems(seed):
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
        add(count, lambda: convolution(draw, operator, "i8" if is_int8 else draw.choice(["f16", "f32"])))
    for operator, count in PRODUCTS.items():
        add(count, lambda: product(draw, operator))
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    for problem in make_problems(parser.parse_args().seed):
        print(f"- operator: {problem.pop('operator')}")
        for key, values in problem.items():
            print("  {}: [{}]".format(key, ", ".join('"' + value + '"' for value in values)))


if __name__ == "__main__":
    main()
