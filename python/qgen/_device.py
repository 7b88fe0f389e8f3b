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

from ._errors import InvalidArgument, NotFound
from ._handle import Handle
from ._library import Argument, ArrayInfo, Attribute, Call, encoded, lib, path_bytes, text, text_of
from ._operators import Operators

if TYPE_CHECKING:
    from ._types import Array, DType, Path

# qgen's names of NumPy's dtypes.
_DTYPES = {"float32": "f32", "float16": "f16", "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16",
           "int32": "i32", "uint32": "u32"}
_NUMPY: dict[str, DType] = {name: np.dtype(long) for long, name in _DTYPES.items()}


def as_numpy(value: Any, name: str) -> Array:
    """A row-major array of a dtype that qgen has. Python's floats become float32, and its integers int32."""
    is_array = isinstance(value, np.ndarray) or hasattr(value, "__dlpack__")
    try:
        array = _array(value)
    except ValueError as error:  # a list of rows of different lengths
        raise InvalidArgument(f"'{name}' is no array: {error}") from None
    if not is_array:
        if array.dtype.kind == "i" and array.size and not -2**31 <= array.min() <= array.max() < 2**31:
            raise InvalidArgument(f"'{name}' has an integer that int32 lacks", "pass an array of another dtype")
        array = array.astype({"f": np.float32, "i": np.int32}.get(array.dtype.kind, array.dtype))
    if array.dtype.name not in _DTYPES:
        raise InvalidArgument(f"'{name}' is of {array.dtype.name}", "convert it to one of " + ", ".join(_DTYPES))
    return array.astype(array.dtype.newbyteorder("="), copy=False)  # of files that are big-endian


def _array(value: Any) -> Array:
    if hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
        value = np.from_dlpack(value)
    return np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value)


def _shape(sides: Any) -> Any:
    return (c_int64 * max(len(sides), 1))(*sides)


