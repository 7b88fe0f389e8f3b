#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""codegen_figures.py [BUILD] [--runs N]: measures the generator. Prints figure, wanted value, best peer, measurement.

BUILD is a release build (default: build/release) with the targets `qgen` and `codegen_rooms`. The corpus is
bench/codegen_corpus: 21 families of 48 variants. Times are CPU seconds, user and system, of all threads and workers, so
a busy machine changes them little. They are medians. A wall time is the least of several runs.

Exit code 1 if a wanted value is missed.
"""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
CORPUS = SOURCE / "bench" / "codegen_corpus"


class Run:
    """A finished process: exit code, CPU and wall seconds, peak memory, what it printed."""

    def __init__(self, arguments, folder, environment=None):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            begin = time.monotonic()
            process = subprocess.Popen([str(a) for a in arguments], cwd=folder, stdout=out, stderr=err,
                                       env={**os.environ, **(environment or {})})
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.wall = time.monotonic() - begin
            self.cpu = usage.ru_utime + usage.ru_stime
            self.megabytes = usage.ru_maxrss / 1e3
            self.code = process.returncode
            out.seek(0)
            err.seek(0)
            self.out, self.err = (text.read().decode(errors="replace") for text in (out, err))

    def checked(self):
        if self.code != 0:
            sys.exit(f"codegen_figures: a run ended with {self.code}:\n{self.out}{self.err}")
        return self


class Bench:
    def __init__(self, build, work, runs):
        self.build, self.work, self.runs = build, work, runs
        self.rows = []

    def qgen(self, *arguments, folder=None, environment=None):
        return Run([self.build / "codegen" / "qgen", *arguments], folder or self.work, environment)

    def made(self, folder, *arguments, environment=None):
        """A run that stores the tree of `folder`, with its figures."""
        stats = self.work / "stats.json"
        stats.unlink(missing_ok=True)
        run = self.qgen("specs", "-o", "out", "-q", "--stats-json", stats, *arguments, folder=folder,
                        environment=environment).checked()
        return run, json.loads(stats.read_text())

    def row(self, what, reach, peer, measured, is_met):
        self.rows.append((what, reach, peer, measured, is_met))
        print(f"{'  ' if is_met else '! '}{what}: {measured}", file=sys.stderr, flush=True)


def copy_corpus(to, shuffled=None):
    """The corpus in a folder of its own; `shuffled`: its files are made in a random order."""
    files = [f for f in CORPUS.rglob("*") if f.is_file()]
    if shuffled:
        shuffled.shuffle(files)
    for file in files:
        target = to / file.relative_to(CORPUS)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    return to


def contents(folder):
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


def stamps(folder):
    return {f: (os.stat(f).st_mtime_ns, os.stat(f).st_ino) for f in folder.rglob("*") if f.is_file()}


def edit(file, pattern, replacement):
    text = file.read_text()
    edited, count = re.subn(pattern, replacement, text, count=1)
    if count != 1:
        sys.exit(f"codegen_figures: {file} has no {pattern}")
    file.write_text(edited)


# ---- the rows --------------------------------------------------------------------------------------------------------

def cold(bench, tree):
    times = []
    for _ in range(3):
        run, stats = bench.made(tree, "--no-cache")
        times.append(1e3 * run.cpu / stats["compiled"])
    kilobytes = stats["raw_bytes"] / stats["variants"] / 1e3
    measured = f"{statistics.median(times):.1f} ms ({stats['variants']} variants of {kilobytes:.1f} kB)"
    bench.row("CPU per optimised variant, cold", "<= 12 ms", "95 ms", measured, statistics.median(times) <= 12)


def unchanged(bench, tree):
    bench.made(tree)
    before = stamps(tree / "out")
    runs = [bench.made(tree)[0] for _ in range(20)]
    written = sum(1 for f, stamp in stamps(tree / "out").items() if before.get(f) != stamp)
    wall = min(r.wall for r in runs)
    bench.row("nothing changed", "<= 50 ms, 0 files written", "2,450 ms",
              f"{1e3 * wall:.1f} ms, CPU {1e3 * statistics.median(r.cpu for r in runs):.1f} ms, {written} files written",
              wall <= 0.050 and written == 0)


def comment_edited(bench, tree):
    runs = []
    for i in range(5):
        edit(tree / "templates/lib/common.glsl", r"(?m)^// .*$", f"// What every kernel includes, remark {i}.")
        run, stats = bench.made(tree)
        runs.append((run.wall, run.cpu, stats["compiled"], stats["files_written"]))
    wall, compiled, written = min(r[0] for r in runs), max(r[2] for r in runs), max(r[3] for r in runs)
    bench.row("comment edited in a header that every template includes", "0 compiles, <= 300 ms", "48,100 ms",
              f"{compiled} compiles, {1e3 * wall:.0f} ms, CPU {1e3 * statistics.median(r[1] for r in runs):.0f} ms, "
              f"{written} files written", compiled == 0 and wall <= 0.3)


def template_edited(bench, tree):
    times = []
    for i in range(5):
        edit(tree / "templates/conv2d.comp", r"relu\(sums\[i\][^)]*\)", f"relu(sums[i] * {i + 2}.0)")
        run, stats = bench.made(tree)
        if stats["compiled"] != 48:
            sys.exit(f"codegen_figures: expected 48 compiles, got {stats['compiled']}")
        times.append(run.cpu)
    bench.row("one template of 48 variants edited", "<= 1.0 CPU s", "7.0 s", f"{statistics.median(times):.2f} CPU s",
              statistics.median(times) <= 1.0)


def sizes(bench, tree):
    _, stats = bench.made(tree)
    cpp, blob = stats["cpp_bytes"] / stats["variants"], stats["blob_bytes"] / stats["raw_bytes"]
    bench.row("generated C++ per variant / blob as part of raw SPIR-V", "<= 300 bytes / <= 25 %",
              "12,400 bytes / 100 %",
              f"{cpp:.0f} bytes / {100 * blob:.1f} %", cpp <= 300 and blob <= 0.25)


def compiled_tables(bench, tree):
    """As qgen_add_kernels() compiles them: all .cpp as one file, and the blob by the assembler."""
    cache = (bench.build / "CMakeCache.txt").read_text()
    compiler = re.search(r"CMAKE_CXX_COMPILER:\w+=(.*)", cache)[1]
    unity = bench.work / "unity.cpp"
    unity.write_text("".join(f'#include "{f}"\n' for f in sorted((tree / "out/cpp").glob("*.cpp"))))
    runs = []
    for _ in range(3):
        tables = Run([compiler, "-std=c++20", "-O3", "-DNDEBUG", "-fPIC", f"-I{SOURCE}", "-c", unity, "-o", "tables.o"],
                     bench.work).checked()
        blob = Run([compiler, "-c", f"-Wa,-I{tree / 'out'}", tree / "out/cpp/blob.S", "-o", "blob.o"],
                   bench.work).checked()
        runs.append((tables.cpu + blob.cpu, max(tables.megabytes, blob.megabytes)))
    cpu, megabytes = statistics.median(r[0] for r in runs), max(r[1] for r in runs)
    bench.row("compiling the generated C++ and blob of the whole corpus", "<= 3 CPU s, <= 300 MB", "12.6 s, 743 MB",
              f"{cpu:.1f} CPU s, {megabytes:.0f} MB", cpu <= 3 and megabytes <= 300)


def rooms(bench, tree):
    figures = json.loads(Run([bench.build / "bench/codegen_rooms", "specs", "templates"], tree).checked().out)
    bench.row("one module out of the blob", "<= 0.2 ms, bit for bit", "-",
              f"{figures['module_ms']:.3f} ms, at worst {figures['worst_module_ms']:.2f} ms, "
              f"{figures['equal_modules']} of {figures['modules']} bit for bit",
              figures["module_ms"] <= 0.2 and figures["equal_modules"] == figures["modules"])
    bench.row("`require` over 100,000 raw combinations", "<= 100 ms", "-", f"{figures['require_ms']:.0f} ms",
              figures["require_ms"] <= 100)


def determinism(bench):
    """Threads, locale, time zone, folder, the order in which files were made, cold or with what the cache holds."""
    chance = random.Random()
    digests = {}
    for i in range(bench.runs):
        folder = copy_corpus(bench.work / chance.choice(["a", "b c", "d/e"]) / str(i), chance)
        environment = {"LC_ALL": chance.choice(["C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8"]),
                       "TZ": chance.choice(["UTC", "Asia/Kathmandu", "America/St_Johns"])}
        cache = ["--no-cache"] if i % 5 == 0 else []
        bench.made(folder, "-j", chance.randint(1, 8), *cache, environment=environment)
        digests.setdefault(tuple(contents(folder / "out").items()), i)
        shutil.rmtree(folder)
    bench.row(f"bytes of every output over {bench.runs} runs with random -j, locale, TZ, folder and file order",
              "one digest",
              "differs", "one digest" if len(digests) == 1 else f"{len(digests)} digests", len(digests) == 1)


def bad_inputs(bench):
    """Each mistake in tests/bad_specs and tests/bad_templates: exit code 2, and the place that expected.txt names."""
    located, total = 0, 0
    for kind in ("bad_specs", "bad_templates"):
        for pair in sorted(p for p in (SOURCE / "tests" / kind).iterdir() if p.is_dir()):
            folder = bench.work / kind / pair.name
            if kind == "bad_specs":
                specs = [f for f in pair.glob("*.yaml") if f.name != "good.yaml"]
                shutil.copytree(pair, folder)
                arguments = [f.name for f in specs]
            else:
                (folder / "specs").mkdir(parents=True)
                shutil.copyfile(pair / "spec.yaml", folder / "specs/scale.yaml")
                shutil.copytree(pair, folder / "templates")
                os.rename(folder / "templates/bad.comp", folder / "templates/scale.comp")
                arguments = ["specs/scale.yaml"]
            run = bench.qgen(*arguments, "-o", "out", "-q", "--no-cache", "--max-variants", 1000, folder=folder)
            place = re.match(r"[^ ]+?:\d+", (pair / "expected.txt").read_text(errors="replace"))
            total += 1
            located += run.code == 2 and place is not None and run.err.startswith(place[0])
    bench.row("bad specs and templates, seeded", "40 of 40 located by file and line, no crash, exit code 2", "1 of 7",
              f"{located} of {total}", located == total and total >= 40)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", nargs="?", default=SOURCE / "build" / "release", type=pathlib.Path)
    parser.add_argument("--runs", default=50, type=int, help="runs that must give one digest")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="qgen-figures-") as work:
        os.environ["XDG_CACHE_HOME"] = work + "/cache"
        bench = Bench(options.build.resolve(), pathlib.Path(work), options.runs)
        tree = copy_corpus(bench.work / "corpus")
        for measure in (cold, unchanged, comment_edited, template_edited, sizes, compiled_tables, rooms):
            measure(bench, tree)
        determinism(bench)
        bad_inputs(bench)
    print("| what | reach | best peer | measured |\n|---|---|---|---|")
    for what, reach, peer, measured, is_met in bench.rows:
        print(f"| {what} | {reach} | {peer} | {measured}{'' if is_met else ' (missed)'} |")
    return 0 if all(row[-1] for row in bench.rows) else 1


sys.exit(main())
