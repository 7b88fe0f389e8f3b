#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Measures an edit loop: the time from saving a template until a program has the new kernel.

  bench/watch_times.py                   with build/release, three rounds of ten saves

One line for each round, the median of its saves in ms:

  example    from a save to the new result that examples/reload prints: qgen, reload(), a pipeline, a run, a download
  shipped    from a save to the new kernels.blob, for one variant of softmax among the shipped specs
  unchanged  a run of qgen over the shipped specs in which nothing changed, after another such run: wall, CPU

docs/results_host.md has the figures.
"""
import argparse
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
VARIANT = "softmax.f32.f32.shared"
ROUNDS, SAVES, LONGEST_S = 3, 10, 60


def wait_until(is_done, what):
    end = time.monotonic() + LONGEST_S
    while time.monotonic() < end:
        if is_done():
            return
        time.sleep(0.0005)
    raise SystemExit(f"no {what} in {LONGEST_S} s")


class Watching:
    """qgen --watch in a folder with specs/ and templates/."""

    def __init__(self, qgen, folder, *flags):
        self.log = folder / "watch.log"
        command = [qgen, "specs", "--templates", "templates", "-o", "out", "--cache", "cache", "--watch", *flags]
        self.process = subprocess.Popen(command, cwd=folder, stdout=open(self.log, "w"), stderr=subprocess.STDOUT)
        wait_until(lambda: "watching" in self.log.read_text(), "first run")

    def end(self):
        self.process.terminate()
        if self.process.wait() != 0:
            raise SystemExit(f"qgen --watch ended with {self.process.returncode}: {self.log.read_text()}")


def median_ms(save, is_seen):
    """The median time from save(i) until is_seen()."""
    times = []
    for i in range(SAVES):
        time.sleep(0.3)
        expected = save(i)
        begin = time.monotonic()
        wait_until(lambda: is_seen(expected), "new kernel")
        times.append((time.monotonic() - begin) * 1e3)
    return statistics.median(times)


def measure_example(build, folder):
    shutil.copytree(SOURCE / "examples/reload/specs", folder / "specs")
    shutil.copytree(SOURCE / "examples/reload/templates", folder / "templates")
    watching = Watching(build / "codegen/qgen", folder)
    out = folder / "example.out"
    program = subprocess.Popen([build / "tests/example_of_reload", "out/kernels.blob"], cwd=folder, stdout=open(out, "w"))
    wait_until(lambda: "y = 2\n" in out.read_text(), "first result")
    shader = folder / "templates/scale.comp"
    text = shader.read_text()
    factor = 2

    def save(_):
        nonlocal factor
        factor += 1
        shader.write_text(text.replace("2.0 *", f"{factor}.0 *"))
        return f"y = {factor},"

    for _ in range(ROUNDS):
        print(f"example    {median_ms(save, lambda line: line in out.read_text()):7.1f} ms", flush=True)
    program.terminate()
    program.wait()
    watching.end()


def measure_shipped(build, folder):
    shutil.copytree(SOURCE / "specs", folder / "specs")
    shutil.copytree(SOURCE / "templates", folder / "templates")
    watching = Watching(build / "codegen/qgen", folder, "--filter", VARIANT)
    shader, blob = folder / "templates/normalization/softmax.comp", folder / "out/kernels.blob"
    text = shader.read_text()
    count = 0

    def save(_):
        nonlocal count
        count += 1
        before = blob.stat().st_ino
        # A store to shared memory, which no optimisation removes.
        shader.write_text(text.replace("void main() {", "shared uint probe;\nvoid main() {\n"
                                       f"  probe = {count}u + gl_LocalInvocationIndex;\n  barrier();\n"
                                       f"  if (probe == {count + 7}u) return;"))
        return before

    for _ in range(ROUNDS):
        print(f"shipped    {median_ms(save, lambda before: blob.stat().st_ino != before):7.1f} ms", flush=True)
    watching.end()
    measure_unchanged(build, folder)


def measure_unchanged(build, folder):
    shutil.rmtree(folder / "templates")
    shutil.copytree(SOURCE / "templates", folder / "templates")
    command = [build / "codegen/qgen", "specs", "-o", "out", "--cache", "cache", "--filter", VARIANT]
    for _ in range(2):  # the second finds stamps that are settled, compares all bytes, and stores the stamps
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        time.sleep(2.1)
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    for _ in range(ROUNDS):
        wall, cpu = [], []
        for _ in range(SAVES):
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            begin = time.monotonic()
            out = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
            wall.append((time.monotonic() - begin) * 1e3)
            now = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu.append((now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime) * 1e3)
            if "nothing changed" not in out:
                raise SystemExit(out)
        print(f"unchanged  {statistics.median(wall):7.1f} ms, CPU {statistics.median(cpu):.1f} ms, least wall "
              f"{min(wall):.1f} ms", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=SOURCE / "build/release", type=pathlib.Path, help="a built tree")
    build = parser.parse_args().build.resolve()
    os.environ.setdefault("VK_DRIVER_FILES", "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json")
    for measure in (measure_example, measure_shipped)[0 if (build / "tests/example_of_reload").exists() else 1:]:
        with tempfile.TemporaryDirectory(prefix="qgen-watch-") as folder:
            measure(build, pathlib.Path(folder))


if __name__ == "__main__":
    main()
