# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Devices, the tensors and weights on them, and operators by name."""
from __future__ import annotations

import ctypes
import json
import os
from ctypes import byref, c_int64, c_size_t, c_void_p
from typing import TYPE_CHECKING, Any, Mapping

import numpy as np

from ._errors import InvalidArgument
from ._library import Argument, ArrayInfo, Attribute, Call, lib, text, text_of
from ._operators import Operators

if TYPE_CHECKING:
    from ._types import Array, DType, Path

# qgen's names of NumPy's dtypes.
_DTYPES = {"float32": "f32", "float16": "f16", "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16",
           "int32": "i32", "uint32": "u32"}
_NUMPY: dict[str, DType] = {name: np.dtype(long) for long, name in _DTYPES.items()}


def as_numpy(value: Any, name: str) -> Array:
    """A row-major array of a dtype that qgen has. Python's floats become float32, and its integers int32."""
    if hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
        value = np.from_dlpack(value)
    is_array = isinstance(value, np.ndarray)
    array = np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value)
    if not is_array:
        array = array.astype({"f": np.float32, "i": np.int32}.get(array.dtype.kind, array.dtype))
    if array.dtype.name not in _DTYPES:
        raise InvalidArgument(f"'{name}' is of {array.dtype.name}", "convert it to one of " + ", ".join(_DTYPES))
    return array


def _shape(sides: Any) -> Any:
    return (c_int64 * max(len(sides), 1))(*sides)


class _Given:
    """Arguments in C's form; keeps the objects alive to which they point."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._kept: list[Any] = []
        rows = [self._argument(name, value) for name, value in values.items() if value is not None]
        self.count = len(rows)
        self.rows = (Argument * max(self.count, 1))(*rows)

    def array(self, array: Array) -> ArrayInfo:
        sides = _shape(array.shape)
        self._kept += [array, sides]
        return ArrayInfo(_DTYPES[array.dtype.name].encode(), array.ndim, sides, array.ctypes.data, array.nbytes)

    def _argument(self, name: str, value: Any) -> Argument:
        argument = Argument(name=name.encode())
        if isinstance(value, Weight):
            argument.weight = value.handle
        elif isinstance(value, Tensor):
            argument.tensor = value.handle
        else:
            held = self.array(as_numpy(value, name))
            self._kept.append(held)
            argument.array = ctypes.pointer(held)
        self._kept.append(value)
        return argument


def _word(value: Any) -> str:
    """An attribute as `qgen-run --set` takes it."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, np.ndarray)):
        return ",".join(_word(item) for item in value)
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (type, np.dtype)) and np.dtype(value).name in _DTYPES:
        return _DTYPES[np.dtype(value).name]
    return str(value)


def _call(op: str, given: _Given, attributes: Mapping[str, Any], kernel: str | None) -> Call:
    rows = [Attribute(name.encode(), _word(value).encode()) for name, value in attributes.items() if value is not None]
    return Call(op.encode(), given.rows, given.count, (Attribute * max(len(rows), 1))(*rows), len(rows),
                kernel.encode() if kernel else None)


class Tensor:
    """A tensor that stays on its device. `numpy()` copies it."""

    def __init__(self, handle: c_void_p, device: "Device | None" = None) -> None:
        self.handle = handle
        self._device = device  # kept alive

    @property
    def shape(self) -> tuple[int, ...]:
        sides = lib.tensor_shape(self.handle)
        return tuple(sides[i] for i in range(lib.tensor_rank(self.handle)))

    @property
    def dtype(self) -> DType:
        return _NUMPY[text(lib.tensor_dtype(self.handle))]

    def numpy(self) -> Array:
        """A copy in host memory; waits for the device."""
        array = np.empty(self.shape, self.dtype)
        lib.tensor_read(self.handle, array.ctypes.data, array.nbytes)
        return array

    def write(self, values: Any) -> None:
        """Replaces its elements. Errors: another shape or dtype."""
        array = as_numpy(values, "values")
        if array.shape != self.shape or array.dtype != self.dtype:
            raise InvalidArgument(f"the tensor is {self.dtype.name} {list(self.shape)}, and the values are "
                                  f"{array.dtype.name} {list(array.shape)}")
        lib.tensor_write(self.handle, array.ctypes.data, array.nbytes)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("the tensor is in memory of a Vulkan device; hint: use numpy()")

    def __repr__(self) -> str:
        return f"qgen.Tensor({self.dtype.name}, {list(self.shape)})"

    def __del__(self) -> None:
        lib.tensor_free(self.handle)


class Weight:
    """A weight that is packed once, into the forms that kernels read."""

    def __init__(self, handle: c_void_p) -> None:
        self.handle = handle

    def __del__(self) -> None:
        lib.weight_free(self.handle)


def take_results(results: c_void_p, device: "Device | None") -> dict[str, Tensor]:
    """The tensors by name; frees the results."""
    outputs: dict[str, Tensor] = {}
    for i in range(lib.results_count(results)):
        name = text(lib.results_name(results, i))
        outputs[name] = Tensor(c_void_p(lib.results_take(results, i)), device)
    lib.results_free(results)
    return outputs


