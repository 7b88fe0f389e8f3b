# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""walk_of_an_operator.py SOURCE: the files that docs/adding_an_operator.md lists are those that know its operator.

Each has its name; no other file that people write has it, but those of the importer, which knows ONNX's operator of that
name; what the page shows of them stands in them.
"""
import pathlib
import re
import subprocess
import sys

NAME = re.compile(r"leaky_?relu", re.I)
IMPORTER = re.compile(r"(^|/)onnx(/|\.md$)")
source = pathlib.Path(sys.argv[1])
page = source / "docs/adding_an_operator.md"
text = page.read_text()
told = set(re.findall(r"^\| `([^`<]+)` \|", text.split("\n## ")[0], re.M))
tracked = subprocess.run(["git", "ls-files"], cwd=source, capture_output=True, text=True, check=True).stdout.split("\n")
others = {"", "docs/adding_an_operator.md"}
by_hand = [f for f in tracked if f not in others and not f.startswith("generated/") and not IMPORTER.search(f)]
itself = str(pathlib.Path(__file__).resolve().relative_to(source.resolve()))


def knows(name):
    file = source / name
    return file.is_file() and NAME.search(file.read_bytes().decode(errors="replace")) is not None


knowing = {f for f in by_hand if f != itself and knows(f)}
problems = [f"{f} is told, and does not know the operator" for f in sorted(told - knowing)]
problems += [f"{f} knows the operator, and is not told" for f in sorted(knowing - told)]


def squeezed(lines):
    return re.sub(r"\s+", " ", lines)


files = squeezed(" ".join((source / f).read_text() for f in told & knowing))
for block in re.findall(r"```(?:yaml|cpp)\n(.*?)```", text, re.S):
    for line in filter(str.strip, block.split("\n")):
        if squeezed(line).strip() not in files:
            problems.append(f"no file has the line that the page shows: {line.strip()}")
if not told:
    problems.append("the page lists no file")
print("\n".join(problems))
sys.exit(bool(problems))
