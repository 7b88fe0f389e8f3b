#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Runs the commands of the project's pages as they are printed. tests/README.md, "Commands in pages", has the rules.

  tests/run_documented_commands.py                        all pages, with build/release
  tests/run_documented_commands.py --build DIR README.md  one page, with another build
  tests/run_documented_commands.py --list                 the blocks of all pages, and why some are not run

A page's commands run in one bash, in a copy of the repository in which build/release is the built tree.
"""
import argparse
import os
import pathlib
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
SECONDS_OF_A_COMMAND = 60
MARKER = re.compile(r"<!-- commands( of this page)?: (.+?) -->")
FENCE = re.compile(r"^\s*```\s*(\S*)\s*$")
SHELLS = ("bash", "shell", "zsh", "ksh", "fish", "shell-session")
# Lines that only a command begins with; in a block without a language they are one that the test would not see.
COMMAND_LINE = re.compile(r"^(\$ |cmake -|ctest |build/|scripts/|qgen(-run|-tune|-model|-info)? )")


class Block:
    def __init__(self, line, language, reason, before):
        self.line = line          # of its first line of text, from 1
        self.language = language
        self.reason = reason      # why it is not run; None: it is run
        self.before = before      # the paragraph above it
        self.lines = []

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"


class Command:
    def __init__(self, line, text, expected=None):
        self.line, self.text = line, text
        self.expected = expected  # the lines that a console block shows; None: only the exit code counts


# ---- reading a page --------------------------------------------------------------------------------------------------

def read_blocks(text, problems, name):
    blocks, inside, reason, page_reason = [], None, None, None
    paragraph, is_ended = [], False
    for number, line in enumerate(text.split("\n"), 1):
        if inside is not None:
            if line.strip() == "```":
                inside = None
            else:
                inside.lines.append(line)
            continue
        fence, marker = FENCE.match(line), MARKER.fullmatch(line.strip())
        if fence:
            inside = Block(number + 1, fence[1], reason or page_reason, " ".join(paragraph))
            blocks.append(inside)
            reason = None
        elif marker and marker[1]:
            page_reason = marker[2]
            check_reason(marker[2], f"{name}:{number}", problems)
        elif marker:
            reason = marker[2]
            check_reason(marker[2], f"{name}:{number}", problems)
        elif line.startswith("<!-- ") and line.endswith(" -->") and not line.startswith("<!-- commands"):
            continue  # the name of the block below, for another test
        else:
            if line.strip().startswith("<!-- commands"):
                problems.append(f"{name}:{number}: not a marker: '{line.strip()}'; tests/README.md lists the forms")
            if reason:
                problems.append(f"{name}:{number}: a marker stands right above its block, and no text between them")
                reason = None
            if not line.strip():
                is_ended = True
                continue
            paragraph = [line.strip()] if is_ended else [*paragraph, line.strip()]
            is_ended = False
    return blocks


def check_reason(reason, where, problems):
    if re.fullmatch(r"slow, (\d+ (s|min|h)|minutes|hours)|needs \S.*|your own files", reason):
        return
    if reason.startswith("run by "):
        if not (SOURCE / reason[len("run by "):]).is_file():
            problems.append(f"{where}: '{reason[len('run by '):]}' is no file of the repository")
        return
    problems.append(f"{where}: '{reason}' is no reason that this test knows; tests/README.md lists them")


# Words that the page must show to its readers as well: for "needs PyTorch and a GPU" both.
def words_for_readers(reason):
    if reason.startswith("slow, "):
        return [reason[len("slow, "):]]
    if reason.startswith("needs "):
        things = re.split(r", | and ", reason[len("needs "):])
        return [re.sub(r"^(a|an|the) ", "", thing) for thing in things]
    return []


# Whether bash would wait for another line after this text.
def is_unfinished(text):
    if text.rstrip("\n").endswith("\\"):
        return True
    parsed = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True)
    return "end of file" in parsed.stderr or "here-document" in parsed.stderr or "unexpected EOF" in parsed.stderr


def commands_of(block):
    if block.language == "console":
        return console_commands_of(block)
    commands, pending, first = [], "", 0
    for offset, line in enumerate(block.lines):
        if not pending and (not line.strip() or line.strip().startswith("#")):
            continue
        first = first if pending else block.line + offset
        pending += line + "\n"
        if not is_unfinished(pending):
            commands.append(Command(first, pending))
            pending = ""
    if pending:
        commands.append(Command(first, pending))
    return commands


def console_commands_of(block):
    commands, is_continued = [], False
    for offset, line in enumerate(block.lines):
        if is_continued:
            commands[-1].text += line.removeprefix("> ") + "\n"
        elif line.startswith("$ "):
            commands.append(Command(block.line + offset, line[2:] + "\n", []))
        elif commands:
            commands[-1].expected.append(line)
        is_continued = (is_continued or line.startswith("$ ")) and line.endswith("\\")
    return commands


# Whether lines are as a page shows them: `...` as a line stands for any lines, and within a line for any text.
def is_as_shown(lines, shown):
    if not shown:
        return not lines
    if shown[0] == "...":
        return any(is_as_shown(lines[skip:], shown[1:]) for skip in range(len(lines) + 1))
    pattern = ".*".join(re.escape(part) for part in shown[0].split("..."))
    return bool(lines) and bool(re.fullmatch(pattern, lines[0])) and is_as_shown(lines[1:], shown[1:])


# The programs that a command starts, as far as its text shows.
def programs_of(text):
    lexer = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    programs, is_next = [], True
    try:
        words = list(lexer)
    except ValueError:  # a here-document with a quote
        return []
    for word in words:
        if set(word) <= set("|&;()"):
            is_next = True
        elif is_next and not re.match(r"^\w+=", word):
            programs.append(word)
            is_next = False
    return programs


# ---- rules that need no run ------------------------------------------------------------------------------------------

def check_block(block, name, problems):
    where = f"{name}:{block.line}"
    if block.language in SHELLS:
        problems.append(f"{where}: write ```sh or ```console: blocks of '{block.language}' are not run")
    if not block.language and any(COMMAND_LINE.match(line) for line in block.lines):
        problems.append(f"{where}: these look like commands: write ```sh or ```console, so that they are run")
    if block.language not in ("sh", "console"):
        return
    commands = commands_of(block)
    if not commands:
        problems.append(f"{where}: a block of commands without a command")
    for command in commands:
        parsed = subprocess.run(["bash", "-n"], input=command.text, capture_output=True, text=True)
        if parsed.returncode != 0 or is_unfinished(command.text):
            problems.append(f"{name}:{command.line}: bash cannot read this: {parsed.stderr.strip()}")
        elsewhere = re.search(r"(?:^|[\s=\"'])(/tmp|/var|/home|~)(?:/|\s|$)", command.text)
        if elsewhere and not block.reason:
            problems.append(f"{name}:{command.line}: '{elsewhere[1]}' is outside the clone: write below build/")
    seen = (block.before + " " + block.text).lower()
    for words in words_for_readers(block.reason or ""):
        if words.lower() not in seen and words.lower().replace(" min", " minutes") not in seen:
            problems.append(f"{where}: a reader does not learn '{words}': "
                            "say it in the block or in the paragraph above")


# Programs of a block that is not run: those of the repository and of the build, and those in folders that the commands
# of the page make.
def check_programs(block, name, build, made, problems):
    for command in commands_of(block):
        for program in programs_of(command.text):
            folder = re.match(r"build/(?!release/)[^/]+(?=/)", program)
            if folder and re.search(rf"{re.escape(folder[0])}\b", made):
                continue
            path = build / program[len("build/release/"):] if program.startswith("build/release/") else SOURCE / program
            if "/" in program and not program.startswith(("/", "~", "$")) and not path.exists():
                problems.append(f"{name}:{command.line}: there is no '{program}'")
            elif re.fullmatch(r"qgen(-\w+)?", program) and not list(build.glob(f"*/{program}")):
                problems.append(f"{name}:{command.line}: there is no program '{program}'")


# ---- running ---------------------------------------------------------------------------------------------------------

# A clone's files: those that git tracks or would track.
def copy_of_repository(folder, build):
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=SOURCE,
                            capture_output=True)
    if listed.returncode == 0:
        files = [name for name in listed.stdout.decode().split("\0") if name]
    else:
        files = [str(f.relative_to(SOURCE)) for f in SOURCE.rglob("*")
                 if f.is_file() and f.relative_to(SOURCE).parts[0] not in ("build", "out", ".git")]
    for file in files:
        if (SOURCE / file).is_file():
            to = folder / file
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(SOURCE / file, to)
    (folder / "build").mkdir(exist_ok=True)
    (folder / "build/release").symlink_to(build)


# The caches that only save time are the user's; measurements, tuned times and everything else is the page's own.
def environment_of(work):
    real = dict(os.environ)
    real_cache = pathlib.Path(real.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    cache = work / "cache"
    (cache / "qgen").mkdir(parents=True)
    for shared in [real_cache / "mesa_shader_cache", *(real_cache / "qgen").glob("*")]:
        if shared.exists() and shared.name != "devices" and not shared.name.startswith("tuning"):
            (cache / shared.relative_to(real_cache)).symlink_to(shared)
    (work / "home").mkdir()
    changed = {"HOME": str(work / "home"), "XDG_CACHE_HOME": str(cache),
               "QGEN_DEPS": real.get("QGEN_DEPS", str(real_cache / "qgen-deps")),
               "CCACHE_DIR": real.get("CCACHE_DIR", str(real_cache / "ccache"))}
    if shutil.which("ccache"):
        changed |= {"CMAKE_C_COMPILER_LAUNCHER": "ccache", "CMAKE_CXX_COMPILER_LAUNCHER": "ccache"}
    real.pop("QGEN_TUNING_STORE", None)  # a test's own; the default is below XDG_CACHE_HOME
    return real | changed


def run_commands(commands, name, folder, work, problems):
    outputs = work / "outputs"
    outputs.mkdir()
    lines = []
    for i, command in enumerate(commands):
        lines += [f"{{ echo {i} begun >&9", command.text.rstrip("\n"), f"}} >{shlex.quote(str(outputs))}/{i} 2>&1",
                  f"echo {i} $? >&9"]
    script = work / "script"
    script.write_text("\n".join(lines) + "\n")
    reader, writer = os.pipe()
    bash = subprocess.Popen(["bash", "-c", f"exec 9>&{writer}; exec {writer}>&-; . {shlex.quote(str(script))}"],
                            cwd=folder, env=environment_of(work), stdin=subprocess.DEVNULL, pass_fds=[writer],
                            start_new_session=True, stdout=subprocess.DEVNULL)
    os.close(writer)
    try:
        for i, command in enumerate(commands):
            began = time.monotonic()
            status = wait_for(reader, i, SECONDS_OF_A_COMMAND)
            output = (outputs / str(i)).read_text(errors="replace") if (outputs / str(i)).exists() else ""
            print(f"{name}:{command.line}: {time.monotonic() - began:5.1f} s  {first_line(command.text)}", flush=True)
            if fault := fault_of(command, status, output):
                problems.append(f"{name}:{command.line}: {fault}\n  {command.text.strip()}\n" + tail(output))
                return
    finally:
        try:
            os.killpg(bash.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        bash.wait()
        os.close(reader)


# The exit code of the command `index`; None: it has none, since it took too long or ended the shell.
def wait_for(reader, index, seconds):
    end, text = time.monotonic() + seconds, b""
    while True:
        ready, _, _ = select.select([reader], [], [], max(0, end - time.monotonic()))
        byte = os.read(reader, 1) if ready else b""
        if not byte:
            return None
        text += byte
        if byte == b"\n":
            number, status = text.split()
            text = b""
            if int(number) == index and status != b"begun":
                return int(status)


def fault_of(command, status, output):
    if status is None:
        return f"it did not end within {SECONDS_OF_A_COMMAND} s, or it ended the shell"
    if command.expected is None:
        return f"exit code {status}" if status != 0 else None
    if not is_as_shown(output.rstrip("\n").split("\n") if output.strip() else [], command.expected):
        return "it prints something else than the page shows"
    if status != 0 and not any("error" in line for line in command.expected):
        return f"exit code {status}, and the page shows no error"
    return None


def first_line(text):
    return text.strip().split("\n")[0][:100]


def tail(output, count=25):
    return "\n".join("  | " + line for line in output.rstrip("\n").split("\n")[-count:])


# ---- pages -----------------------------------------------------------------------------------------------------------

def all_pages():
    pages = [*SOURCE.glob("*.md"), *SOURCE.glob("*/*.md"), *SOURCE.glob("*/*/README.md")]
    return sorted({p.relative_to(SOURCE) for p in pages if p.parts[len(SOURCE.parts)] not in ("build", "out")}, key=str)


def test_page(page, build, problems, is_list):
    name = str(page)
    blocks = read_blocks((SOURCE / page).read_text(), problems, name)
    for block in blocks:
        check_block(block, name, problems)
    blocks = [block for block in blocks if block.language in ("sh", "console")]
    if is_list:
        for block in blocks:
            print(f"{name}:{block.line}: {block.reason or 'run'}: {len(commands_of(block))} commands")
        return
    commands = [command for block in blocks if not block.reason for command in commands_of(block)]
    made = "\n".join(command.text for command in commands)
    for block in blocks:
        if block.reason:
            check_programs(block, name, build, made, problems)
    if not commands or problems:
        return
    with tempfile.TemporaryDirectory(prefix="qgen-commands-") as made:
        work = pathlib.Path(made)
        folder = work / "qgen"
        folder.mkdir()
        copy_of_repository(folder, build)
        run_commands(commands, name, folder, work, problems)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--list", action="store_true", help="print the blocks, run nothing")
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    problems = []
    for page in arguments.pages or all_pages():
        found = []
        test_page(page, arguments.build.resolve(), found, arguments.list)
        problems += found
    print("\n".join(problems))
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