class Device(Operators):
    """A device with the shipped operators as methods.

    `which`: empty for the first GPU, or else the CPU; a number; a UUID in hexadecimal digits; or a part of a name.

    Inputs are NumPy arrays, or anything with `__dlpack__` in host memory. Outputs are arrays too, unless an input is a
    Tensor or `keep` is true: then they are Tensors. Use a device from one thread at a time.
    """

    def __init__(self, which: str | int = "") -> None:
        self.handle = c_void_p()
        lib.device_open(str(which).encode(), byref(self.handle))

    @classmethod
    def _of(cls, handle: c_void_p) -> "Device":
        device = cls.__new__(cls)
        device.handle = handle
        return device

    @property
    def name(self) -> str:
        return text(lib.device_name(self.handle))

    @property
    def profile(self) -> str:
        """Its features and limits, as the YAML of a device file."""
        return text_of(lib.device_profile, self.handle)

    def check(self) -> list[dict[str, str]]:
        """Checks what the device computes with each feature that kernels rely on; takes seconds on a CPU.

        Each finding has `verdict` ("works", "wrong" or "missing"), `name` and `text`. A feature that is wrong is not
        used from now on, nor by programs that open this device later.
        """
        findings: list[dict[str, str]] = json.loads(text_of(lib.device_check, self.handle))
        return findings

    def reload(self, path: Path) -> int:
        """Takes newer modules of shipped operators from a file `kernels.blob`, which a later run of qgen wrote. Gives
        how many kernels changed. Calls and models that are loaded later run the new modules; a model that has run keeps its
        old ones for the shapes that it knows. After an error all old modules stay.

        Errors: the file cannot be read or is damaged; a kernel with another spec or interface.
        """
        changed = c_size_t()
        lib.device_reload(self.handle, os.fsencode(path), byref(changed))
        return changed.value

    def use_times(self, store: Path = "") -> None:
        """Chooses by the times of qgen-tune from now on. `store`: empty for this user's."""
        lib.device_use_times(self.handle, str(store).encode())

    def times(self, store: Path = "") -> list[tuple[str, str, float]]:
        """The times measured on this device: problem, kernel, microseconds."""
        lines = text_of(lib.device_times, self.handle, str(store).encode()).splitlines()
        return [(problem, kernel, float(us)) for problem, kernel, us in (line.split("\t") for line in lines)]

    def tensor(self, values: Any) -> Tensor:
        """Copies an array to the device."""
        given, handle = _Given({}), c_void_p()
        lib.tensor_upload(self.handle, byref(given.array(as_numpy(values, "values"))), byref(handle))
        return Tensor(handle, self)

    def weight(self, values: Any) -> Weight:
        """Makes a weight of int8 [N, K] or [N, C, H, W], which is packed when a kernel first reads it."""
        given, handle = _Given({}), c_void_p()
        lib.weight_create(self.handle, byref(given.array(as_numpy(values, "values"))), byref(handle))
        return Weight(handle)

    def run(self, op: str, inputs: Mapping[str, Any], attributes: Mapping[str, Any] | None = None, *,
            kernel: str | None = None, keep: bool = False) -> dict[str, Any]:
        """Runs an operator by its name. Gives all outputs by name. `kernel` forces one that explain() names."""
        given, results = _Given(inputs), c_void_p()
        call = _call(op, given, attributes or {}, kernel)
        lib.run(self.handle, byref(call), byref(results))
        outputs = take_results(results, self)
        if keep or any(isinstance(value, Tensor) for value in inputs.values()):
            return outputs
        return {name: tensor.numpy() for name, tensor in outputs.items()}

    def explain(self, op: str, inputs: Mapping[str, Any], attributes: Mapping[str, Any] | None = None, *,
                kernel: str | None = None) -> str:
        """All kernels for this call, ranked, with a reason against each that does not fit."""
        given = _Given(inputs)
        return text_of(lib.explain, self.handle, byref(_call(op, given, attributes or {}, kernel)))

    def _one(self, op: str, inputs: Mapping[str, Any], attributes: Mapping[str, Any], keep: bool) -> Any:
        outputs = self.run(op, inputs, attributes, keep=keep)
        return next(iter(outputs.values())) if len(outputs) == 1 else tuple(outputs.values())

    def __repr__(self) -> str:
        return f"qgen.Device({self.name!r})"

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            lib.device_free(self.handle)


def devices() -> list[str]:
    """The names of this machine's devices, in the order of their numbers."""
    return text_of(lib.list_devices).splitlines()


def infer(op: str, inputs: Mapping[str, Any], attributes: Mapping[str, Any] | None = None
          ) -> dict[str, tuple[DType, tuple[int, ...]]]:
    """The dtype and shape of each output, without a device."""
    given = _Given(inputs)
    outputs: dict[str, tuple[DType, tuple[int, ...]]] = {}
    for line in text_of(lib.infer, byref(_call(op, given, attributes or {}, None))).splitlines():
        name, dtype, sides = line.split(" ")
        outputs[name] = (_NUMPY[dtype], tuple(int(side) for side in sides.split(",") if side))
    return outputs
