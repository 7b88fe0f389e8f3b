#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Attention of PyTorch on a GPU, and copies, in f16: for comparison with `attention` and with a decoder layer.

    bench/rivals/attention_torch.py           # microseconds; median of 300 samples of 20 calls each

Calls are replayed as a CUDA graph. The heads are 32 of 128, and 8 of keys where a row meets a cache.
"""
import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.nn.attention import SDPBackend, sdpa_kernel

CALLS, SAMPLES = 20, 300


def median_us(call):
    for _ in range(5):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS):
            call()
    for _ in range(50):
        graph.replay()
    samples = []
    for _ in range(SAMPLES):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        samples.append(1e3 * begin.elapsed_time(end) / CALLS)
    return sorted(samples)[SAMPLES // 2]


def heads(count, rows):
    return torch.randn(1, count, rows, 128, device="cuda", dtype=torch.float16)


def attention_us(rows, keys, key_heads, is_causal):
    query, key, value = heads(32, rows), heads(key_heads, keys), heads(key_heads, keys)
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION]):
        return median_us(lambda: scaled_dot_product_attention(query, key, value, is_causal=is_causal,
                                                              enable_gqa=key_heads != 32))


def copy_us(count):
    source = torch.randint(0, 255, (count,), device="cuda", dtype=torch.uint8)
    target = torch.empty_like(source)
    return median_us(lambda: target.copy_(source))


def main():
    print(torch.cuda.get_device_name(0), "torch", torch.__version__)
    print(f"attention 2048 x 2048, 32 heads, causal: {attention_us(2048, 2048, 32, True):.2f}")
    print(f"attention 2048 x 2048, 8 heads of keys, causal: {attention_us(2048, 2048, 8, True):.2f}")
    print(f"attention 1 x 8192, 8 heads of keys: {attention_us(1, 8192, 8, False):.2f}")
    for what, count in (("8,192 cached keys and values", 8192 * 8 * 128 * 4),
                        ("a layer of int4 weights and 2,048 cached keys", 218_103_808 // 2 + 218_103_808 // 64 +
                         2048 * 8 * 128 * 4)):
        print(f"copy of {what}, {count} bytes: {copy_us(count):.2f}")


if __name__ == "__main__":
    main()
