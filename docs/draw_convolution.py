#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""draw_convolution.py [--check]: draws docs/pictures, which show how the kernels of docs/convolution_kernels.md work.

Sizes of tiles, steps and strips are read from specs/conv; windows and images are examples. --check draws nothing, and
lists the pictures that are out of date.

Colours have a medium brightness, so that a picture is legible on a light page and on a dark one.
"""
import pathlib
import sys

import yaml

DOCS = pathlib.Path(__file__).resolve().parent
PICTURES = DOCS / "pictures"
SPECS = DOCS.parent / "specs"

INK, BLUE, ORANGE, GREEN, RED = "#737b85", "#3d86d6", "#d17a1f", "#359a5b", "#d1506b"


# ---- specs -----------------------------------------------------------------------------------------------------------


def axes_of(path):
    """What the axes of a spec may be, by name, with those of the fragments that it uses."""
    spec = yaml.safe_load(path.read_text())
    axes = {}
    for fragment in spec.get("use", []):
        axes |= axes_of_fragment(fragment if isinstance(fragment, str) else next(iter(fragment)))
    for section in ("parameters", "specialization"):
        said = spec.get(section, {})
        for part in said if isinstance(said, list) else [said]:
            axes |= axes_of_fragment(part) if isinstance(part, str) else part
    return {name: list_of(values) if isinstance(values, str) else values for name, values in axes.items()}


def list_of(name):
    """The values of a named list: layouts.pixels."""
    fragment, _, name = name.partition(".")
    path = next(SPECS.glob(f"**/lib/{fragment}.yaml"))
    return yaml.safe_load(path.read_text())["lists"][name]


def axes_of_fragment(name):
    return axes_of(next(SPECS.glob(f"**/lib/{name}.yaml")))


def kernel(name):
    return axes_of(SPECS / "conv" / f"{name}.yaml")


def listed(numbers):
    """64, 128 or 256"""
    *first, last = map(str, numbers)
    return f"{', '.join(first)} or {last}" if first else last


# ---- SVG -------------------------------------------------------------------------------------------------------------


class Picture:
    def __init__(self, width, height):
        self.width, self.height = width, height
        self.parts = []

    def box(self, x, y, width, height, colour, opacity=0.28):
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
                          f'fill="{colour}" fill-opacity="{opacity:g}"/>')

    def frame(self, x, y, width, height, colour=INK, thickness=1.5, dashes=""):
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="none" '
                          f'stroke="{colour}" stroke-width="{thickness:g}"{dashed}/>')

    def grid(self, x, y, columns, rows, side, height=None, thickness=0.75):
        height = height or side
        down = "".join(f"M{x + i * side:g} {y:g}v{rows * height:g}" for i in range(columns + 1))
        across = "".join(f"M{x:g} {y + i * height:g}h{columns * side:g}" for i in range(rows + 1))
        self.parts.append(f'<path d="{down}{across}" fill="none" stroke="{INK}" stroke-width="{thickness:g}"/>')

    def line(self, *points, colour=INK):
        path = "L".join(f"{x:g} {y:g}" for x, y in points)
        self.parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')

    def arrow(self, x, y, to_x, to_y):
        """Along an axis."""
        dx, dy = (to_x > x) - (to_x < x), (to_y > y) - (to_y < y)
        back = (to_x - 6 * dx, to_y - 6 * dy)
        self.line((x, y), (to_x, to_y))
        self.line((back[0] - 4 * dy, back[1] - 4 * dx), (to_x, to_y), (back[0] + 4 * dy, back[1] + 4 * dx))

    def dot(self, x, y, colour):
        self.parts.append(f'<circle cx="{x:.4g}" cy="{y:.4g}" r="4" fill="{colour}" fill-opacity="0.75"/>')

    def text(self, x, y, words, anchor="start", colour=INK):
        anchored = f' text-anchor="{anchor}"' if anchor != "start" else ""
        self.parts.append(f'<text x="{x:g}" y="{y:g}" fill="{colour}"{anchored}>{words}</text>')

    def svg(self, title):
        return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
                          f'width="{self.width}" height="{self.height}" font-family="sans-serif" font-size="13">',
                          f"<title>{title}</title>", *self.parts, "</svg>\n"])


# ---- pictures --------------------------------------------------------------------------------------------------------


def plain():
    """An invocation makes four channels of a pixel of the output."""
    side, cell, taps, stride, place = 6, 22, 3, 2, (1, 1)
    p = Picture(720, 230)
    x, y = 30, 40
    p.text(x, 20, "input, padded by 1, and a window of 3 x 3")
    p.frame(x, y, (side + 2) * cell, (side + 2) * cell, dashes="4 4", thickness=1)
    p.grid(x + cell, y + cell, side, side, cell)
    p.box(x + place[0] * stride * cell, y + place[1] * stride * cell, taps * cell, taps * cell, BLUE)
    p.frame(x + place[0] * stride * cell, y + place[1] * stride * cell, taps * cell, taps * cell, BLUE)
    p.arrow(230, 128, 370, 128)
    p.text(300, 116, "tap by tap,", "middle")
    p.text(300, 148, "4 channels at a time", "middle")
    x, y = 400, 95
    p.text(x, y - 15, "output, stride 2")
    p.grid(x, y, 3, 3, cell)
    p.box(x + place[0] * cell, y + place[1] * cell, cell, cell, ORANGE, 0.6)
    p.line((x + 2 * cell, y + cell), (x + 110, y + 11), colour=ORANGE)
    p.line((x + 2 * cell, y + 2 * cell), (x + 110, y + 55), colour=ORANGE)
    p.box(x + 110, y + 11, 176, 44, ORANGE, 0.6)
    p.grid(x + 110, y + 11, 4, 1, 44)
    p.text(x + 110, y + 75, "4 channels: an invocation, of")
    p.text(x + 110, y + 93, f"which a workgroup has {listed(kernel('conv_plain')['workgroup'])}")
    return p


UNITS = {"vectors": [("16 channels of a tap, one load", 16, BLUE)],
         "words": [("4 channels", 4, BLUE), ("the next 4", 4, GREEN), ("and 4", 4, BLUE),
                   ("and 4: a load each", 4, GREEN)],
         "lines": [("tap, 4 channels", 4, BLUE), ("next tap", 4, ORANGE), ("next tap", 4, BLUE),
                   ("next: a load each", 4, ORANGE)]}


def matrix():
    """The matrix of implicit im2col, and how sixteen bytes of it are fetched."""
    coopmat = kernel("conv_coopmat")
    step = coopmat["step"][0]
    p = Picture(720, 400)
    x, y, unit, row = 130, 60, 30, 14
    taps, units_of_a_tap, rows = 9, 2, 8
    columns = taps * units_of_a_tap
    for tap in range(taps):
        p.text(x + (tap + 0.5) * units_of_a_tap * unit, y - 8, f"tap {tap}", "middle")
        if tap % 2 == 0:
            p.box(x + tap * units_of_a_tap * unit, y, units_of_a_tap * unit, rows * row, INK, 0.12)
    p.text(20, 20, f"3 x 3 taps of {16 * units_of_a_tap} channels: a row has the inputs of an output pixel, "
                   "in units of 16 bytes")
    p.grid(x, y, columns, rows, unit, row)
    p.text(x - 12, y + 25, "pixel", "end")
    p.text(x - 12, y + 43, "after pixel", "end")
    p.arrow(x - 40, y + 55, x - 40, y + rows * row)
    width = step // 16 * unit
    p.box(x, y, width, rows * row, BLUE)
    p.frame(x, y, width, rows * row, BLUE, 2.5)
    p.text(x, y + rows * row + 20, f"a step: {listed(coopmat['step'])} bytes of k", colour=BLUE)
    p.arrow(x + width + 8, y + rows * row / 2, x + 2 * width - 8, y + rows * row / 2)
    y = 235
    p.text(20, y, "How a unit is fetched:")
    for reads in coopmat["reads"]:
        y += 32
        p.text(x - 12, y + 15, reads, "end")
        at = x
        for words, size, colour in UNITS[reads]:
            p.box(at, y, size * 33, 22, colour)
            p.text(at + size * 16.5, y + 15, words, "middle")
            p.frame(at, y, size * 33, 22, thickness=0.75)
            at += size * 33
    p.text(20, y + 55, "Elements that fill up a unit have a weight of 0; a tap outside the image is the zero point.")
    return p


def largest(records):
    return max(records, key=lambda r: r["m"] * r["n"])


def coopmat():
    """A tile of outputs, its subgroups and its matrices, drawn to scale."""
    axes = kernel("conv_coopmat")
    groups, blocks, shape = largest(axes["subgroups"]), largest(axes["blocks"]), axes["matrix"][0]
    across, down = groups["n"] * blocks["n"], groups["m"] * blocks["m"]
    rows, columns = down * shape["m"], across * shape["n"]
    scale = 224 / max(rows, columns)
    high, wide = shape["m"] * scale, shape["n"] * scale
    x, y, deep = 170, 130, 70
    p = Picture(720, round(y + down * high + 40))
    p.text(20, 20, f"the largest tile, {rows} pixels x {columns} channels: {groups['m']} x {groups['n']} subgroups, "
                   f"each of {blocks['m']} x {blocks['n']} matrices of {shape['m']} x {shape['n']}")
    for i in range(groups["m"]):
        for j in range(groups["n"]):
            p.box(x + j * blocks["n"] * wide, y + i * blocks["m"] * high, blocks["n"] * wide, blocks["m"] * high,
                  (BLUE, ORANGE)[(i + j) % 2])
    p.grid(x, y, across, down, wide, high, 0.5)
    p.grid(x, y, groups["n"], groups["m"], blocks["n"] * wide, blocks["m"] * high, 2)
    p.grid(x - deep - 12, y, 1, down, deep, high, 0.5)
    p.box(x - deep - 12, y, deep, down * high, GREEN)
    p.grid(x, y - deep - 12, across, 1, wide, deep, 0.5)
    p.box(x, y - deep - 12, across * wide, deep, GREEN)
    p.text(x - deep - 18, y + 16, "rows of x", "end")
    p.text(x - 18, y - deep + 4, "rows of w", "end")
    x += across * wide + 30
    p.text(x, y + 16, f"A step, at least {min(axes['step'])} bytes of k,", colour=GREEN)
    p.text(x, y + 36, "in shared memory", colour=GREEN)
    p.text(x, y + 56, "A subgroup's matrices of sums", colour=BLUE)
    p.text(x, y + 76, "stay in registers all along k", colour=BLUE)
    return p


def split():
    """Slices of k, and the kernel that adds their sums."""
    p = Picture(720, 220)
    x, y, wide = 60, 40, 190
    p.text(x, 20, "k, tap by tap, in slices: each sums for all outputs, in separate workgroups")
    for i, colour in enumerate((BLUE, GREEN, ORANGE)):
        at = x + i * wide
        p.box(at, y, wide, 30, colour)
        p.frame(at, y, wide, 30)
        p.arrow(at + wide / 2, y + 34, at + wide / 2, y + 54)
        p.box(at + 30, y + 58, wide - 60, 36, colour)
        p.frame(at + 30, y + 58, wide - 60, 36)
        p.text(at + wide / 2, y + 81, "sums, i32", "middle")
        p.arrow(at + wide / 2, y + 98, at + wide / 2, y + 118)
    p.frame(x + 30, y + 122, 3 * wide - 60, 36)
    p.text(x + 1.5 * wide, y + 145, "conv_finish: adds, scales, quantizes", "middle")
    return p


def tile():
    """The outputs of one invocation among those of its workgroup."""
    axes = kernel("conv_tile")
    group, own = largest(axes["group"]), largest([own for own in axes["tile"] if own["m"] == 4])  # 8: of CPUs
    down, blocks = group["m"] * own["m"], group["n"] * own["n"] // 4
    at_row, at_block = 2, 5
    p = Picture(720, 330)
    x, y, wide, high = 90, 50, 12, 7
    p.text(20, 20, f"a tile of {down} pixels x {4 * blocks} channels: {group['workgroup']} invocations of "
                   f"{own['m']} pixels x {own['n']} channels")
    p.grid(x, y, blocks, down, wide, high, 0.4)
    for j in range(own["n"] // 4):
        for i in range(own["m"]):
            p.box(x + (at_block + j * group["n"]) * wide, y + (at_row + i * group["m"]) * high, wide, high, ORANGE, 0.9)
    p.frame(x, y, group["n"] * wide, group["m"] * high, BLUE, 2.5)
    p.text(x - 8, y + 12, "pixels", "end")
    p.text(x, y + down * high + 18, "blocks of 4 channels")
    right = x + blocks * wide + 24
    p.text(right, y + 20, "the outputs of one invocation", colour=ORANGE)
    p.text(right, y + 40, "one position per invocation;", colour=BLUE)
    p.text(right, y + 60, "its others are as far apart", colour=BLUE)
    p.text(20, y + down * high + 44, f"Shared memory holds {listed(axes['step'])} bytes of k, of all pixels and "
                                       "channels of the tile.")
    return p


def depthwise():
    """The pixels that a strip of outputs reads for a line of the window."""
    axes = kernel("conv_depthwise")
    strip = max(axes["strip"])
    known = [k for k in axes["known"] if k["taps"]]
    cell, p = 22, Picture(720, 60 + 92 * len(known))
    p.text(20, 20, f"an invocation: {strip} neighbours of a row of the output, of four channels, line by line "
                   "of the window")
    y = 56
    for way in known:
        read = (strip - 1) * way["stride"] + way["taps"]
        x = 220
        p.text(20, y + 15, f"{way['taps']} x {way['taps']} taps, stride {way['stride']}:")
        p.text(20, y + 33, f"{read} pixels are read once")
        p.grid(x, y, read, 1, cell)
        for i in range(strip):
            colour = (BLUE, ORANGE, GREEN, RED)[i % 4]
            left = x + i * way["stride"] * cell
            p.box(left, y + cell + 4 + 8 * i, way["taps"] * cell, 6, colour, 0.9)
        p.text(x + read * cell + 16, y + 45, f"the windows of {strip} outputs")
        y += 92
    p.text(20, y - 10, f"Other windows are read tap by tap. A workgroup has "
                       f"{listed(axes['workgroup'])} invocations.")
    return p


def phases():
    """A transposed window, 3 x 3, stride 2, padding 1: the taps that the pixels of each phase read."""
    taps, stride, padding, side = 3, 2, 1, 6
    p = Picture(720, 210)
    x, y, cell = 30, 45, 22
    colours = (BLUE, ORANGE, GREEN, RED)
    p.text(x, 20, "output of stride 2: four phases, each a forward convolution with some of the 3 x 3 taps")
    for row in range(side):
        for column in range(side):
            p.box(x + column * cell, y + row * cell, cell, cell, colours[row % stride * stride + column % stride], 0.5)
    p.grid(x, y, side, side, cell)
    for phase in range(stride * stride):
        left = x + side * cell + 50 + phase * 125
        read = [[t for t in range(taps) if (along + padding - t) % stride == 0] for along in divmod(phase, stride)]
        for row in read[0]:
            for column in read[1]:
                p.box(left + column * cell, y + row * cell, cell, cell, colours[phase], 0.5)
        p.grid(left, y, taps, taps, cell)
        count = len(read[0]) * len(read[1])
        p.text(left, y + taps * cell + 22, f"{count} tap{'s' if count > 1 else ''}", colour=colours[phase])
    return p


def pointwise():
    """Pixels of packed_4c are rows of a matrix."""
    p = Picture(720, 200)
    x, y, cell = 30, 60, 40
    p.text(x, 20, "image: 2 x 3 pixels")
    colours = (BLUE, ORANGE, GREEN, RED, INK, BLUE)
    for pixel in range(6):
        p.box(x + pixel % 3 * cell, y + pixel // 3 * cell, cell, cell, colours[pixel])
    p.grid(x, y, 3, 2, cell)
    p.arrow(165, 100, 205, 100)
    x, y = 230, 40
    p.text(x, 20, "x: a row per pixel, as stored")
    for pixel in range(6):
        p.box(x, y + pixel * 20, 180, 20, colours[pixel])
    p.grid(x, y, 1, 6, 180, 20)
    p.text(x, y + 140, "k: its channels")
    p.text(x + 205, y + 65, "times", "middle")
    x += 230
    p.text(x, 20, "w: a row per output channel")
    p.grid(x, y, 1, 4, 180, 20)
    return p


def im2col():
    """The matrix of explicit im2col, and the part that 64 neighbouring invocations write."""
    rows, units, taps, units_of_a_tap = 16, 4, 4, 2
    p = Picture(720, 260)
    x, y, unit, row = 130, 60, 44, 8
    for tap in range(taps):
        p.text(x + (tap + 0.5) * units_of_a_tap * unit, y - 8, f"tap {tap}", "middle")
        if tap % 2 == 0:
            p.box(x + tap * units_of_a_tap * unit, y, units_of_a_tap * unit, rows * row, INK, 0.12)
    p.text(20, 20, f"the written matrix: a row has the inputs of an output pixel, in units of "
                   f"{listed(kernel('im2col')['unit'])} channels")
    p.grid(x, y, taps * units_of_a_tap, rows, unit, row)
    p.box(x, y, units * unit, rows * row, BLUE)
    p.frame(x, y, units * unit, rows * row, BLUE, 2.5)
    p.text(x - 12, y + 25, "pixel", "end")
    p.text(x - 12, y + 43, "after pixel", "end")
    p.arrow(x - 40, y + 55, x - 40, y + rows * row)
    p.text(x, y + rows * row + 22, f"64 neighbouring invocations: {units} units of {rows} pixels", colour=BLUE)
    p.text(x, y + rows * row + 42, f"a workgroup has {listed(kernel('im2col')['workgroup'])}")
    p.arrow(x + taps * units_of_a_tap * unit + 12, y + 64, x + taps * units_of_a_tap * unit + 52, y + 64)
    p.text(x + taps * units_of_a_tap * unit + 62, y + 59, "x of a")
    p.text(x + taps * units_of_a_tap * unit + 62, y + 77, "linear layer")
    return p


DRAWN = {"plain": plain, "matrix": matrix, "im2col": im2col, "coopmat": coopmat, "split": split, "tile": tile,
         "depthwise": depthwise, "phases": phases, "pointwise": pointwise}


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print("usage: draw_convolution.py [--check]", file=sys.stderr)
        return 2
    drawn = {f"conv_{name}.svg": draw().svg(draw.__doc__) for name, draw in DRAWN.items()}
    if not sys.argv[1:]:
        PICTURES.mkdir(exist_ok=True)
        for name, text in drawn.items():
            (PICTURES / name).write_text(text)
        return 0
    there = {file.name: file.read_text() for file in PICTURES.glob("conv_*.svg")}
    old = sorted(name for name in drawn | there if drawn.get(name) != there.get(name))
    for name in old:
        print(f"docs/pictures/{name} is not what would be drawn; run docs/draw_convolution.py")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
