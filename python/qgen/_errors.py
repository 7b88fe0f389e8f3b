# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Errors of the library as exceptions: one class for each kind."""
from __future__ import annotations


class Error(Exception):
    """A failed call. `message` is a sentence; `hint` is advice, or empty."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}\n  hint: {hint}" if hint else message)
        self.message = message
        self.hint = hint


class InvalidArgument(Error, ValueError):
    """An argument that cannot be taken."""


class Unsupported(Error):
    """qgen or this device does not support the request."""


class NotFound(Error, LookupError):
    """No file, operator or device of that name."""


class DeviceFailed(Error):
    """Vulkan or its driver failed, or there is none."""


class SystemFailed(Error, OSError):
    """The operating system failed, or memory ran out."""


# By the codes of qgen.h.
BY_CODE = {1: InvalidArgument, 2: Unsupported, 3: NotFound, 4: DeviceFailed, 5: SystemFailed}
