#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""moved_from_types.py ROOT: whether moved_from_test.cpp has each class of the public headers that a move empties.

These are the classes with a member that is, or has, a unique_ptr or a shared_ptr. A member of another such class counts
too, also in an optional. Pointers without an owner stay as they are in a move, so they do not count. Nor do structs:
their members are public, and each says what null means. The headers are those of include/qgen, and all that they
include. The test has a class in a TEST_F(MovedFrom, CLASS), or asserts that it cannot be moved.
"""
import re
import sys
from pathlib import Path

TEST = "tests/runtime/models/graph/moved_from_test.cpp"
EXCEPTIONS = {  # class: the reason
    "Modules": "programs get a shared_ptr of a constant one, and its Blob has no move",
}
OWNED = r"\b(?:unique_ptr|shared_ptr)<"


def headers(root):
    """The public headers, and those that they include."""
    known, open_ = set(), sorted((root / "include/qgen").glob("*.h"))
    while open_:
        header = open_.pop()
        if header in known:
            continue
        known.add(header)
        for name in re.findall(r'^#include "([^"]+)"', header.read_text(), re.M):
            open_ += [file for file in (root / name, root / "include" / name) if file.exists()]
    return sorted(known)


def classes(text):
    """Of each class of a header: its name, and its members with their types."""
    text = re.sub(r"//[^\n]*", "", text)
    for _, name, body in re.findall(r"^( *)class (\w+)[^;{]*\{\n(.*?)^\1\};", text, re.M | re.S):
        yield name, re.findall(r"^ +(?:mutable )?([^()={};]+[>&*\w]) \w+_(?: = [^;]*|\{[^;]*\})?;", body, re.M)


def holders(members):
    """The classes that a move empties."""
    found = {name for name, types in members.items() if any(re.search(OWNED, kind) for kind in types)}
    while True:
        either = "|".join(sorted(found))
        of_others = re.compile(rf"(?:std::optional<)?(?:\w+::)*(?:{either})>?")
        more = {name for name, types in members.items() if any(of_others.fullmatch(kind) for kind in types)} - found
        if not more:
            return found
        found |= more


def main():
    root = Path(sys.argv[1])
    members = {}
    for header in headers(root):
        for name, types in classes(header.read_text()):
            members.setdefault(name, []).extend(types)
    found = holders(members)
    test = (root / TEST).read_text()
    tested = set(re.findall(r"^TEST_F\(MovedFrom, (\w+)\)", test, re.M))
    fixed = set(re.findall(r"static_assert\(!std::is_move_constructible_v<(?:\w+::)*(\w+)>\);", test))
    faults = [f"{TEST} lacks {name}: a move empties it" for name in sorted(found - tested - fixed - set(EXCEPTIONS))]
    faults += [f"{name} is an exception, and no class that a move empties" for name in sorted(set(EXCEPTIONS) - found)]
    # By a pointer, by a member, and by a member in an optional.
    for name in ("Executor", "FixedModel", "Sampler", "Prepared"):
        if name not in found:
            faults.append(f"this script no longer finds {name} in the headers")
    print("\n".join(faults) if faults else f"{len(found)} classes: {', '.join(sorted(found))}")
    return 1 if faults else 0


sys.exit(main())
