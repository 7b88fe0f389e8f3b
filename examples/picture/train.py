#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Trains the network of scripts/demo, which labels each cell of 4 x 4 pixels, and writes it quantized.

    examples/picture/train.py build/release    # writes examples/picture/scenes.onnx

The program `scenes` draws random scenes, and the object at each pixel: 600 for training, and 50 for testing. The demo's
picture is in neither set. The scales come from training pictures. The network is written in int8 with QuantizeLinear
and DequantizeLinear, as bench/models/make_models.py writes networks. The script prints the share of correct labels on
the 50 pictures: of the float network, and of the int8 network as `qgen-model run` computes it. All seeds are fixed. A
run takes some ten minutes on one core.

Needs Debian's python3-onnx and python3-numpy, and the programs `scenes` and `qgen-model` of the build.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench/models"))
from make_models import Network, columns  # noqa: E402

KINDS = ["sky", "floor in the light", "floor in the shadow", "ball"]  # Kind of scene.h
CELL = 4
TRAINED_SEED, TRAINED = 1, 600
JUDGED_SEED, JUDGED = 1000000, 50
STEPS, BATCH, CROP = 3000, 8, (128, 192)


def build(net, x):
    """Down to a sixteenth of the picture's sides, where balls and horizon are in view at once, and up to a quarter."""
    def layer(name, x, outputs, kernel=3, stride=1):
        return net.relu(f"{name}.relu", net.conv(name, x, outputs, kernel, stride))

    half = layer("half", x, 8, 5, 2)
    quarter = layer("quarter", half, 8, 3, 2)
    eighth = layer("eighth", quarter, 12, 3, 2)
    sixteenth = layer("far", layer("sixteenth", eighth, 16, 3, 2), 16)
    x = layer("up8", net.concat("skip8", net.conv_transpose("rise8", sixteenth, 8), eighth), 12)
    x = layer("up4", net.concat("skip4", net.conv_transpose("rise4", x, 8), quarter), 8)
    return net.conv("kinds", x, len(KINDS), 1)


