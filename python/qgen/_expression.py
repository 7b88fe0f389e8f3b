# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""The expressions of specs (specs/README.md), as index.json of `qgen --emit spv` has them.

Their syntax is Python's. What differs is computed here: `/` of integers rounds toward zero, a division by 0 gives 0,
and a name without a value is a word, such as f32.
"""
from __future__ import annotations

import ast
import functools
import operator
from typing import Any, Callable, Mapping

from ._errors import Unsupported

_BYTES = {"f64": 8, "i64": 8, "u64": 8, "f32": 4, "i32": 4, "u32": 4, "f16": 2, "bf16": 2, "i16": 2, "u16": 2, "i8": 1,
          "u8": 1}


def _divide(a: Any, b: Any) -> Any:
    if b == 0:
        return 0
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    return -(abs(a) // abs(b)) if (a < 0) != (b < 0) else abs(a) // abs(b)


def _remainder(a: Any, b: Any) -> Any:
    return a - b * _divide(a, b) if b else 0


def _ceil_div(a: int, b: int) -> int:
    return -(-a // b) if b else 0


_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: _divide, ast.Mod: _remainder,
    ast.USub: operator.neg, ast.Not: operator.not_, ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ceil_div": _ceil_div, "min": min, "max": max, "choose": lambda holds, a, b: a if holds else b,
    "bytes": lambda dtype: _BYTES[dtype]}


@functools.lru_cache(maxsize=None)
def _parsed(text: str) -> ast.expr:
    return ast.parse(text.strip(), mode="eval").body


def _name(node: ast.expr) -> str:
    return f"{_name(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ast.unparse(node)


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.Name, ast.Attribute)):
        name = _name(node)
        return {"true": True, "false": False}.get(name, names.get(name, name))
    if isinstance(node, ast.BoolOp):
        values = (_value(part, names) for part in node.values)
        return all(values) if isinstance(node.op, ast.And) else any(values)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        right = node.comparators[0]
        if isinstance(node.ops[0], ast.In):
            items = right.elts if isinstance(right, ast.Tuple) else [right]
            return _value(node.left, names) in [_value(item, names) for item in items]
        return _OPERATORS[type(node.ops[0])](_value(node.left, names), _value(right, names))
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_value(node.left, names), _value(node.right, names))
    if isinstance(node, ast.UnaryOp):
        return _OPERATORS[type(node.op)](_value(node.operand, names))
    if isinstance(node, ast.Call) and _name(node.func) in _FUNCTIONS:
        return _FUNCTIONS[_name(node.func)](*(_value(argument, names) for argument in node.args))
    raise Unsupported(f"'{ast.unparse(node)}' cannot be computed in Python")


def evaluate(text: str, names: Mapping[str, Any]) -> Any:
    """The value of an expression. Errors: qgen.Unsupported, of a name or function that Python does not have."""
    try:
        return _value(_parsed(text), names)
    except (SyntaxError, TypeError, KeyError) as error:
        raise Unsupported(f"'{text}' cannot be computed in Python: {error}") from None
