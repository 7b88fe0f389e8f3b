#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""manuals.py MANUALS PROGRAM...: whether the manual page and the completions of each program have all options and
commands that its --help lists. Bash completes one of them, and so do zsh and fish where they are. All that are there,
and man, read the files."""
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
        # What is written for zsh is quoted as in bash, so bash finds an open quote where there is no zsh.
        for reader in {"zsh": ["bash", "zsh"]}.get(shell, [shell]):
            if shutil.which(reader):
                faults += syntax_faults(reader, file)
    option = sorted(options_in(output(program, "--help")))[0]
    for complete in (completed_by_bash, completed_by_zsh, completed_by_fish):
        faults += complete(name, shells, option)
    if shutil.which("man"):
        told = subprocess.run(["man", "--warnings", "-l", str(manuals / f"{name}.1")], capture_output=True, text=True,
                              env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "100"})
        faults += [f"man: {line}" for line in told.stderr.splitlines()]
        faults += [] if sorted(options)[0] in told.stdout else [f"man does not show {sorted(options)[0]} of {name}"]
    return faults


def syntax_faults(shell, file):
    told = subprocess.run([shell, "-n", str(file)], capture_output=True, text=True)
    return [f"{shell}: {line}" for line in told.stderr.splitlines()] or (["it fails"] if told.returncode else [])


def wrong_completion(shell, name, option, found):
    return [] if option in found else [f"{shell} completes {option[:-1]} of {name} to {found}"]


def completed_by_bash(name, files, option):
    script = f'. "{files["bash"]}"; COMP_WORDS=({name} {option[:-1]}); COMP_CWORD=1; ' \
             f'_{name.replace("-", "_")}; echo "${{COMPREPLY[@]}}"'
    return wrong_completion("bash", name, option, output("bash", "-c", script).split())


def completed_by_zsh(name, files, option):
    """Not by zsh's own _arguments, which needs a terminal: by one that prints what it is given."""
    if not shutil.which("zsh"):
        return []
    script = f'_arguments() {{ print -rl -- "$@" }}; words=({name} {option[:-1]}); . "{files["zsh"]}"'
    given = output("zsh", "-f", "-c", script)
    return wrong_completion("zsh", name, option, re.findall(r"^\*(--[a-z0-9-]+)\[.*\]", given, re.M))


def completed_by_fish(name, files, option):
    if not shutil.which("fish"):
        return []
    found = output("fish", "-c", f"source {files['fish']}; complete -C '{name} {option[:-1]}'").split()
    return wrong_completion("fish", name, option, found)


def main():
    manuals = pathlib.Path(sys.argv[1])
    faults = [fault for program in sys.argv[2:] for fault in check(program, manuals)]
    print("\n".join(faults) or f"{len(sys.argv) - 2} programs")
    return 1 if faults or len(sys.argv) < 3 else 0


if __name__ == "__main__":
    sys.exit(main())
