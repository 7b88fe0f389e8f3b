#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""same_modules.py SCRIPT: what scripts/same_modules says of pairs of modules. 77 without SPIR-V tools: skipped."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["PATH"] += os.pathsep + str(Path.home() / ".cache/qgen-deps/current/bin")
if not shutil.which("spirv-as") or not shutil.which("spirv-dis"):
    sys.exit(77)

# Stores 1 into one shared variable and 2 into another one of the same type.
PROGRAM = """OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%void = OpTypeVoid
%function = OpTypeFunction %void
%int = OpTypeInt 32 1
%pointer = OpTypePointer Workgroup %int
{constants}
{variables}
%main = OpFunction %void None %function
%label = OpLabel
OpStore {stored} %one
OpStore %second %two
OpReturn
OpFunctionEnd
"""
ONE, TWO = "%one = OpConstant %int 1", "%two = OpConstant %int 2"
FIRST, SECOND = "%first = OpVariable %pointer Workgroup", "%second = OpVariable %pointer Workgroup"


def program(constants=(ONE, TWO), variables=(FIRST, SECOND), stored="%first"):
    return PROGRAM.format(constants="\n".join(constants), variables="\n".join(variables), stored=stored)


def written(folder, text, digest="a"):
    (folder / "spv").mkdir(parents=True)
    module = f"{digest}.spv"
    subprocess.run(["spirv-as", "-o", str(folder / "spv" / module), "-"], input=text, text=True, check=True)
    (folder / "spv" / "index.json").write_text(json.dumps({"operators": [{"kernels": [{"id": "a", "module": module}]}]}))
    return str(folder)


def verdict(before, after):
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([sys.argv[1], written(Path(folder) / "1", before), written(Path(folder) / "2", after)],
                             capture_output=True, text=True)
    return run.returncode, run.stdout


ROWS = [
    ("equal words", program(), (0, "1 variants: 1 unchanged, 0 changed, 0 of these the same program\n")),
    ("constants and variables in another order", program((TWO, ONE), (SECOND, FIRST)),
     (0, "1 variants: 0 unchanged, 1 changed, 1 of these the same program\n")),
    ("another constant", program(("%one = OpConstant %int 3", TWO)),
     (1, "a: another program\n1 variants: 0 unchanged, 1 changed, 0 of these the same program\n")),
    ("a store into the other variable", program(stored="%second"),
     (1, "a: another program\n1 variants: 0 unchanged, 1 changed, 0 of these the same program\n")),
]
for name, after, expected in ROWS:
    if (found := verdict(program(), after)) != expected:
        sys.exit(f"same_modules.py: {name}: {found}, and expected {expected}")

# --times: the row of the changed module gets its new digest; rows of another digest or kernel stay.
TIMES = """problems:
- key: "a"
  kernels:
  - {id: a/workgroup64, us: 1, low: 1, high: 1, digest: "%s", date: 2026-11-28}
  - {id: a/workgroup64, us: 1, low: 1, high: 1, digest: "00000000000000ff", date: 2026-11-28}
  - {id: other/workgroup64, us: 1, low: 1, high: 1, digest: "0000000000000001", date: 2026-11-28}
"""


def times_after(after):
    with tempfile.TemporaryDirectory() as folder:
        times = Path(folder) / "times.yaml"
        times.write_text(TIMES % "0000000000000001")
        folders = [written(Path(folder) / name, text, name.rjust(16, "0")) for name, text in (("1", program()),
                                                                                         ("2", after))]
        subprocess.run([sys.argv[1], *folders, "--times", str(times)], capture_output=True)
        return times.read_text()


for name, after, digest in [("the same program", program((TWO, ONE)), "0000000000000002"),
                            ("another program", program(stored="%second"), "0000000000000001")]:
    if (found := times_after(after)) != TIMES % digest:
        sys.exit(f"same_modules.py: times of {name}: {found}")
