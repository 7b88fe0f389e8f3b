#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Times qgen's int8 convolutions and cuDNN's float16 convolutions on one NVIDIA GPU, in one run.

cuDNN runs through PyTorch, which has no int8 convolution on a GPU, so float16 is its fastest dtype. Its inputs are
row-major and channels last, and the faster of the two counts. cuDNN first tries its algorithms (cudnn.benchmark). A
CUDA graph has 20 launches, so the time of the host is not included. The figure is the median over bursts of replays.
qgen's figure is the median of `qgen-run q8ta_conv2d --time`, by the device's clock. It times chains of 20 launches in
one command buffer, with barriers between them. The layout is packed_4c. qgen adds a bias, applies the activation and
quantizes; cuDNN only convolves.

Before each program is timed, the GPU works until its clock is up: here with matrix products, in qgen-run with its own
load. `ratio` is cuDNN's time divided by qgen's. TOP/s is qgen's rate. `clock` is the clock during qgen's timing, in
percent of the GPU's best. Measure a row again if it is far below 100.
"""
import argparse
import dataclasses
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

WARM_SECONDS = 0.3
LAUNCHES = 20  # in a graph
REPLAYS = 20  # in a burst
BURSTS = 15
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
QGEN_RUN = REPOSITORY / "build/release/runtime/qgen-run"
EXIT_CODES = "Exit codes: 0 done, 1 a layer could not be timed, 2 the arguments are wrong, 3 something is missing."


class Missing(Exception):
    """What the machine lacks, in a sentence."""


@dataclasses.dataclass
class Layer:
    images: int
    channels: int
    outputs: int
    taps: int  # along both sides of the window, which is padded by half
    stride: int
    side: int  # of the image
    groups: int = 1

    @property
    def padding(self):
        return self.taps // 2

    def name(self):
        kind = " depthwise" if self.groups == self.channels else ""
        window = f"{self.taps}x{self.taps}/{self.stride}"
        return f"{self.images}, {self.channels} -> {self.outputs}, {window}, {self.side}{kind}"

    def tera_operations(self):
        places = ((self.side + 2 * self.padding - self.taps) // self.stride + 1) ** 2
        return 2e-12 * self.images * places * self.outputs * (self.channels // self.groups) * self.taps**2

    def input_shape(self):
        return self.images, self.channels, self.side, self.side

    def weight_shape(self):
        return self.outputs, self.channels // self.groups, self.taps, self.taps


# The layers of bench/families/conv.cpp that occur in networks for images.
LAYERS = [
    Layer(1, 3, 64, 7, 2, 224),
    Layer(1, 64, 64, 3, 1, 56),
    Layer(1, 64, 256, 1, 1, 56),
    Layer(1, 256, 128, 1, 1, 56),
    Layer(1, 128, 128, 3, 2, 56),
    Layer(1, 256, 256, 3, 1, 14),
    Layer(1, 512, 512, 3, 1, 7),
    Layer(1, 64, 64, 3, 1, 128),
    Layer(1, 128, 128, 3, 1, 128),
    Layer(32, 64, 64, 3, 1, 56),
    Layer(32, 256, 256, 3, 1, 14),
    Layer(32, 64, 256, 1, 1, 56),
    Layer(8, 256, 256, 3, 1, 128),
    Layer(1, 128, 128, 3, 1, 56, groups=128),
    Layer(1, 64, 64, 3, 1, 128, groups=64),
]


# ---- cuDNN -----------------------------------------------------------------------------------------------------------


class Cudnn:
    def __init__(self):
        try:
            import torch
        except ImportError as error:
            raise Missing("this Python has no PyTorch: install torch with CUDA") from error
        if not torch.cuda.is_available():
            raise Missing(f"PyTorch {torch.__version__} finds no CUDA device")
        if not torch.backends.cudnn.is_available():
            raise Missing(f"PyTorch {torch.__version__} has no cuDNN")
        torch.backends.cudnn.benchmark = True
        self.torch = torch
        self.factor = torch.randn(4096, 4096, device="cuda", dtype=torch.float16)

    def device(self):
        return f"{self.torch.cuda.get_device_name()}, cuDNN {self.torch.backends.cudnn.version()}"

    def warm_up(self):
        end = time.monotonic() + WARM_SECONDS
        while time.monotonic() < end:
            for _ in range(LAUNCHES):
                self.factor @ self.factor
            self.torch.cuda.synchronize()

    def graph_of(self, layer, memory_format):
        torch = self.torch
        half = {"device": "cuda", "dtype": torch.float16}
        x = torch.randn(layer.input_shape(), **half).to(memory_format=memory_format)
        w = torch.randn(layer.weight_shape(), **half).to(memory_format=memory_format)

        def launch():
            return torch.nn.functional.conv2d(x, w, stride=layer.stride, padding=layer.padding, groups=layer.groups)

        for _ in range(5):  # cuDNN chooses among its algorithms
            launch()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(LAUNCHES):
                launch()
        return graph, (x, w)  # the graph reads them

    def burst_us(self, graph):
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(REPLAYS):
            graph.replay()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1000 / (REPLAYS * LAUNCHES)

    def time_us(self, layer):
        medians = []
        for memory_format in (self.torch.contiguous_format, self.torch.channels_last):
            graph, _kept = self.graph_of(layer, memory_format)
            self.warm_up()
            medians.append(statistics.median(self.burst_us(graph) for _ in range(BURSTS)))
        return min(medians)


# ---- qgen ------------------------------------------------------------------------------------------------------------


def text_of(shape):
    return "x".join(map(str, shape))


@dataclasses.dataclass
class Qgen:
    program: pathlib.Path
    device: str
    kernel: str

    def __post_init__(self):
        if not self.program.is_file():
            raise Missing(f"there is no {self.program}: build the target qgen-run, or say --qgen-run")

    def command(self, layer, report):
        command = [self.program, "q8ta_conv2d", "--time", "--json", report]
        for made in (f"input={text_of(layer.input_shape())}:i8", f"weight={text_of(layer.weight_shape())}:i8",
                     f"weight_scales={layer.outputs}:f32=0.001", f"bias={layer.outputs}:f32=0.1"):
            command += ["--shape", made]
        for attribute in ("input_scale=0.02", "output_scale=0.5", f"stride={layer.stride}", f"padding={layer.padding}",
                          f"groups={layer.groups}"):
            command += ["--set", attribute]
        command += ["--layout", "input=packed_4c", "--layout", "output=packed_4c"]
        command += ["--device", self.device] if self.device else []
        return command + (["--kernel", self.kernel] if self.kernel else [])

    def time_us(self, layer):
        """The median, the part of its best clock that the GPU then had, and the kernel's id; or what qgen-run says."""
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "times.json"
            done = subprocess.run(self.command(layer, report), capture_output=True, text=True)
            if done.returncode != 0:
                return None, None, done.stderr.strip().split("\n")[0]
            times = json.loads(report.read_text())
        kernel = times["kernels"][0]
        return kernel["median_us"], times["clock_of_plateau"], kernel["id"]


