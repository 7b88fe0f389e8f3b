# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""walk_of_an_operator.py SOURCE: the files that docs/adding_an_operator.md lists are those that know its operator, and
those of its family of operators are at most nine.

No other file that people write has the operator's name, except: the importer and its tests, which know ONNX's operator
of that name;
benchmarks of the generator, which have specs of their own, of models and of tuning; calls from Python, which a new
operator may lack; READMEs, the changelog, the pages of results, and examples with their pages; and docs/operators.md and
docs/device_table.md, which check_readme.py and test_runner write.
The lines that the page shows of the files are in them.
"""
import pathlib
import re
import subprocess
import sys

MOST_OF_A_FAMILY = 9
OTHERS = re.compile(r"(^|/)onnx(/|(_\w+)?\.md$)|^generated/|^bench/(codegen_corpus|models)/|^tuning/|(^|/)README.md$|^CHANGELOG.md$"
                    r"|^docs/(operators|device_table|(results|performance)(_\w+)?|verification|engines|c_api|python)\.md$"
                    r"|^examples/|^tests/CMakeLists.txt$|^tests/python/test_operators.py$"
                    r"|^scripts/(write_onnx_schema.py|tuning_figures|field_models.d/forms.py)$|^tests/runtime/models/graph/((field|onnx_node)_tests/|exported/|language_models/|write_\w+_tests.py$)")
source = pathlib.Path(sys.argv[1])
page = source / "docs/adding_an_operator.md"
text = page.read_text()
tracked = subprocess.run(["git", "ls-files"], cwd=source, capture_output=True, text=True, check=True).stdout.split("\n")
itself = str(pathlib.Path(__file__).resolve().relative_to(source.resolve()))
by_hand = [f for f in tracked if f not in {"", itself, "docs/adding_an_operator.md"} and not OTHERS.search(f)]


def files_knowing(name):
    known = re.compile(name, re.I)
    return {f for f in by_hand
            if (source / f).is_file() and known.search((source / f).read_bytes().decode(errors="replace"))}


operator, family = ([set(re.findall(r"^\| `([^`<]+)` \|", part, re.M)) for part in text.split("\n## With new kernels")])
knowing = files_knowing("leaky_?relu")
problems = [f"{f} is told, and does not know the operator" for f in sorted(operator - knowing)]
problems += [f"{f} knows the operator, and is not told" for f in sorted(knowing - operator)]
problems += [f"{f} knows layer_norm, and is not told" for f in sorted(files_knowing("(?<!skip_)(?<!skip)layer_?norm") - family)]
problems += [f"there is no {f}" for f in sorted(family - set(by_hand))]
if len(family) > MOST_OF_A_FAMILY:
    problems.append(f"a family takes {len(family)} files")


def squeezed(lines):
    return re.sub(r"\s+", " ", lines)


files = squeezed(" ".join((source / f).read_text() for f in operator & knowing))
for block in re.findall(r"```(?:yaml|cpp)\n(.*?)```", text, re.S):
    for line in filter(str.strip, block.split("\n")):
        if squeezed(line).strip() not in files:
            problems.append(f"no file has the line that the page shows: {line.strip()}")
if not operator or not family:
    problems.append("the page lists no files")
print("\n".join(problems))
sys.exit(bool(problems))
