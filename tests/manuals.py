#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""manuals.py MANUALS PROGRAM...: whether the manual page and the completions of each program have all options and
commands that its --help lists. Bash completes one of them, and man and the shells that are there read the files."""
import pathlib
import re
import shutil
import subprocess
import sys


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def options_in(text):
    """Those at the beginning of a line, as --help lists them."""
    named = [line.strip().split("  ")[0] for line in text.splitlines() if re.match(r"\s+-", line)]
    return {word for names in named for word in re.findall(r"--[a-z][a-z0-9-]*", names)}


def listed(program):
    text = output(program, "--help")
    section = re.search(r"^(?:Subcommands|SUBCOMMANDS):\n((?:  .*\n)*)", text, re.M | re.I)
    commands = re.findall(r"^  (\w[\w-]*)", section.group(1), re.M) if section else []
    options = options_in(text)
    for command in commands:
        options |= options_in(output(program, command, "--help"))
    return options, commands


def missing(words, text, form):
    return [word for word in words if form(word) not in text]


def check(program, manuals):
    name = pathlib.Path(program).name
    options, commands = listed(program)
    if not options:
        return [f"{name} --help lists no options"]
    page = (manuals / f"{name}.1").read_text()
    shells = {"bash": manuals / "bash" / name, "zsh": manuals / "zsh" / f"_{name}", "fish": manuals / "fish" / f"{name}.fish"}
    faults = [f"{name}.1 lacks {word}" for word in missing(options, page, lambda w: w.replace("-", "\\-"))]
    faults += [f"{name}.1 lacks {word}" for word in missing(commands, page, lambda w: f".SS {w}".replace("-", "\\-"))]
    for shell, file in shells.items():
        form = (lambda w: "-l " + w[2:]) if shell == "fish" else (lambda w: w)
        faults += [f"{file.name} for {shell} lacks {word}" for word in missing(options, file.read_text(), form)]
        faults += [f"{file.name} for {shell} lacks {word}" for word in missing(commands, file.read_text(), lambda w: w)]
        if shutil.which(shell):
            output(shell, "-n", str(file))
    faults += completed(name, shells["bash"], sorted(options_in(output(program, "--help")))[0])
    if shutil.which("man"):
        told = subprocess.run(["man", "--warnings", "-l", str(manuals / f"{name}.1")], capture_output=True, text=True,
                              env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "100"})
        faults += [f"man: {line}" for line in told.stderr.splitlines()]
        faults += [] if sorted(options)[0] in told.stdout else [f"man does not show {sorted(options)[0]} of {name}"]
    return faults


def completed(name, file, option):
    script = f'. "{file}"; COMP_WORDS=({name} {option[:-1]}); COMP_CWORD=1; _{name.replace("-", "_")}; echo "${{COMPREPLY[@]}}"'
    found = output("bash", "-c", script).split()
    return [] if option in found else [f"bash completes {option[:-1]} of {name} to {found}"]


def main():
    manuals = pathlib.Path(sys.argv[1])
    faults = [fault for program in sys.argv[2:] for fault in check(program, manuals)]
    print("\n".join(faults) or f"{len(sys.argv) - 2} programs")
    return 1 if faults or len(sys.argv) < 3 else 0


if __name__ == "__main__":
    sys.exit(main())
