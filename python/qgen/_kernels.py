# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Kernels of your own, from a spec and a template: compiled, run, checked, timed and tuned without a C++ compiler.

The program qgen compiles them (`--emit spv`). Conditions and grids are computed here, from the expressions of its
index.
"""
from __future__ import annotations

import ctypes
import itertools
import json
import os
import pathlib
import re
import struct
import tempfile
import time
from ctypes import POINTER, byref, c_char_p, c_double, c_uint32, c_void_p
from operator import index as as_index
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, NamedTuple, Sequence, Union

import numpy as np

from . import _programs
from ._device import _DTYPES, Device, Tensor, as_numpy
from ._errors import Error, InvalidArgument, NotFound, Unsupported
from ._expression import evaluate
from ._library import Binding, Constant, KernelInfo, lib
from ._times import Time, Times

if TYPE_CHECKING:
    from ._types import Array, Path

    Paths = Union[Path, Sequence[Path]]


def _list(paths: Paths) -> list[str]:
    return [os.fspath(paths)] if isinstance(paths, (str, os.PathLike)) else [os.fspath(path) for path in paths]


def _template_folders(specs: list[str], templates: Paths, program: str) -> list[str]:
    """Those given, else the nearest folder `templates` next to the first spec or above it; then qgen's own (lib/)."""
    folders = _list(templates)
    first = pathlib.Path(specs[0]).resolve()
    if not folders:
        nearest = (folder / "templates" for folder in [first, *first.parents])
        folders = [str(folder) for folder in nearest if folder.is_dir()][:1]
    shipped = _programs.shipped_templates(program)
    return folders + ([str(shipped)] if shipped and folders else [])


def generate(specs: Paths, out: Path, *, templates: Paths = (), options: Sequence[str] = (),
             program: str = "") -> pathlib.Path:
    """Runs the program qgen on specs, files or folders, and writes its output into the folder `out`: C++ tables and
    kernels.blob, or what `options` say, such as ["--emit", "c"]. Gives `out`.

    `templates`: folders; empty: the nearest folder `templates` next to the specs or above them. `program`: qgen; empty:
    $QGEN, or qgen of PATH. Errors: qgen.InvalidArgument with qgen's messages, which name file and line.
    """
    found, files = _programs.find("qgen", program), _list(specs)
    if not files:
        raise InvalidArgument("there are no specs")
    folders = [word for folder in _template_folders(files, templates, found) for word in ("--templates", folder)]
    _programs.run([found, *files, *folders, "-o", out, "-q", *options])
    return pathlib.Path(out)


class _Row(NamedTuple):
    """A kernel with a value for each chosen specialization constant."""

    name: str
    kernel: dict[str, Any]
    values: dict[str, Any]


def _rows_of(operator: dict[str, Any]) -> list[_Row]:
    """The fields of a record belong together; all else is a product."""
    axes: dict[str, list[dict[str, Any]]] = {}
    for constant in operator["specialization"]:
        if "values" in constant:
            fields = axes.setdefault(constant["name"].split(".")[0], [{} for _ in constant["values"]])
            for row, value in zip(fields, constant["values"]):
                row[constant["name"]] = value
    rows = []
    for kernel, choice in itertools.product(operator["kernels"], itertools.product(*axes.values())):
        values = {name: value for part in choice for name, value in part.items()}
        ending = ".".join(f"{name}{value}" for name, value in values.items())
        rows.append(_Row(kernel["id"] + ("/" + ending if ending else ""), kernel, values))
    return rows


# The integers that expressions name as device.<name>, in the YAML of a device.
_FACTS = {"subgroup_size": r"subgroup: \{size: (\d+)", "max_workgroup_invocations": r"workgroup_invocations: (\d+)",
          "max_workgroup_size_x": r"workgroup_size: \[(\d+)", "shared_memory_bytes": r"shared_memory_bytes: (\d+)",
          "max_storage_buffer_bytes": r"storage_buffer_bytes: (\d+)", "max_image_extent": r"image_extent: (\d+)",
          "compute_units": r"compute_units: (\d+)"}


