# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""check_readme.py SOURCE [--write]: pages show files as they are, and link to what exists.

A code block after the line `<!-- path -->` is that file, if the repository has it; --write puts the file's text there.
Blocks of other names belong to the tests that run them (tests/support/document.h).
"""
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
pages = sorted([*source.glob("*.md"), *(p for p in source.glob("*/*.md") if p.parts[-2] != "build")])
shown = re.compile(r"(<!-- (\S+) -->\n```\w*\n)(.*?)(```\n)", re.S)
link = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
code = re.compile(r"^```.*?^```", re.S | re.M)  # a lambda looks like a link
problems = []


def file_text(match):
    file = source / match[2]
    return match[1] + file.read_text() + match[4] if file.is_file() else match[0]


for page in pages:
    name = page.relative_to(source)
    text = page.read_text()
    if "--write" in sys.argv:
        page.write_text(shown.sub(file_text, text))
        continue
    for match in shown.finditer(text):
        if file_text(match) != match[0]:
            problems.append(f"{name} shows an older {match[2]}; run tests/check_readme.py . --write")
    for target in link.findall(code.sub("", text)):
        if not (page.parent / target).exists():
            problems.append(f"{name} links to '{target}', which does not exist")
if not shown.search((source / "README.md").read_text()):
    problems.append("README.md shows no file")
print("\n".join(problems))
sys.exit(bool(problems))