# ---- both ------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Figure:
    layer: Layer
    cudnn_us: float
    qgen_us: float  # or None
    clock: float
    kernel: str  # or why there is none

    def ratio(self):
        return self.cudnn_us / self.qgen_us

    def line(self):
        start = f"{self.layer.name():<38} {self.cudnn_us:9.1f}"
        if self.qgen_us is None:
            return f"{start}  {self.kernel}"
        rate = self.layer.tera_operations() / self.qgen_us * 1e6
        return f"{start} {self.qgen_us:9.1f} {self.ratio():6.2f} {rate:8.1f} {100 * self.clock:5.0f}  {self.kernel}"

    def columns(self):
        layer = dataclasses.astuple(self.layer)
        qgen = ("", "", "")
        if self.qgen_us is not None:
            qgen = f"{self.qgen_us:.2f}", f"{self.ratio():.3f}", f"{self.clock:.3f}"
        return [*map(str, layer), f"{self.cudnn_us:.2f}", *qgen, self.kernel]


HEAD = (f"{'images, channels, window/stride, side':<38} {'cuDNN us':>9} {'qgen us':>9} {'ratio':>6} {'TOP/s':>8} "
        "clock  kernel")
COLUMNS = [*(field.name for field in dataclasses.fields(Layer)), "cudnn_us", "qgen_us", "ratio", "clock", "kernel"]


def selected(numbers):
    """Layers by number from 1 on, as in '1,3'; without numbers all."""
    if not numbers:
        return LAYERS
    try:
        places = [int(number) for number in numbers.split(",")]
    except ValueError:
        places = [0]
    if not all(1 <= place <= len(LAYERS) for place in places):
        raise argparse.ArgumentTypeError(f"'{numbers}' is no list of numbers from 1 to {len(LAYERS)}, as 1,3")
    return [LAYERS[place - 1] for place in places]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXIT_CODES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qgen-run", type=pathlib.Path, default=QGEN_RUN, metavar="FILE",
                        help="the program to time; build/release/runtime/qgen-run of this repository unless said")
    parser.add_argument("--layers", type=selected, default=LAYERS, metavar="LIST",
                        help=f"only these, by their place in the table: 1,3; there are {len(LAYERS)}")
    parser.add_argument("--kernel", default="", metavar="ID", help="run this kernel or recipe of qgen in all layers")
    parser.add_argument("--device", default="", help="qgen-run's: index, UUID or part of the name")
    parser.add_argument("--tsv", type=pathlib.Path, metavar="FILE", help="write the figures to a file too")
    return parser.parse_args()


def timed(layers, cudnn, qgen):
    print(HEAD)
    figures = []
    for layer in layers:
        figures.append(Figure(layer, cudnn.time_us(layer), *qgen.time_us(layer)))
        print(figures[-1].line(), flush=True)
    return figures


def main():
    given = arguments()
    try:
        qgen = Qgen(given.qgen_run, given.device, given.kernel)
        cudnn = Cudnn()
        print(f"# float16 convolutions of PyTorch on {cudnn.device()}, beside qgen's of int8")
        figures = timed(given.layers, cudnn, qgen)
        if given.tsv:
            given.tsv.write_text("".join("\t".join(row) + "\n" for row in [COLUMNS, *(f.columns() for f in figures)]))
    except (Missing, OSError, RuntimeError) as error:  # PyTorch's are RuntimeErrors
        print(f"cudnn_conv.py: {error}", file=sys.stderr)
        return 3
    return 1 if any(figure.qgen_us is None for figure in figures) else 0


if __name__ == "__main__":
    sys.exit(main())