def _facts_of(device: Device) -> tuple[dict[str, Any], set[str]]:
    """The numbers of a device that expressions name, and its features."""
    profile = device.profile
    facts: dict[str, Any] = {}
    for name, pattern in _FACTS.items():
        found = re.search(pattern, profile)
        if found:
            facts["device." + name] = int(found.group(1))
    kind = re.search(r"^kind: (\S+)", profile, re.MULTILINE)
    facts["device.is_cpu"] = bool(kind and kind.group(1) == "cpu")
    facts["device.is_integrated"] = bool(kind and kind.group(1).startswith("integrated"))
    return facts, set(re.findall(r"^- (\w+)$", profile, re.MULTILINE))


class Operator:
    """An operator of one's own: `summary`, the names of its operands and problem fields, and the ids of its kernels."""

    def __init__(self, device: Device, described: dict[str, Any], modules: Mapping[str, bytes]) -> None:
        self.name: str = described["name"]
        self.summary: str = described["summary"]
        self.operands: list[str] = [operand["name"] for operand in described["operands"]]
        self.problem: list[str] = [field["name"] for field in described["problem"]]
        self._device, self._described, self._modules = device, described, modules
        self._rows = _rows_of(described)

    @property
    def kernels(self) -> list[str]:
        return [row.name for row in self._rows]

    def bind(self, arrays: Mapping[str, Any], **problem: Any) -> "Call":
        """A call on these arrays, which are copied to the device. `arrays`: one for each operand, outputs too, since
        they tell shapes and dtypes. `problem`: a value for each field of the spec's problem. Shapes are not checked:
        a spec does not say how they follow from the problem.

        Errors: an operand or a field that is missing or unknown; no kernel fits.
        """
        for kind, given, wanted in (("operand", arrays, self.operands), ("problem field", problem, self.problem)):
            wrong = sorted(set(given) ^ set(wanted))
            if wrong:
                said = "is missing" if wrong[0] in wanted else "is unknown"
                raise InvalidArgument(f"{kind} '{wrong[0]}' of '{self.name}' {said}", f"it has {', '.join(wanted)}")
        return Call(self, {name: as_numpy(arrays[name], name) for name in self.operands}, problem)

    def __repr__(self) -> str:
        return f"qgen.Operator({self.name!r}, {len(self._rows)} kernels)"


def _packed(operator: dict[str, Any], members: list[dict[str, Any]], problem: Mapping[str, Any]) -> bytes:
    """The problem as a kernel's push constants or buffer have it."""
    block = bytearray(max((member["offset"] + member["bytes"] for member in members), default=0))
    fields = {field["name"]: field for field in operator["problem"]}
    for member in members:
        field = fields[member["field"]]
        value = problem[member["field"]]
        values = [field["words"].index(value)] if field.get("words") else list(np.atleast_1d(value))
        if len(values) != field["count"] or member["bytes"] != 4 * len(values):
            raise InvalidArgument(f"problem field '{member['field']}' takes {field['count']} values of 4 bytes")
        letter = {"u32": "I", "i32": "i", "f32": "f"}[field["type"]]
        converters: dict[str, Callable[[Any], Any]] = {"f": float}
        convert = converters.get(letter, as_index)
        try:
            struct.pack_into(f"<{len(values)}{letter}", block, member["offset"], *map(convert, values))
        except (struct.error, TypeError, ValueError, OverflowError):
            message = f"problem field '{member['field']}' is {value}, which is no {field['type']}"
            raise InvalidArgument(message) from None
    return bytes(block)


