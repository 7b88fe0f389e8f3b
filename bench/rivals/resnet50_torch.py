#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""ResNet-50 in PyTorch on a GPU: f16, channels last, batch normalization folded away, replayed as a CUDA graph.

    bench/rivals/resnet50_torch.py 1 32 128        # batches; microseconds of a replay, median of 200
"""
import sys

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.first = nn.Conv2d(inputs, width, 1)
        self.second = nn.Conv2d(width, width, 3, stride, 1)
        self.third = nn.Conv2d(width, 4 * width, 1)
        is_plain = stride == 1 and inputs == 4 * width
        self.shortcut = nn.Identity() if is_plain else nn.Conv2d(inputs, 4 * width, 1, stride)

    def forward(self, x):
        y = torch.relu(self.second(torch.relu(self.first(x))))
        return torch.relu(self.third(y) + self.shortcut(x))


def resnet50():
    layers, inputs = [nn.Conv2d(3, 64, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for stage, (width, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)]):
        for block in range(blocks):
            layers.append(Block(inputs, width, 2 if stage > 0 and block == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))


def median_us(batch):
    model = resnet50().cuda().half().to(memory_format=torch.channels_last).eval()
    x = torch.randn(batch, 3, 224, 224, device="cuda", dtype=torch.half).to(memory_format=torch.channels_last)
    with torch.inference_mode():
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(10):
                model(x)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            model(x)
        for _ in range(200):
            graph.replay()
        samples = []
        for _ in range(200):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            samples.append(1e3 * begin.elapsed_time(end))
    return sorted(samples)[len(samples) // 2]


torch.backends.cudnn.benchmark = True
for argument in sys.argv[1:] or ["1"]:
    print(f"batch {argument}: {median_us(int(argument)):.1f} us")
