# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""libqgen.so by ctypes: the structs and functions of qgen.h. Errors become exceptions.

The library is $QGEN_LIBRARY, else the one in this package, else the system's.
"""
from __future__ import annotations

import contextlib
import ctypes
import operator
import os
import pathlib
from ctypes import (POINTER, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64,
                    c_void_p)
from typing import Any, Callable

from ._errors import BY_CODE, InvalidArgument


def path() -> str:
    """Where the library is taken from."""
    named = os.environ.get("QGEN_LIBRARY")
    if named:
        return named
    own = pathlib.Path(__file__).with_name("libqgen.so.0")
    return str(own) if own.exists() else "libqgen.so.0"


class ArrayInfo(ctypes.Structure):
    _fields_ = [("dtype", c_char_p), ("rank", c_size_t), ("shape", POINTER(c_int64)), ("data", c_void_p),
                ("bytes", c_size_t)]


class Argument(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("array", POINTER(ArrayInfo)), ("tensor", c_void_p), ("weight", c_void_p)]


class Attribute(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class Call(ctypes.Structure):
    _fields_ = [("op", c_char_p), ("arguments", POINTER(Argument)), ("argument_count", c_size_t),
                ("attributes", POINTER(Attribute)), ("attribute_count", c_size_t), ("kernel", c_char_p)]


class Binding(ctypes.Structure):
    _fields_ = [("binding", c_uint32), ("access", c_uint32), ("dtype", c_char_p)]


class Constant(ctypes.Structure):
    _fields_ = [("id", c_uint32), ("value", c_uint32)]


class KernelInfo(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("spirv", POINTER(c_uint32)), ("words", c_size_t), ("operands", POINTER(Binding)),
                ("operand_count", c_size_t), ("constants", POINTER(Constant)), ("constant_count", c_size_t),
                ("needs", POINTER(c_char_p)), ("need_count", c_size_t), ("problem_bytes", c_uint32),
                ("problem_binding", c_int32), ("subgroup_size", c_uint32)]


ON_TOKEN = ctypes.CFUNCTYPE(c_int, c_void_p, c_size_t, c_int32)


class Generation(ctypes.Structure):
    _fields_ = [("most_tokens", c_size_t), ("end_tokens", POINTER(c_int32)), ("end_token_count", c_size_t),
                ("top_k", c_uint32), ("temperature", c_double), ("seed", c_uint64), ("prompt_rows", c_size_t),
                ("on_token", ON_TOKEN), ("data", c_void_p)]


_SIZES = [c_size_t, POINTER(c_int64)]
# The arguments ahead of `qgen_error** error`, for functions that can fail.
_CAN_FAIL: dict[str, list[Any]] = {
    "list_devices": [POINTER(c_void_p)],
    "device_open": [c_char_p, POINTER(c_void_p)],
    "device_check": [c_void_p, POINTER(c_void_p)],
    "device_profile": [c_void_p, POINTER(c_void_p)],
    "device_reload": [c_void_p, c_char_p, POINTER(c_size_t)],
    "device_use_times": [c_void_p, c_char_p],
    "device_times": [c_void_p, c_char_p, POINTER(c_void_p)],
    "tensor_create": [c_void_p, c_char_p, *_SIZES, POINTER(c_void_p)],
    "tensor_upload": [c_void_p, POINTER(ArrayInfo), POINTER(c_void_p)],
    "tensor_read": [c_void_p, c_void_p, c_size_t],
    "tensor_write": [c_void_p, c_void_p, c_size_t],
    "weight_create": [c_void_p, POINTER(ArrayInfo), POINTER(c_void_p)],
    "run": [c_void_p, POINTER(Call), POINTER(c_void_p)],
    "infer": [POINTER(Call), POINTER(c_void_p)],
    "explain": [c_void_p, POINTER(Call), POINTER(c_void_p)],
    "kernels_load": [c_void_p, POINTER(KernelInfo), c_size_t, POINTER(c_void_p)],
    "kernels_launch": [c_void_p, c_size_t, POINTER(c_void_p), c_size_t, c_char_p, POINTER(c_uint32), c_size_t,
                       POINTER(c_double)],
    "model_load": [c_void_p, c_char_p, POINTER(c_void_p)],
    "model_load_memory": [c_void_p, c_char_p, c_size_t, POINTER(c_void_p)],
    "model_run": [c_void_p, POINTER(Argument), c_size_t, POINTER(c_void_p)],
    "model_explain": [c_void_p, POINTER(Argument), c_size_t, POINTER(c_void_p)],
    "model_profile": [c_void_p, POINTER(Argument), c_size_t, POINTER(c_void_p)],
    "model_save": [c_void_p, c_char_p],
    "generator_load": [c_void_p, c_char_p, c_int64, c_int, POINTER(c_void_p)],
    "generator_load_paged": [c_void_p, c_char_p, c_int64, c_int, c_int64, c_int64, POINTER(c_void_p)],
    "generator_set_inputs": [c_void_p, POINTER(Argument), c_size_t],
    "generator_start": [c_void_p, c_size_t],
    "generator_feed": [c_void_p, POINTER(c_int32), POINTER(c_size_t), c_size_t],
    "generator_end": [c_void_p, c_size_t],
    "generator_generate": [c_void_p, POINTER(Generation), POINTER(c_int32), POINTER(c_size_t), c_size_t,
                           POINTER(c_int32), POINTER(c_size_t)],
    "generator_next": [c_void_p, c_uint32, c_double, c_uint64, POINTER(c_int32)],
}
# Arguments and results of the others.
_PLAIN: dict[str, tuple[Any, list[Any]]] = {
    "version": (c_char_p, []),
    "operators_json": (c_char_p, []),
    "error_message": (c_char_p, [c_void_p]),
    "error_hint": (c_char_p, [c_void_p]),
    "error_free": (None, [c_void_p]),
    "text_get": (c_char_p, [c_void_p]),
    "text_free": (None, [c_void_p]),
    "device_free": (None, [c_void_p]),
    "device_name": (c_char_p, [c_void_p]),
    "tensor_free": (None, [c_void_p]),
    "tensor_dtype": (c_char_p, [c_void_p]),
    "tensor_rank": (c_size_t, [c_void_p]),
    "tensor_shape": (POINTER(c_int64), [c_void_p]),
    "tensor_bytes": (c_size_t, [c_void_p]),
    "weight_free": (None, [c_void_p]),
    "results_count": (c_size_t, [c_void_p]),
    "results_name": (c_char_p, [c_void_p, c_size_t]),
    "results_take": (c_void_p, [c_void_p, c_size_t]),
    "results_free": (None, [c_void_p]),
    "model_free": (None, [c_void_p]),
    "model_input_count": (c_size_t, [c_void_p]),
    "model_input_name": (c_char_p, [c_void_p, c_size_t]),
    "model_input_dtype": (c_char_p, [c_void_p, c_size_t]),
    "model_input_rank": (c_size_t, [c_void_p, c_size_t]),
    "model_input_shape": (POINTER(c_int64), [c_void_p, c_size_t]),
    "model_output_count": (c_size_t, [c_void_p]),
    "model_output_name": (c_char_p, [c_void_p, c_size_t]),
    "generator_free": (None, [c_void_p]),
    "generator_vocabulary": (c_int64, [c_void_p]),
}


_UNLOCKED = contextlib.nullcontext()


def _lock_of(arguments: tuple[Any, ...]) -> Any:
    """That of the device which the first argument is, or belongs to (_handle.py)."""
    locked = getattr(arguments[0], "locked", None) if arguments else None
    return locked() if locked else _UNLOCKED


def _locked(function: Any) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        with _lock_of(arguments):
            return function(*arguments)

    return call


def _raising(function: Any) -> Callable[..., None]:
    locked = _locked(function)

    def call(*arguments: Any) -> None:
        error = c_void_p()
        code = locked(*arguments, byref(error))
        if code == 0:
            return
        message, hint = text(lib.error_message(error)), text(lib.error_hint(error))
        lib.error_free(error)
        raise BY_CODE.get(code, BY_CODE[5])(message, hint)

    return call


class _Library:
    """The functions of qgen.h without their prefix. Those that can fail raise."""

    def __init__(self, shared: ctypes.CDLL) -> None:
        for name, arguments in _CAN_FAIL.items():
            function = getattr(shared, "qgen_" + name)
            function.restype, function.argtypes = c_int, [*arguments, POINTER(c_void_p)]
            setattr(self, name, _raising(function))
        for name, (result, arguments) in _PLAIN.items():
            function = getattr(shared, "qgen_" + name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, _locked(function))

    def __getattr__(self, name: str) -> Any:  # set above
        raise AttributeError(name)


def encoded(word: Any, name: str) -> bytes:
    """A word as C takes it. `name`: what it is, for the error."""
    if not isinstance(word, str):
        raise InvalidArgument(f"{name} is {type(word).__name__} {word!r}, and must be a str")
    if "\0" in word:
        raise InvalidArgument(f"{name} {word!r} has a NUL character")
    try:
        return word.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(f"{name} {word!r} cannot be encoded as UTF-8") from None


def whole_number(value: Any, name: str, least: int, most: int) -> int:
    """A whole number as C takes it: ctypes would take others modulo a power of two. `name`: what it is, for the error."""
    number = operator.index(value)
    if not least <= number <= most:
        raise InvalidArgument(f"{name} is {number}, and must be from {least} to {most}")
    return number


def path_bytes(path: Any, name: str) -> bytes:
    """A path as C takes it: a str, bytes or os.PathLike."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise InvalidArgument(f"{name} is {type(path).__name__} {path!r}, and must be a path")
    raw = os.fsencode(path)
    if b"\0" in raw:
        raise InvalidArgument(f"{name} {path!r} has a NUL character")
    return raw


def text(raw: bytes | None) -> str:
    return raw.decode() if raw else ""


def version() -> str:
    return text(lib.version())


def text_of(ask: Callable[..., None], *arguments: Any) -> str:
    """The qgen_text that a function gives through its last argument."""
    handle = c_void_p()
    ask(*arguments, byref(handle))
    given = text(lib.text_get(handle))
    lib.text_free(handle)
    return given


lib = _Library(ctypes.CDLL(path()))
