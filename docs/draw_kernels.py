#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""draw_kernels.py [--check]: draws docs/pictures/kernels.svg, the measured times of all kernels of one layer.

The times are those of tuning/nvidia-h200.yaml, so draw it again after an H200 was tuned; that needs no GPU. --check
draws nothing, and fails if the picture is not the one that would be drawn.
"""
import math
import sys

sys.dont_write_bytecode = True  # the import below leaves no folder in the source tree

import yaml

from draw_convolution import BLUE, DOCS, GREEN, INK, ORANGE, PICTURES, RED, Picture

# A 3 x 3 convolution of ResNet-50, 256 channels of 14 x 14 pixels, without a residual.
LAYER = {"taps": "3,3", "stride": "1,1", "input_sides": "14,14,256", "output_sides": "14,14,256", "activation": "relu",
         "residual": "none", "table": "none", "input": "i8:packed_4c", "output": "i8:packed_4c"}
IMAGES = [1, 32, 128]
RECIPES = [("coopmat", "cooperative matrices", BLUE), ("coopmat_split", "split K", GREEN),
           ("sliced_k", "sliced K", INK), ("tile", "dot products", ORANGE), ("plain", "plain loops", RED)]
SVG = PICTURES / "kernels.svg"
MOST = 50  # times the best: the right end of the axis


def kernels_of_the_layer():
    """{images: [{id, us, ...}]}"""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    rows = yaml.load((DOCS.parent / "tuning/nvidia-h200.yaml").read_text(), Loader=loader)["problems"]
    found = {}
    for row in rows:
        operator, *fields = row["problem"].split()
        if operator != "q8ta_conv2d":
            continue
        problem = dict(field.split("=", 1) for field in fields)
        images = int(problem["input_sides"].split(",")[-1])
        sides = {name: problem[name].rsplit(",", 1)[0] for name in ("input_sides", "output_sides")}
        if images in IMAGES and all((problem | sides).get(name) == value for name, value in LAYER.items()):
            found[images] = row["kernels"]
    return found


def recipe_of(kernel):
    name = kernel["id"].split("(")[0].split(".")[1]
    return {"tile_split": "tile", "im2col_tile": "tile"}.get(name, name)


def drawn():
    left, right, top, row = 110, 690, 70, 64
    p = Picture(720, top + row * len(IMAGES) + 52)

    def at(ratio):
        return left + (right - left) * math.log(ratio) / math.log(MOST)

    p.text(20, 20, "Int8 kernels of one layer (3 x 3, 256 channels, 14 x 14 pixels), a dot each, on an NVIDIA H200")
    x = left
    for _, words, colour in RECIPES:
        p.dot(x, 40, colour)
        p.text(x + 10, 44, words)
        x += 44 + 6.6 * len(words)
    bottom = top + row * len(IMAGES)
    for ratio in (1, 2, 5, 10, 20):
        p.line((at(ratio), top), (at(ratio), bottom), colour=INK)
        p.text(at(ratio), bottom + 18, f"{ratio} x", "middle")
    p.text((left + right) / 2, bottom + 40, "time, as a multiple of the fastest kernel's", "middle")
    measured = kernels_of_the_layer()
    for line, images in enumerate(IMAGES):
        y = top + (line + 0.5) * row
        best = min(kernel["us"] for kernel in measured[images])
        p.text(20, y - 4, "1 image" if images == 1 else f"{images} images")
        p.text(20, y + 14, f"best: {best:.1f} us")
        # One height per recipe: dots of different colours do not hide each other.
        for kernel in measured[images]:
            height = [name for name, _, _ in RECIPES].index(recipe_of(kernel))
            p.dot(at(kernel["us"] / best), y - 22 + 11 * height, RECIPES[height][2])
    return p.svg("Times of the kernels of one convolution on an NVIDIA H200, at 1, 32 and 128 images.")


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print("usage: draw_kernels.py [--check]", file=sys.stderr)
        return 2
    if not sys.argv[1:]:
        SVG.write_text(drawn())
        return 0
    if SVG.exists() and SVG.read_text() == drawn():
        return 0
    print("docs/pictures/kernels.svg is not the picture that would be drawn; run docs/draw_kernels.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
