# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""check_readme.py SOURCE [--write]: README.md shows files as they are, and links to files that exist.

A code block after the line `<!-- path -->` is that file; --write puts the file's text there.
"""
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
readme = source / "README.md"
text = readme.read_text()
shown = re.compile(r"(<!-- (\S+) -->\n```\w*\n)(.*?)(```\n)", re.S)
problems = []


def file_text(match):
    return match[1] + (source / match[2]).read_text() + match[4]


if "--write" in sys.argv:
    readme.write_text(shown.sub(file_text, text))
    sys.exit(0)

for match in shown.finditer(text):
    if file_text(match) != match[0]:
        problems.append(f"README.md shows an older {match[2]}; run tests/check_readme.py . --write")
if not shown.search(text):
    problems.append("README.md shows no file")
for target in re.findall(r"\]\(([^)#:]+)\)", text):
    if not (source / target).exists():
        problems.append(f"README.md links to '{target}', which does not exist")
print("\n".join(problems))
sys.exit(bool(problems))
