# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""check_readme.py SOURCE [--write]: pages show files as they are, and link to what exists.

A code block after the line `<!-- path -->` is that file, if the repository has it; --write puts the file's text there.
Blocks of other names belong to the tests that run them (tests/support/document.h). The table after `<!-- FOLDER/* -->`
has a row for each file of that folder: its name, and the first sentence of the comment that it begins with. The table
after `<!-- generated/OPERATORS.json -->` has a row for each operator.
"""
import json
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
pages = sorted([*source.glob("*.md"), *(p for p in source.glob("*/*.md") if p.parts[-2] != "build")])
shown = re.compile(r"(<!-- (\S+) -->\n```\w*\n)(.*?)(```\n)", re.S)
link = re.compile(r"\]\(([^)#:]*)(?:#([^)]*))?\)")
code = re.compile(r"^```.*?^```", re.S | re.M)  # a lambda looks like a link
problems = []


listed = re.compile(r"(<!-- (\S+)/\* -->\n)((?:\|.*\n)*)")
operators = re.compile(r"(<!-- generated/OPERATORS.json -->\n)((?:\|.*\n)*)")


# The purpose of a file, after the lines of its licence.
def first_sentence(file):
    lines = [line for line in file.read_text().split("\n") if not line.startswith("// SPDX")]
    words = []
    for line in lines:
        text = line[2:].strip() if line.startswith("//") else ""
        if text:
            words.append(text)
        elif words:
            break
    return re.match(r"(.*?[.:])(\s|$)|.*", " ".join(words))[0].strip().rstrip(".:").replace("|", "\\|")


def table(match):
    rows = ["| file | what |", "|---|---|"]
    rows += [f"| `{f.name}` | {first_sentence(f)} |" for f in sorted((source / match[2]).glob("*.*"))]
    return match[1] + "\n".join(rows) + "\n"


def operator_table(match):
    rows = ["| operator | computes |", "|---|---|"]
    for operator in json.loads((source / "generated/OPERATORS.json").read_text())["operators"]:
        name, summary = operator["name"], operator["summary"].replace("|", "\\|")
        rows.append(f"| [`{name}`](../generated/OPERATORS.md#{name}) | {summary} |")
    return match[1] + "\n".join(rows) + "\n"


def file_text(match):
    file = source / match[2]
    return match[1] + file.read_text() + match[4] if file.is_file() else match[0]


# As GitHub makes them of headings.
def anchors_of(file):
    headings = re.findall(r"^#+ +(.*)$", code.sub("", file.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


for page in pages:
    name = page.relative_to(source)
    text = page.read_text()
    if "--write" in sys.argv:
        page.write_text(operators.sub(operator_table, listed.sub(table, shown.sub(file_text, text))))
        continue
    for match in listed.finditer(text):
        if table(match) != match[0]:
            problems.append(f"{name} lists {match[2]} as it was; run tests/check_readme.py . --write")
    for match in operators.finditer(text):
        if operator_table(match) != match[0]:
            problems.append(f"{name} lists the operators as they were; run tests/check_readme.py . --write")
    for match in shown.finditer(text):
        if file_text(match) != match[0]:
            problems.append(f"{name} shows an older {match[2]}; run tests/check_readme.py . --write")
    for target, anchor in link.findall(code.sub("", text)):
        file = page.parent / target if target else page
        if not file.exists():
            problems.append(f"{name} links to '{target}', which does not exist")
        elif anchor and file.suffix == ".md" and anchor not in anchors_of(file):
            problems.append(f"{name} links to '{target}#{anchor}', and no heading there makes this anchor")
if not shown.search((source / "README.md").read_text()):
    problems.append("README.md shows no file")
print("\n".join(problems))
sys.exit(bool(problems))
