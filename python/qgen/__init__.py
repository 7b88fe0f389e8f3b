# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""qgen from Python: quantized operators and models on Vulkan devices, on NumPy arrays (docs/python.md).

    import numpy as np, qgen

    dev = qgen.Device()
    y = dev.softmax(np.random.rand(4, 1000).astype(np.float32))
    scores = qgen.Model("net.onnx", dev).run({"image": picture})["scores"]

libvulkan is opened when a device is asked for, and never at import.
"""
from ._errors import DeviceFailed, Error, InvalidArgument, NotFound, SystemFailed, Unsupported
from ._device import Device, Tensor, Weight, devices, infer
from ._generate import Generator
from ._kernels import Call, Kernels, Operator, generate, load
from ._library import version as _version
from ._model import Model, Step
from ._quantize import Layer, Quantized, quantize, quantize_model
from ._times import Time, Times, TunedProblems
from ._tune import tune

__version__ = _version()
__all__ = ["Call", "Device", "DeviceFailed", "Error", "Generator", "InvalidArgument", "Kernels", "Layer", "Model",
           "NotFound", "Operator", "Quantized", "Step", "SystemFailed", "Tensor", "Time", "Times", "TunedProblems",
           "Unsupported", "Weight", "devices", "generate", "infer", "load", "quantize", "quantize_model", "tune"]