class _Loaded:
    """The kernels that fit a call, on the device; with what each launch needs."""

    def __init__(self, call: "Call", rows: list[_Row]) -> None:
        self._kept: list[Any] = []
        self.rows = {row.name: i for i, row in enumerate(rows)}
        self.blocks = [call.block_of(row) for row in rows]
        self.groups = [call.groups_of(row) for row in rows]
        infos = (KernelInfo * len(rows))(*(self._info(call, row, block) for row, block in zip(rows, self.blocks)))
        handle = c_void_p()
        lib.kernels_load(call.operator._device, infos, len(rows), byref(handle))
        self.device = Device._of(handle)
        self.tensors: dict[str, Tensor] = {name: self.device.tensor(array) for name, array in call.arrays.items()}
        self._operands = (c_void_p * len(self.tensors))(*(tensor._as_parameter_ for tensor in self.tensors.values()))

    def _info(self, call: "Call", row: _Row, block: bytes) -> KernelInfo:
        kernel, described = row.kernel, call.operator._described
        by_operand = {binding["operand"]: binding for binding in kernel["bindings"]}
        access = {"read": 1, "write": 2, "read_write": 3}
        bindings = [by_operand.get(name, {"binding": 128 + i, "access": "read"})  # a module may leave out an operand
                    for i, name in enumerate(call.operator.operands)]
        operands = (Binding * len(bindings))(*(Binding(binding["binding"], access[binding["access"]], dtype.encode())
                                               for binding, dtype in zip(bindings, kernel["dtypes"])))
        ids = {constant["constant_id"]: constant for constant in described["specialization"]}
        chosen = [(i, call.constant_of(row, ids[i])) for i in kernel["constants"]]
        constants = (Constant * max(len(chosen), 1))(*(Constant(i, value) for i, value in chosen))
        needs = (c_char_p * max(len(kernel["needs"]), 1))(*(need.encode() for need in kernel["needs"]))
        spirv = call.operator._modules[kernel["module"]]
        words = (c_uint32 * (len(spirv) // 4)).from_buffer_copy(spirv)
        self._kept += [operands, constants, needs, words]
        place = by_operand.get("(problem)", {"binding": -1})["binding"]
        return KernelInfo(row.name.encode(), words, len(words), operands, len(operands), constants, len(chosen), needs,
                          len(kernel["needs"]), len(block), place, kernel.get("subgroup_size", 0))

    def launch(self, kernel: str, runs: int, is_timed: bool) -> list[float]:
        index = self.rows[kernel]
        us = (c_double * runs)() if is_timed else None
        lib.kernels_launch(self.device, index, self._operands, len(self.tensors), self.blocks[index],
                           (c_uint32 * 3)(*self.groups[index]), runs, us)
        return list(us) if us is not None else []


class Call:
    """An operator of one's own on arrays and a problem. `kernels`: the ids that fit, the best one first after tune().
    `refused`: why others do not fit."""

    def __init__(self, operator: Operator, arrays: Mapping[str, Array], problem: Mapping[str, Any]) -> None:
        self.operator, self.arrays, self._problem = operator, arrays, problem
        self.refused: dict[str, str] = {}
        self._facts, self._features = _facts_of(operator._device)
        fitting = [row for row in operator._rows if self._fits(row)]
        if not fitting:
            raise Unsupported(f"no kernel of '{operator.name}' fits",
                              "; ".join(f"{name}: {why}" for name, why in itertools.islice(self.refused.items(), 3)))
        self.kernels = [row.name for row in fitting]
        self._loaded = _Loaded(self, fitting)

    def _names(self, row: _Row) -> dict[str, Any]:
        return {**self._facts, **self._problem, **row.kernel["parameters"], **row.values}

    def _why_not(self, row: _Row) -> str:
        for (name, array), dtype in zip(self.arrays.items(), row.kernel["dtypes"]):
            if _DTYPES[array.dtype.name] != dtype:
                return f"'{name}' is {_DTYPES[array.dtype.name]}, and the kernel takes {dtype}"
        if any(binding["kind"] == "storage_image" for binding in row.kernel["bindings"]):
            return "it has textures, which Python has not"
        missing = [need for need in row.kernel["needs"] if need not in self._features]
        if missing:
            return f"the device lacks {missing[0]}"
        described, names = self.operator._described, self._names(row)
        for condition in described["applies_when"] + described["require_device"]:
            if not evaluate(condition, names):
                return f"{condition} does not hold"
        return ""

    def _fits(self, row: _Row) -> bool:
        why = self._why_not(row)
        if why:
            self.refused[row.name] = why
        return not why

    def block_of(self, row: _Row) -> bytes:
        is_buffer = bool(row.kernel.get("problem_buffer"))
        members = row.kernel["problem_buffer"] if is_buffer else row.kernel["push_constants"]
        block = _packed(self.operator._described, members, self._problem)
        return block + bytes(-len(block) % (16 if is_buffer else 4))

    def groups_of(self, row: _Row) -> list[int]:
        sides = [int(evaluate(side, self._names(row))) for side in self.operator._described["grid"]]
        return sides + [1] * (3 - len(sides))

    def constant_of(self, row: _Row, constant: dict[str, Any]) -> int:
        value = row.values[constant["name"]] if "values" in constant else evaluate(constant["value"], self._names(row))
        if isinstance(value, str):
            raise Unsupported(f"constant '{constant['name']}' is a word, which Python has not")
        return int(value) & 0xFFFFFFFF

    def _outputs(self) -> Iterator[str]:
        return (operand["name"] for operand in self.operator._described["operands"] if operand["access"] != "read")

    def _prepare(self) -> None:
        """Outputs are filled with a pattern, and operands that are read and written with their values."""
        for operand in self.operator._described["operands"]:
            name, array = operand["name"], self.arrays[operand["name"]]
            if operand["access"] == "read_write":
                self._loaded.tensors[name].write(array)
            elif operand["access"] == "write":
                pattern = np.full(array.nbytes, 0xFF, np.uint8)
                self._loaded.tensors[name].write(pattern.view(array.dtype).reshape(array.shape))

    def _known(self, kernel: str) -> str:
        if not kernel:
            if not self.kernels:
                raise NotFound("tune() found no kernel that is right", "check() tells what is wrong")
            return self.kernels[0]
        if kernel not in self._loaded.rows:
            raise NotFound(f"'{kernel}' is no kernel that fits",
                           self.refused.get(kernel, "it has " + ", ".join(self.kernels)))
        return kernel

    def run(self, kernel: str = "") -> dict[str, Array]:
        """Runs a kernel, or the first. Gives all outputs by name."""
        kernel = self._known(kernel)
        self._prepare()
        self._loaded.launch(kernel, 1, False)
        return {name: self._loaded.tensors[name].numpy() for name in self._outputs()}

    def time(self, kernel: str = "", runs: int = 20) -> Time:
        """The time of a kernel, or of the first, by the device's clock, after one run that is not counted."""
        kernel = self._known(kernel)
        us = self._loaded.launch(kernel, runs + 1, True)[1:]
        return Time(kernel, float(np.median(us)), min(us), max(us))

    def check(self, reference: Callable[..., Any], kernel: str = "", *, rtol: float | None = None,
              atol: float | None = None) -> None:
        """Compares a kernel with a NumPy function of the inputs, which it takes by name. The function gives the output,
        or a dictionary of the outputs. Default tolerances: 1e-5 of f32, 1e-2 of f16, and none of integers, both
        relative and absolute. Errors: qgen.InvalidArgument, with the first wrong element."""
        self._compare(self.run(kernel), self._expected(reference), rtol, atol)

    def _expected(self, reference: Callable[..., Any]) -> Mapping[str, Any]:
        read = [operand["name"] for operand in self.operator._described["operands"] if operand["access"] != "write"]
        given = reference(**{name: self.arrays[name] for name in read})
        return given if isinstance(given, Mapping) else {next(self._outputs()): given}

    @staticmethod
    def _compare(got: Mapping[str, Any], expected: Mapping[str, Any], rtol: float | None, atol: float | None) -> None:
        for name, wanted in expected.items():
            array, wanted = got[name], np.asarray(wanted)
            if array.shape != wanted.shape:
                raise InvalidArgument(f"'{name}' is {list(array.shape)}, and the reference gives {list(wanted.shape)}")
            relative = rtol if rtol is not None else {"f4": 1e-5, "f2": 1e-2}.get(array.dtype.str[1:], 0)
            close = np.isclose(array.astype(np.float64), wanted.astype(np.float64), rtol=relative,
                               atol=relative if atol is None else atol, equal_nan=True)
            if not close.all():
                at = tuple(int(i) for i in np.argwhere(~close)[0])
                raise InvalidArgument(f"{int((~close).sum())} of {close.size} elements of '{name}' are wrong: at "
                                      f"{list(at)} is {array[at]}, and the reference gives {wanted[at]}")

    def tune(self, reference: Callable[..., Any] | None = None, *, budget: float = 20, rtol: float | None = None,
             atol: float | None = None, progress: bool | None = None) -> Times:
        """Checks every kernel that fits, as check() does, and times the right ones in turns, for `budget` seconds at
        most. Checks do not count, and each kernel is timed once at least. run() uses the fastest from then on. Kernels
        that are wrong or fail are in `wrong` of the result, and run no more by default."""
        expected = self._expected(reference) if reference else {}
        wrong, samples = self._checked(expected, rtol, atol)
        bar, began = _programs.Bar(budget, "s", progress), time.monotonic()
        racing = list(samples)
        for turn in range(10):
            for kernel in racing:
                if time.monotonic() - began < budget or not samples[kernel]:
                    samples[kernel] += self._loaded.launch(kernel, 4, True)[1:]
                bar.show(min(time.monotonic() - began, budget), kernel)
            best = min((float(np.median(samples[kernel])) for kernel in racing), default=0.0)
            racing = [kernel for kernel in racing if min(samples[kernel]) <= 1.5 * best]
        bar.close()
        times = Times((Time(kernel, float(np.median(us)), min(us), max(us)) for kernel, us in samples.items()), wrong)
        self.kernels = [row.kernel for row in times]
        return times

    def _checked(self, expected: Mapping[str, Any], rtol: float | None, atol: float | None
                 ) -> tuple[dict[str, str], dict[str, list[float]]]:
        wrong: dict[str, str] = {}
        samples: dict[str, list[float]] = {}
        for kernel in self.kernels:
            try:
                self._compare(self.run(kernel), expected, rtol, atol)
                samples[kernel] = []
            except Error as error:
                wrong[kernel] = error.message
        return wrong, samples


class Kernels(Mapping[str, Operator]):
    """Operators of one's own by their names, as load() gives them."""

    def __init__(self, make: Callable[[str], None], device: Device) -> None:
        self._make, self.device = make, device
        self._modules: dict[str, bytes] = {}
        self._operators: dict[str, Operator] = {}
        self.reload()

    def reload(self) -> int:
        """Compiles again what has changed. Gives how many modules are new. Calls that are bound later have the new
        kernels, and earlier ones keep the old. After an error all old kernels stay."""
        with tempfile.TemporaryDirectory() as folder:
            self._make(folder)
            root = pathlib.Path(folder) / "spv"
            index = json.loads((root / "index.json").read_text())
            modules = {kernel["module"]: (root / kernel["module"]).read_bytes()
                       for operator in index["operators"] for kernel in operator["kernels"]}
        changed = len(set(modules) - set(self._modules))
        self._modules = modules
        self._operators = {operator["name"]: Operator(self.device, operator, modules)
                           for operator in index["operators"]}
        return changed

    def __getitem__(self, name: str) -> Operator:
        if name not in self._operators:
            raise NotFound(f"there is no operator '{name}'", "it has " + ", ".join(self._operators))
        return self._operators[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._operators)

    def __len__(self) -> int:
        return len(self._operators)


def _written(folder: str, specs: str, templates: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """A spec and templates that were given as text, as files."""
    name = re.search(r"^(?:operator|kernel):\s*(\w+)", specs, re.MULTILINE)
    if not name:
        raise InvalidArgument("the spec has no line 'operator: NAME'")
    root = pathlib.Path(folder)
    spec = root / f"{name.group(1)}.yaml"
    spec.write_text(specs)
    for template, text in templates.items():
        file = root / "templates" / template
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return [str(spec)], [str(root / "templates")]


def load(specs: Paths, templates: Paths | Mapping[str, str] = (), device: Device | None = None, *,
         options: Sequence[str] = (), program: str = "") -> Kernels:
    """Compiles kernels of one's own, with no C++ compiler, and gives their operators by name.

        own = qgen.load("specs/scale.yaml")
        call = own["scale"].bind({"x": x, "y": np.empty_like(x)}, numel=x.size)
        print(call.tune(lambda x: 2 * x))                      # checks each kernel, then times it
        y = call.run()["y"]                                    # the fastest

    `specs`: files or folders; or the text of one spec, and then `templates` is a dictionary of texts by file names.
    Else `templates` are folders; empty: the nearest folder `templates`. `options`: of qgen, such as ["--filter", "*.f32.*"].
    `program`: qgen; empty: $QGEN, or qgen of PATH. Without a device, the first is opened. Recipes are left out.

    Errors: qgen.InvalidArgument with qgen's messages, which name file and line.
    """
    if isinstance(templates, Mapping) != (isinstance(specs, str) and "\n" in specs):
        raise InvalidArgument("a spec as text needs templates as a dictionary of texts, and files need folders")

    def make(folder: str) -> None:
        with tempfile.TemporaryDirectory() as texts:
            files, folders = ((specs, templates) if not isinstance(templates, Mapping) else
                              _written(texts, str(specs), templates))
            generate(files, folder, templates=folders, options=["--emit", "spv", *options], program=program)

    return Kernels(make, device or Device())
