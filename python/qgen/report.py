# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""python -m qgen.report: prints versions, the library, qgen's programs, the Vulkan loader and its drivers, and the
devices, or the reason why there are none. Attach it to a report of a fault."""
from __future__ import annotations

import ctypes
import os
import pathlib
import platform

import numpy as np

import qgen
from qgen import _programs
from qgen._library import path

# Where a loader looks for drivers, ahead of which are the two variables.
_DRIVER_FOLDERS = ("/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/usr/share/vulkan/icd.d")
_VARIABLES = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_LOADER_LAYERS_ENABLE", "VK_INSTANCE_LAYERS")


def _loader() -> str:
    """Its version, or why it cannot be loaded."""
    try:
        loader = ctypes.CDLL("libvulkan.so.1")
        version = ctypes.c_uint32()
        loader.vkEnumerateInstanceVersion(ctypes.byref(version))
    except (OSError, AttributeError) as error:
        return f"none: {error}"
    number = version.value
    return f"libvulkan.so.1, Vulkan {number >> 22 & 127}.{number >> 12 & 1023}.{number & 4095}"


def _drivers() -> list[str]:
    return [str(file) for folder in _DRIVER_FOLDERS for file in sorted(pathlib.Path(folder).glob("*.json"))]


def _program(name: str) -> str:
    try:
        return _programs.find(name)
    except qgen.NotFound as error:
        return error.message


def _print_devices() -> None:
    try:
        names = qgen.devices()
    except qgen.Error as error:
        print(f"no device: {error}")
        return
    if not names:
        print("no device: the loader finds none")
    for i, name in enumerate(names):
        print(f"device {i}: {name}")
        try:
            device = qgen.Device(i)
        except qgen.Error as error:
            print(f"  refused: {error}")
            continue
        kept = ("architecture", "vulkan", "  info", "  version")
        for line in device.profile.splitlines():
            if line.startswith(tuple(f"{key}:" for key in kept)):
                print("  " + line.strip())


def main() -> None:
    print(f"qgen {qgen.__version__}, library {path()}")
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.platform()}, "
          f"{' '.join(platform.libc_ver())}")
    for name in ("qgen", "qgen-tune", "qgen-model"):
        print(f"program {name}: {_program(name)}")
    print(f"loader: {_loader()}")
    for file in _drivers():
        print(f"driver file: {file}")
    for variable in _VARIABLES:
        if variable in os.environ:
            print(f"{variable}={os.environ[variable]}")
    _print_devices()


if __name__ == "__main__":
    main()
