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
KEYS = {"vendor_id", "driver", "kind", "architectures", "name", "before", "distrust", "why", "source"}
HEAD = """// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Written by scripts/write_quirks.py from devices/quirks.yaml.
// clang-format off
"""


def row(quirk):
    unknown = set(quirk) - KEYS
    missing = {"vendor_id", "distrust", "why", "source"} - set(quirk)
    if unknown or missing:
        sys.exit(f"devices/quirks.yaml: unknown keys {sorted(unknown)}, missing keys {sorted(missing)} in {quirk}")
    kind = f"DeviceProfile::Kind::{quirk['kind']}" if "kind" in quirk else "std::nullopt"
    features = " | ".join(f"bit(Feature::{name})" for name in quirk["distrust"])
    texts = [quirk.get("driver", ""), " ".join(quirk.get("architectures", [])), quirk.get("name", ""),
             quirk.get("before", "")]
    fields = [hex(quirk["vendor_id"]), kind, *map(json.dumps, texts), features,
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