class Trainer:
    """The methods of Network in float. `steps` are the functions that compute the gradients of the inputs of each."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.parameters = {}
        self.gradients = {}

    def run(self, images):
        self.values, self.slopes, self.steps = {"input": images}, {}, []
        return self.values[build(self, "input")]

    def back(self, slope):
        self.slopes["kinds"] = slope
        for step in reversed(self.steps):
            step()

    def add_slope(self, name, slope):
        self.slopes[name] = self.slopes[name] + slope if name in self.slopes else slope

    def parameter(self, name, shape, inner):
        if name not in self.parameters:
            self.parameters[name] = (self.random.normal(0, np.sqrt(2 / inner), shape).astype(np.float32)
                                     if inner else np.zeros(shape, np.float32))
        return self.parameters[name]

    def conv(self, name, x, outputs, kernel, stride=1):
        image = self.values[x]
        n, channels, height, width = image.shape
        pad = kernel // 2
        weight = self.parameter(f"{name}.weight", (outputs, channels, kernel, kernel), channels * kernel**2)
        flat = weight.reshape(outputs, -1)
        patches = columns(image, kernel, stride, [pad] * 4)
        shape = patches.shape
        patches = patches.reshape(n, flat.shape[1], -1)
        bias = self.parameter(f"{name}.bias", (outputs,), 0)
        self.values[name] = (flat @ patches).reshape(n, outputs, *shape[4:]) + bias[:, None, None]

        def step():
            slope = self.slopes[name].reshape(n, outputs, -1)
            self.gradients[f"{name}.weight"] = (slope @ patches.transpose(0, 2, 1)).sum(0).reshape(weight.shape)
            self.gradients[f"{name}.bias"] = slope.sum((0, 2))
            if x == "input":
                return
            taps = (flat.T @ slope).reshape(shape)
            padded = np.zeros((n, channels, height + 2 * pad, width + 2 * pad), np.float32)
            for i in range(kernel):
                for j in range(kernel):
                    padded[:, :, i:i + stride * (shape[4] - 1) + 1:stride,
                           j:j + stride * (shape[5] - 1) + 1:stride] += taps[:, :, i, j]
            self.add_slope(x, padded[:, :, pad:pad + height, pad:pad + width])

        self.steps.append(step)
        return name

    def conv_transpose(self, name, x, outputs):
        image = self.values[x]
        n, channels, height, width = image.shape
        weight = self.parameter(f"{name}.weight", (channels, outputs, 2, 2), channels)
        bias = self.parameter(f"{name}.bias", (outputs,), 0)
        parts = np.einsum("nchw,coij->nohiwj", image, weight, optimize=True)
        self.values[name] = parts.reshape(n, outputs, 2 * height, 2 * width) + bias[:, None, None]

        def step():
            slope = self.slopes[name].reshape(n, outputs, height, 2, width, 2)
            self.gradients[f"{name}.weight"] = np.einsum("nchw,nohiwj->coij", image, slope, optimize=True)
            self.gradients[f"{name}.bias"] = slope.sum((0, 2, 3, 4, 5))
            self.add_slope(x, np.einsum("nohiwj,coij->nchw", slope, weight, optimize=True))

        self.steps.append(step)
        return name

    def relu(self, name, x):
        self.values[name] = np.maximum(self.values[x], 0)
        self.steps.append(lambda: self.add_slope(x, self.slopes[name] * (self.values[x] > 0)))
        return name

    def concat(self, name, x, y):
        self.values[name] = np.concatenate([self.values[x], self.values[y]], 1)
        channels = self.values[x].shape[1]
        self.steps.append(lambda: (self.add_slope(x, self.slopes[name][:, :channels]),
                                   self.add_slope(y, self.slopes[name][:, channels:])))
        return name


def cells_of(kinds):
    """The kind in the middle of each cell."""
    return kinds[..., CELL // 2::CELL, CELL // 2::CELL]


def reals(images):
    return images.astype(np.float32) / np.float32(255)


def train(trainer, images, kinds):
    """Adam, on random parts of the pictures. Shadows are rare, so they count twice."""
    weights = np.array([1, 1, 2, 1], np.float32)
    first, second = {}, {}
    for step in range(1, STEPS + 1):
        batch, cells = [], []
        for _ in range(BATCH):
            i = trainer.random.integers(len(images))
            top, left = (CELL * int(trainer.random.integers((side - part) // CELL + 1))
                         for side, part in zip(images.shape[2:], CROP))
            image = images[i, :, top:top + CROP[0], left:left + CROP[1]]
            kind = kinds[i, top:top + CROP[0], left:left + CROP[1]]
            turn = -1 if trainer.random.integers(2) else 1
            batch.append(image[..., ::turn])
            cells.append(cells_of(kind[..., ::turn]))
        logits = trainer.run(reals(np.stack(batch)))
        wanted = np.eye(len(KINDS), dtype=np.float32)[np.stack(cells)].transpose(0, 3, 1, 2)
        powers = np.exp(logits - logits.max(1, keepdims=True))
        shares = powers / powers.sum(1, keepdims=True)
        weight = (wanted * weights[:, None, None]).sum(1, keepdims=True)
        trainer.back((shares - wanted) * weight / weight.sum())
        rate = 0.004 * 0.5 * (1 + np.cos(np.pi * step / STEPS))
        for name, gradient in trainer.gradients.items():
            first[name] = 0.9 * first.get(name, 0) + 0.1 * gradient
            second[name] = 0.99 * second.get(name, 0) + 0.01 * gradient**2
            trainer.parameters[name] -= (rate * first[name] / (1 - 0.9**step) /
                                         (np.sqrt(second[name] / (1 - 0.99**step)) + 1e-8)).astype(np.float32)
        if step % 250 == 0:
            loss = -(weight * wanted * np.log(shares + 1e-9)).sum() / weight.sum()
            print(f"step {step} of {STEPS}: loss {loss:.4f}", flush=True)


class Trained(Network):
    """Layers have the trainer's weights and biases."""

    def __init__(self, parameters, images):
        super().__init__(0, is_unsigned=False)
        self.parameters = parameters
        self.values["input"] = images
        self.scales["input"] = np.float32(1 / 255), -128  # bytes are unchanged

    def layer(self, name, x, _, axis, compute, op, **attributes):
        bias = self.parameters[f"{name}.bias"]
        source = self.dequantized(x)
        weight = self.parameters[f"{name}.weight"]
        self.bias(name, bias, self.weight(name, weight, axis), x)
        self.values[name] = compute(weight) + bias[:, None, None]
        return self.node(op, [source, f"{name}.weight_dq", f"{name}.bias_dq"], name, **attributes)


def print_shares(what, logits, cells):
    answers = logits.argmax(1)
    parts = [f"{name} {100 * np.mean(answers[cells == kind] == kind):.2f}" for kind, name in enumerate(KINDS)]
    print(f"{what}: {100 * np.mean(answers == cells):.2f} % of {cells.size} cells are right: {', '.join(parts)}")


def drawn(program, folder, count, seed):
    subprocess.run([program, folder, str(count), str(seed)], check=True)
    return np.load(folder / "images.npy"), np.load(folder / "kinds.npy")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="a folder that the project is built in")
    arguments = parser.parse_args()
    scenes = arguments.build / "examples/picture/scenes"
    home = pathlib.Path(__file__).parent
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        trainer = Trainer(1)
        images, kinds = drawn(scenes, folder, TRAINED, TRAINED_SEED)
        train(trainer, images, kinds)
        net = Trained(trainer.parameters, reals(images[:16]))
        net.save(home, "scenes", build(net, "input"))

        images, kinds = drawn(scenes, folder, JUDGED, JUDGED_SEED)
        cells = cells_of(kinds)
        print_shares("float", np.concatenate([trainer.run(reals(image[None])) for image in images]), cells)
        np.save(folder / "input.npy", reals(images))
        subprocess.run([arguments.build / "runtime/qgen-model", "run", home / "scenes.onnx", "--input",
                        folder / "input.npy", "--output", folder / "output.npy"], check=True)
        print_shares("int8", np.load(folder / "output.npy"), cells)


if __name__ == "__main__":
    main()
