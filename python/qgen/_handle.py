# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Objects of the library that a Python object owns."""
from __future__ import annotations

import os
import threading
from ctypes import c_void_p
from typing import Any, NoReturn

from ._errors import InvalidArgument
from ._library import lib


class Handle:
    """Owns an object of the library, and frees it.

    A device and all that was made on it share a lock, which every call of the library takes: threads wait for one
    another. The object belongs to the process that made it, and cannot be copied.
    """

    _FREE = ""  # the function of qgen.h that frees it, without its prefix

    def __init__(self, handle: c_void_p, lock: Any = None) -> None:
        self.handle = handle
        self.lock = lock or threading.RLock()
        self._process = os.getpid()

    @property
    def _as_parameter_(self) -> c_void_p:  # ctypes passes this
        self._check()
        return self.handle

    def locked(self) -> Any:
        """The lock for a call on this object."""
        self._check()
        return self.lock

    def _check(self) -> None:
        name = type(self).__name__
        if getattr(self, "handle", None) is None:
            raise InvalidArgument(f"this {name} was never made")
        if self._process != os.getpid():
            raise InvalidArgument(f"this {name} belongs to the process that opened its device",
                                  "open the device after the fork, or start processes by 'spawn'")

    def _refuse_to_copy(self, *_: Any) -> NoReturn:
        raise TypeError(f"a {type(self).__module__.split('.')[0]}.{type(self).__name__} cannot be copied or pickled: it "
                        "owns memory of a device")

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = _refuse_to_copy

    def __del__(self) -> None:
        is_ours = getattr(self, "handle", None) and self._process == os.getpid()
        if is_ours:
            getattr(lib, self._FREE)(self)
