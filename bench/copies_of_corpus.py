#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Writes a corpus that is N times as large as bench/codegen_corpus: each family N times, under different names.

  bench/copies_of_corpus.py N FOLDER

Writes FOLDER/specs and FOLDER/templates. 100 copies have 100,800 variants.
"""
import pathlib
import re
import shutil
import sys

CORPUS = pathlib.Path(__file__).resolve().parent / "codegen_corpus"


def main():
    if len(sys.argv) != 3 or not sys.argv[1].isdigit():
        sys.exit(__doc__)
    copies, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
    shutil.copytree(CORPUS / "templates", folder / "templates", dirs_exist_ok=True)
    (folder / "specs").mkdir(parents=True, exist_ok=True)
    for spec in sorted((CORPUS / "specs").glob("*.yaml")):
        text = spec.read_text()
        for copy in range(copies):
            name = f"{spec.stem}_{copy:03}"
            renamed, count = re.subn(r"^operator: .*$", f"operator: {name}", text, flags=re.M)
            if count != 1:
                sys.exit(f"{spec}: {count} lines name an operator")
            (folder / "specs" / f"{name}.yaml").write_text(renamed)


if __name__ == "__main__":
    main()
