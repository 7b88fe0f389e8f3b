# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Models from ONNX files and from compiled models."""
from __future__ import annotations

from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple

from ._device import _NUMPY, Device, _Given, opened, take_results
from ._handle import Handle
from ._library import lib, path_bytes, text, text_of

if TYPE_CHECKING:
    from ._types import Array, DType, Path


class Step(NamedTuple):
    """A layer as it is run: its name, its kernel, and microseconds, which are estimated, or measured by profile()."""

    name: str
    kernel: str
    us: float


class Model(Handle):
    """A model of an ONNX file, or of one that save() or `qgen-model compile` wrote.

        model = qgen.Model("net.onnx")
        scores = model.run({"image": picture})["scores"]

    `file`: a path, or the bytes of a file. Without a device, the first is opened.
    """

    _FREE = "model_free"

    def __init__(self, file: Path | bytes, device: Device | None = None) -> None:
        self.device, handle = opened(device), c_void_p()
        if isinstance(file, bytes):
            lib.model_load_memory(self.device, file, len(file), byref(handle))
        else:
            lib.model_load(self.device, path_bytes(file, "the file"), byref(handle))
        super().__init__(handle, self.device.lock)

    @property
    def inputs(self) -> dict[str, tuple[DType, tuple[int, ...]]]:
        """The dtype and shape of each input; a side of -1 may be any."""
        found = {}
        for i in range(lib.model_input_count(self)):
            sides = lib.model_input_shape(self, i)
            shape = tuple(sides[d] for d in range(lib.model_input_rank(self, i)))
            found[text(lib.model_input_name(self, i))] = (_NUMPY[text(lib.model_input_dtype(self, i))], shape)
        return found

    @property
    def outputs(self) -> list[str]:
        return [text(lib.model_output_name(self, i)) for i in range(lib.model_output_count(self))]

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Array]:
        """All inputs by name, all outputs by name. Kernels are chosen when shapes are new."""
        given, results = _Given(inputs), c_void_p()
        lib.model_run(self, given.rows, given.count, byref(results))
        return {name: tensor.numpy() for name, tensor in take_results(results, self.device).items()}

    def explain(self, inputs: Mapping[str, Any]) -> list[Step]:
        """The layers with their kernels and estimated microseconds, for the shapes of these inputs."""
        return self._steps(lib.model_explain, inputs)

    def profile(self, inputs: Mapping[str, Any]) -> list[Step]:
        """The same with measured microseconds, each layer apart. A layer among others takes less."""
        return self._steps(lib.model_profile, inputs)

    def save(self, path: Path) -> None:
        """Writes the model for the shapes that were run last: it loads in milliseconds on the same device.

        Errors: qgen.InvalidArgument, if the model has not run.
        """
        lib.model_save(self, path_bytes(path, "the file"))

    def _steps(self, ask: Any, inputs: Mapping[str, Any]) -> list[Step]:
        given = _Given(inputs)
        lines = text_of(ask, self, given.rows, given.count).splitlines()
        return [Step(name, kernel, float(us)) for name, kernel, us in (line.split("\t") for line in lines)]