class _Given:
    """Arguments in C's form; keeps the objects alive to which they point."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._kept: list[Any] = []
        if not isinstance(values, Mapping):
            raise InvalidArgument(f"the inputs are {type(values).__name__}, and must be a dictionary by their names")
        rows = [self._argument(name, value) for name, value in values.items() if value is not None]
        self.count = len(rows)
        self.rows = (Argument * max(self.count, 1))(*rows)

    def array(self, array: Array) -> ArrayInfo:
        sides = _shape(array.shape)
        self._kept += [array, sides]
        return ArrayInfo(_DTYPES[array.dtype.name].encode(), array.ndim, sides, array.ctypes.data, array.nbytes)

    def _argument(self, name: str, value: Any) -> Argument:
        argument = Argument(name=encoded(name, "the name of an input"))
        if isinstance(value, Weight):
            argument.weight = value._as_parameter_
        elif isinstance(value, Tensor):
            argument.tensor = value._as_parameter_
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
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, (list, tuple, np.ndarray)):
        return ",".join(_word(item) for item in value)
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (type, np.dtype)) and np.dtype(value).name in _DTYPES:
        return _DTYPES[np.dtype(value).name]
    return str(value)


def _call(op: str, given: _Given, attributes: Mapping[str, Any], kernel: str | None) -> Call:
    if not isinstance(attributes, Mapping):
        raise InvalidArgument(f"the attributes are {type(attributes).__name__}, and must be a dictionary by their names")
    for name, value in attributes.items():
        if isinstance(value, np.ndarray) and value.ndim > 1:
            raise InvalidArgument(f"'{name}' is an array of {value.ndim} dimensions, and must be a number or a list",
                                  f"{name}=qgen.Device.tensor(...) names memory for an output")
    rows = [Attribute(encoded(name, "the name of an attribute"), encoded(_word(value), f"'{name}'"))
            for name, value in attributes.items() if value is not None]
    return Call(encoded(op, "the operator"), given.rows, given.count, (Attribute * max(len(rows), 1))(*rows), len(rows),
                None if kernel is None else encoded(kernel, "the kernel"))


class Tensor(Handle):
    """A tensor that stays on its device. `numpy()` copies it."""

    _FREE = "tensor_free"

    def __init__(self, handle: c_void_p, device: "Device") -> None:
        super().__init__(handle, device.lock)
        self._device = device  # kept alive

    @property
    def shape(self) -> tuple[int, ...]:
        sides = lib.tensor_shape(self)
        return tuple(sides[i] for i in range(lib.tensor_rank(self)))

    @property
    def dtype(self) -> DType:
        return _NUMPY[text(lib.tensor_dtype(self))]

    def numpy(self) -> Array:
        """A copy in host memory; waits for the device."""
        array = np.empty(self.shape, self.dtype)
        lib.tensor_read(self, array.ctypes.data, array.nbytes)
        return array

    def write(self, values: Any) -> None:
        """Replaces its elements. Errors: another shape or dtype."""
        array = as_numpy(values, "values")
        if array.shape != self.shape or array.dtype != self.dtype:
            raise InvalidArgument(f"the tensor is {self.dtype.name} {list(self.shape)}, and the values are "
                                  f"{array.dtype.name} {list(array.shape)}")
        lib.tensor_write(self, array.ctypes.data, array.nbytes)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("the tensor is in memory of a Vulkan device; hint: use numpy()")

    def __repr__(self) -> str:
        return f"qgen.Tensor({self.dtype.name}, {list(self.shape)})"


class Weight(Handle):
    """A weight that is packed once, into the forms that kernels read."""

    _FREE = "weight_free"

    def __init__(self, handle: c_void_p, device: "Device") -> None:
        super().__init__(handle, device.lock)
        self._device = device  # kept alive


def take_results(results: c_void_p, device: "Device") -> dict[str, Tensor]:
    """The tensors by name; frees the results."""
    outputs: dict[str, Tensor] = {}
    with device.lock:
        for i in range(lib.results_count(results)):
            name = text(lib.results_name(results, i))
            outputs[name] = Tensor(c_void_p(lib.results_take(results, i)), device)
        lib.results_free(results)
    return outputs


class Device(Handle, Operators):
    """A device with the shipped operators as methods.

    `which`: empty for the first GPU, or else the CPU; a number; a UUID in hexadecimal digits; or a part of a name.

    Inputs are NumPy arrays, or anything with `__dlpack__` in host memory. Outputs are arrays too, unless an input is a
    Tensor or `keep` is true: then they are Tensors. Threads may share a device: their calls wait for one another. A device
    belongs to the process that opened it.
    """

    _FREE = "device_free"

    def __init__(self, which: str | int = "") -> None:
        handle = c_void_p()
        lib.device_open(encoded(str(which), "the device"), byref(handle))
        super().__init__(handle)

    @classmethod
    def _of(cls, handle: c_void_p) -> "Device":
        device = cls.__new__(cls)
        Handle.__init__(device, handle)
        return device

    @property
    def name(self) -> str:
        return text(lib.device_name(self))

    @property
    def profile(self) -> str:
        """Its features and limits, as the YAML of a device file."""
        return text_of(lib.device_profile, self)

    def check(self) -> list[dict[str, str]]:
        """Checks what the device computes with each feature that kernels rely on; takes seconds on a CPU.

        Each finding has `verdict` ("works", "wrong" or "missing"), `name` and `text`. A feature that is wrong is not
        used from now on, nor by programs that open this device later.
        """
        findings: list[dict[str, str]] = json.loads(text_of(lib.device_check, self))
        return findings

    def reload(self, path: Path) -> int:
        """Takes newer modules of shipped operators from a file `kernels.blob`, which a later run of qgen wrote. Gives
        how many kernels changed. Calls and models that are loaded later run the new modules; a model that has run keeps its
        old ones for the shapes that it knows. After an error all old modules stay.

        Errors: the file cannot be read or is damaged; a kernel with another spec or interface.
        """
        changed = c_size_t()
        lib.device_reload(self, path_bytes(path, "the file"), byref(changed))
        return changed.value

    def use_times(self, store: Path = "") -> None:
        """Chooses by the times of qgen-tune from now on. `store`: empty for this user's, which need not exist.

        Errors: qgen.NotFound, if there is no such store.
        """
        if store != "" and not os.path.exists(path_bytes(store, "the store")):
            raise NotFound(f"there is no store '{os.fspath(store)}'", "qgen.tune() makes one when it measures")
        lib.device_use_times(self, path_bytes(store, "the store"))

    def times(self, store: Path = "") -> list[tuple[str, str, float]]:
        """The times measured on this device: problem, kernel, microseconds."""
        lines = text_of(lib.device_times, self, path_bytes(store, "the store")).splitlines()
        return [(problem, kernel, float(us)) for problem, kernel, us in (line.split("\t") for line in lines)]

    def tensor(self, values: Any) -> Tensor:
        """Copies an array to the device."""
        given, handle = _Given({}), c_void_p()
        lib.tensor_upload(self, byref(given.array(as_numpy(values, "values"))), byref(handle))
        return Tensor(handle, self)

    def weight(self, values: Any) -> Weight:
        """Makes a weight of int8 [N, K] or [N, C, H, W], which is packed when a kernel first reads it."""
        given, handle = _Given({}), c_void_p()
        lib.weight_create(self, byref(given.array(as_numpy(values, "values"))), byref(handle))
        return Weight(handle, self)

    def run(self, op: str, inputs: Mapping[str, Any], attributes: Mapping[str, Any] | None = None, *,
            kernel: str | None = None, keep: bool = False) -> dict[str, Any]:
        """Runs an operator by its name. Gives all outputs by name. `kernel` forces one that explain() names."""
        given, results = _Given(inputs), c_void_p()
        call = _call(op, given, attributes or {}, kernel)
        lib.run(self, byref(call), byref(results))
        outputs = take_results(results, self)
        if keep or any(isinstance(value, Tensor) for value in inputs.values()):
            return outputs
        return {name: tensor.numpy() for name, tensor in outputs.items()}

    def explain(self, op: str, inputs: Mapping[str, Any], attributes: Mapping[str, Any] | None = None, *,
                kernel: str | None = None) -> str:
        """All kernels for this call, ranked, with a reason against each that does not fit."""
        given = _Given(inputs)
        return text_of(lib.explain, self, byref(_call(op, given, attributes or {}, kernel)))

    def _one(self, op: str, inputs: Mapping[str, Any], attributes: Mapping[str, Any], keep: bool) -> Any:
        outputs = self.run(op, inputs, attributes, keep=keep)
        return next(iter(outputs.values())) if len(outputs) == 1 else tuple(outputs.values())

    def __repr__(self) -> str:
        return f"qgen.Device({self.name!r})"


def opened(device: Device | None) -> Device:
    """The device that was given, else the first."""
    if device is not None and not isinstance(device, Device):
        raise InvalidArgument(f"the device is {type(device).__name__} {device!r}, and must be a qgen.Device")
    return device or Device()


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
