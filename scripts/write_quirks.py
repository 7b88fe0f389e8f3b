#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Writes runtime/engine/device/quirk_rows.inc, the rows of devices/quirks.yaml as C++.

    scripts/write_quirks.py            writes it
    scripts/write_quirks.py --check    says whether it is current; exit code 1 if not

The compiler checks the names of features and kinds, and a test those of architectures.
"""
import json
import pathlib
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "runtime/engine/device/quirk_rows.inc"
KEYS = {"vendor_id", "driver", "kind", "architectures", "name", "before", "distrust", "distrust_matrices",
        "distrust_kernels", "why", "source"}
MATRIX = ["m", "n", "k", "a", "b", "c", "result"]  # MatrixPattern
HEAD = """// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Written by scripts/write_quirks.py from devices/quirks.yaml.
// clang-format off
"""


def matrices(pattern):
    if pattern is None:
        return "std::nullopt"
    if unknown := set(pattern) - set(MATRIX):
        sys.exit(f"devices/quirks.yaml: unknown keys {sorted(unknown)} in {pattern}")
    value = lambda key: pattern[key] if isinstance(pattern[key], int) else f"DType::{pattern[key]}"
    return "MatrixPattern{" + ", ".join(f".{key} = {value(key)}" for key in MATRIX if key in pattern) + "}"


def row(quirk):
    unknown = set(quirk) - KEYS
    missing = {"vendor_id", "why", "source"} - set(quirk)
    if not any(key.startswith("distrust") for key in quirk):
        missing.add("distrust")
    if unknown or missing:
        sys.exit(f"devices/quirks.yaml: unknown keys {sorted(unknown)}, missing keys {sorted(missing)} in {quirk}")
    kind = f"DeviceProfile::Kind::{quirk['kind']}" if "kind" in quirk else "std::nullopt"
    features = " | ".join(f"bit(Feature::{name})" for name in quirk.get("distrust", [])) or "0"
    texts = [quirk.get("driver", ""), " ".join(quirk.get("architectures", [])), quirk.get("name", ""),
             quirk.get("before", "")]
    fields = [hex(quirk["vendor_id"]), kind, *map(json.dumps, texts), features,
              matrices(quirk.get("distrust_matrices")), json.dumps(" ".join(quirk.get("distrust_kernels", []))),
              json.dumps(quirk["why"]), json.dumps(quirk["source"])]
    return "{" + ", ".join(fields) + "},\n"


def main():
    quirks = yaml.safe_load((ROOT / "devices/quirks.yaml").read_text())["quirks"]
    text = HEAD + "".join(map(row, quirks))
    if "--check" in sys.argv[1:]:
        if TARGET.read_text() != text:
            sys.exit(f"{TARGET.relative_to(ROOT)} differs from devices/quirks.yaml: run scripts/write_quirks.py")
    else:
        TARGET.write_text(text)


if __name__ == "__main__":
    main()
