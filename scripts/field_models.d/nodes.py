# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Takes a model apart: a model of one node for each distinct node, with the values that the node has in the model."""
import hashlib

import onnx
from onnx import helper, numpy_helper


def bodies(node):
    return [(a, a.g) for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]


def outer_names(graph):
    """Values that a body reads and does not make."""
    made = {t.name for t in graph.initializer} | {v.name for v in graph.input}
    read = set()
    for node in graph.node:
        read |= {name for name in node.input if name and name not in made}
        for _, body in bodies(node): read |= outer_names(body) - made
        made |= set(node.output)
    return read | {output.name for output in graph.output if output.name not in made}


def inlined(model, run_values):
    """The model with the branch of each If that its inputs choose. `run_values` gives the values of a model's nodes."""
    count = 0
    while any(node.op_type == "If" for node in model.graph.node):
        graph = model.graph
        values = run_values(model)
        constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        nodes = []
        for node in graph.node:
            if node.op_type != "If":
                nodes.append(node)
                continue
            count += 1
            condition = values.get(node.input[0], constants.get(node.input[0]))
            chosen = next(g for a, g in bodies(node) if a.name == ("then_branch" if bool(condition.all()) else "else_branch"))
            renamed = {output.name: name for output, name in zip(chosen.output, node.output)}
            local = {name for it in chosen.node for name in it.output} | {t.name for t in chosen.initializer}
            for name in local: renamed.setdefault(name, f"{name}/{count}")
            for tensor in chosen.initializer:
                graph.initializer.append(tensor)
                graph.initializer[-1].name = renamed[tensor.name]
            for it in chosen.node: nodes.append(with_names(it, renamed))
            for output, name in zip(chosen.output, node.output):
                if output.name not in local: nodes.append(helper.make_node("Identity", [output.name], [name]))
        changed = onnx.ModelProto()
        changed.CopyFrom(model)
        del changed.graph.node[:]
        changed.graph.node.extend(nodes)
        del changed.graph.value_info[:]
        model = changed
    return model


def with_names(node, renamed):
    changed = onnx.NodeProto()
    changed.CopyFrom(node)
    for i, name in enumerate(changed.input): changed.input[i] = renamed.get(name, name)
    for i, name in enumerate(changed.output): changed.output[i] = renamed.get(name, name)
    for attribute, body in bodies(changed):
        inner = [with_names(it, renamed) for it in body.node]
        del attribute.g.node[:]
        attribute.g.node.extend(inner)
        for output in attribute.g.output: output.name = renamed.get(output.name, output.name)
    return changed


def value_info(name, array):
    return helper.make_tensor_value_info(name, onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[array.dtype], array.shape)


def signature(node, constants, arrays):
    """Equal for nodes that differ in names and in the numbers of large constants only."""
    text = [node.domain, node.op_type]
    for attribute in sorted(node.attribute, key=lambda it: it.name): text.append(attribute.SerializeToString().hex())
    for name in node.input:
        if name in constants:
            array = constants[name]
            text.append(f"{array.dtype} {array.shape} {array.tobytes().hex() if array.size <= 16 else ''}")
        else: text.append(f"{arrays[name].dtype} {arrays[name].shape}" if name else "-")
    text.append(str([bool(name) for name in node.output]))
    return hashlib.sha256("\n".join(text).encode()).hexdigest()


def single_nodes(model, inputs, values):
    """(signature, operator, a model, its inputs, its outputs) of each node with a computed input."""
    graph = model.graph
    constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant": constants[node.output[0]] = values[node.output[0]]
    for node in graph.node:
        if node.op_type == "Constant": continue
        read = [name for name in node.input if name]
        for _, body in bodies(node): read += sorted(outer_names(body))
        computed = {name: inputs.get(name, values.get(name)) for name in read if name not in constants}
        outputs = {name: values[name] for name in node.output if name}
        if not computed or any(array is None for array in computed.values()): continue
        tensors = [numpy_helper.from_array(constants[name], name) for name in dict.fromkeys(read) if name in constants]
        alone = helper.make_graph([node], "node", [value_info(name, array) for name, array in computed.items()],
                                  [value_info(name, array) for name, array in outputs.items()], tensors)
        made = helper.make_model(alone, opset_imports=model.opset_import)
        made.ir_version = model.ir_version
        yield signature(node, constants, computed), node.op_type, made, computed, outputs

