#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Compares qgen with ONNX Runtime layer by layer. Each layer reads ONNX Runtime's results, so errors do not add up.

    bench/models/compare_layers.py "$with_lavapipe build/release/runtime/qgen-model" build/models/*.onnx

A layer ends at a QuantizeLinear. ONNX Runtime, without graph optimisations, runs the model on NAME.input.npy and writes
the output of every QuantizeLinear. Then the model is cut at these tensors: each becomes an output of the graph, and its
readers read an input of the graph instead. qgen runs this model once, on ONNX Runtime's integers.

Some floating-point tensors that no QuantizeLinear reads are cut too: tensors with several readers, results of a layer
with 4-bit weights or of a LayerNormalization, and outputs of the model. They are quantized to 8 bits over their range,
and then compared.

For each layer it prints the number of equal values, and the largest difference in quantization steps. Needs Debian's
python3-onnx and python3-numpy, and the packages of run_onnxruntime.js.

Exit codes: 0 done, 1 a layer differs by more than one step, 2 a program or a file failed.
"""

import argparse
import dataclasses
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

RUN_ONNXRUNTIME = pathlib.Path(__file__).with_name("run_onnxruntime.js")
LAYERS_OF_REALS = ("LayerNormalization", "MatMulNBits")


@dataclasses.dataclass
class Layer:
    tensor: str  # its result
    operators: str  # "Conv + Relu"
    count: int = 0
    equal: int = 0
    largest: int = 0  # difference, in quantization steps

    def made(self):
        """Of the model that is cut, the output; `tensor` is an input there."""
        return f"{self.tensor}.made"


# ---- the model, taken apart -----------------------------------------------------------------------------------------


def given(graph):
    constants = {constant.name for constant in graph.initializer}
    return [value.name for value in graph.input if value.name not in constants]


def activations(graph):
    """All tensors that depend on an input."""
    found = set(given(graph))
    for node in graph.node:
        if found.intersection(node.input):
            found.update(node.output)
    return found


def is_end(node, graph):
    """Whether a layer ends with this node."""
    if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
        return node.op_type == "QuantizeLinear"
    readers = [reader.op_type for reader in graph.node if node.output[0] in reader.input]
    is_output = any(output.name == node.output[0] for output in graph.output)
    return "QuantizeLinear" not in readers and (is_output or len(readers) > 1 or node.op_type in LAYERS_OF_REALS)


def needed(graph, results, stops=()):
    """The nodes that compute `results`, in order, if what is in `stops` is known."""
    missing = set(results)
    nodes = []
    for node in reversed(graph.node):
        if missing.intersection(node.output):
            nodes.append(node)
            missing.update(set(node.input).difference(stops))
    return nodes[::-1]


def layers_of(graph):
    active = activations(graph)
    ends = [node for node in graph.node if node.output[0] in active and is_end(node, graph)]
    tensors = {end.output[0] for end in ends}
    layers = []
    for end in ends:
        nodes = needed(graph, end.output, tensors.difference(end.output))
        kinds = [node.op_type for node in nodes if node.op_type not in ("QuantizeLinear", "DequantizeLinear")]
        layers.append(Layer(end.output[0], " + ".join(kinds) or "QuantizeLinear"))
    return layers


def with_outputs(model, layers):
    """The model that gives the result of every layer."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    del result.graph.output[:]
    result.graph.output.extend(onnx.ValueInfoProto(name=layer.tensor) for layer in layers)
    return result


def cut(model, layers, values):
    """The model whose layers each read `values`, by the names of the tensors."""
    def described(name, array):
        return helper.make_tensor_value_info(name, numpy_helper.from_array(array).data_type, array.shape)

    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    made = {layer.tensor: layer.made() for layer in layers}
    for node in graph.node:
        node.output[0] = made.get(node.output[0], node.output[0])
    nodes = needed(graph, made.values())
    read = {name for node in nodes for name in node.input}
    for field in ("node", "input", "output"):
        graph.ClearField(field)
    graph.node.extend(nodes)
    graph.input.extend(described(name, array) for name, array in values.items() if name in read)
    graph.output.extend(described(layer.made(), values[layer.tensor]) for layer in layers)
    return result


# ---- running and comparing ------------------------------------------------------------------------------------------


def run(command):
    command = [str(word) for word in command]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise OSError(f"{command[0]} ended with {done.returncode}\n{done.stderr}")


def compare(layer, got, expected):
    if expected.dtype.kind == "f":
        scale = (max(expected.max(), 0) - min(expected.min(), 0)) / 255 or 1
        got, expected = (np.rint(reals / scale) for reals in (got, expected))
    differences = np.abs(got.astype(np.int64) - expected.astype(np.int64))
    layer.count, layer.equal, layer.largest = differences.size, int((differences == 0).sum()), int(differences.max())


def compare_model(qgen, file, folder):
    model = onnx.load(str(file))
    layers = layers_of(model.graph)
    input_file = file.with_suffix(".input.npy")
    onnx.save(with_outputs(model, layers), str(folder / "outputs.onnx"))
    run([RUN_ONNXRUNTIME, folder / "outputs.onnx", input_file, folder])
    files = {given(model.graph)[0]: input_file}
    files.update((layer.tensor, folder / f"{i}.npy") for i, layer in enumerate(layers))
    layered = cut(model, layers, {name: np.load(array) for name, array in files.items()})
    onnx.save(layered, str(folder / "layers.onnx"))
    command = [*qgen.split(), "run", folder / "layers.onnx"]
    for value in layered.graph.input:
        command += ["--input", f"{value.name}={files[value.name]}"]
    for i, layer in enumerate(layers):
        command += ["--output", f"{layer.made()}={folder / f'{i}.made.npy'}"]
    run(command)
    for i, layer in enumerate(layers):
        compare(layer, np.load(folder / f"{i}.made.npy"), np.load(folder / f"{i}.npy"))
    return layers


def print_layers(layers):
    widths = [max(len(text) for text in column) for column in
              (["layer"] + [layer.tensor for layer in layers], ["operators"] + [layer.operators for layer in layers])]
    print(f"{'layer':{widths[0]}}  {'operators':{widths[1]}}  {'values':>9}  {'equal':>9}  {'of all':>9}  largest")
    for layer in layers:
        print(f"{layer.tensor:{widths[0]}}  {layer.operators:{widths[1]}}  {layer.count:9,}  {layer.equal:9,}  "
              f"{100 * layer.equal / layer.count:8.4f}%  {layer.largest:7}")


def row_of(name, layers):
    count, equal = sum(layer.count for layer in layers), sum(layer.equal for layer in layers)
    whole = sum(layer.equal == layer.count for layer in layers)
    worst = min(layers, key=lambda layer: (-layer.largest, layer.equal / layer.count))
    others = f"{worst.tensor}: {worst.count - worst.equal} of {worst.count:,} differ" if worst.largest else ""
    return (f"| {name} | {len(layers)} | {whole} | {equal:,} of {count:,} ({100 * equal / count:.4f} %) | "
            f"{worst.largest} | {others} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qgen", metavar="COMMAND", help="what starts qgen-model")
    parser.add_argument("models", nargs="+", metavar="MODEL", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="where models and tensors stay")
    arguments = parser.parse_args()
    rows, largest = [], 0
    for file in arguments.models:
        with tempfile.TemporaryDirectory() as scratch:
            folder = arguments.keep / file.stem if arguments.keep else pathlib.Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            layers = compare_model(arguments.qgen, file, folder)
        print(file.stem)
        print_layers(layers)
        print(flush=True)
        rows.append(row_of(file.stem, layers))
        largest = max(largest, *(layer.largest for layer in layers))
    print("| model | layers | all values equal in | equal values | largest difference | the worst layer |")
    print("|---|---|---|---|---|---|")
    print("\n".join(rows))
    return 1 if largest > 1 else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as error:
        print(f"compare_layers.py: {error}", file=sys.stderr)
        sys.exit(2)
