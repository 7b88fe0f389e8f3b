# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Tokens of language models, whose caches stay on the device."""
from __future__ import annotations

from ctypes import byref, c_int32, c_size_t, c_void_p
from typing import TYPE_CHECKING, Collection, Iterator, Sequence

from ._device import Device, opened
from ._handle import Handle
from ._library import lib, path_bytes

if TYPE_CHECKING:
    from ._types import Path


_CACHES = ("model", "int8", "paged", "paged_int8")  # in the order of qgen_cache


class Generator(Handle):
    """A language model of an ONNX file, with room for `capacity` tokens of each sequence (docs/language_models.md).

        generator = qgen.Generator("model.onnx", capacity=2048)
        generator.generate([[1, 2, 3]], max_tokens=64)
        for token in generator.stream([1, 2, 3]): print(token)

    Without a device, the first is opened. The caches have elements of the model's type, and with `cache="int8"` int8
    ones. With `cache="paged"` or `cache="paged_int8"` they consist of blocks of `block_size` tokens, a power of two.
    Sequences get blocks as they grow, from a pool of `blocks`, or with 0 of as many as the capacity needs. A sequence that
    has ended gives its blocks back.
    """

    _FREE = "generator_free"

    def __init__(self, file: Path, device: Device | None = None, capacity: int = 2048, cache: str = "model",
                 block_size: int = 16, blocks: int = 0) -> None:
        if cache not in _CACHES: raise ValueError(f"cache is {cache!r}, and must be one of {', '.join(_CACHES)}")
        self.device, handle, path = opened(device), c_void_p(), path_bytes(file, "the file")
        form = _CACHES.index(cache)
        if cache.startswith("paged"):
            lib.generator_load_paged(self.device, path, capacity, form, block_size, blocks, byref(handle))
        else:
            lib.generator_load(self.device, path, capacity, form, byref(handle))
        super().__init__(handle, self.device.lock)

    @property
    def vocabulary(self) -> int:
        """How many tokens there are."""
        return int(lib.generator_vocabulary(self))

    def start(self, sequences: int = 1) -> None:
        """Forgets all tokens; the next ones are of so many sequences."""
        lib.generator_start(self, sequences)
        self._sequences = sequences

    def feed(self, tokens: Sequence[Sequence[int]]) -> None:
        """Runs the model on further tokens of each sequence. Their numbers may differ in the first call after start()."""
        everything = [token for sequence in tokens for token in sequence]
        lib.generator_feed(self, (c_int32 * len(everything))(*everything),
                           (c_size_t * len(tokens))(*map(len, tokens)), len(tokens))

    def end(self, sequence: int) -> None:
        """The sequence has ended: with paged caches, it gives its blocks to the other ones. Runs compute no tokens of it any
        more, although feed() still wants one."""
        lib.generator_end(self, sequence)

    def next(self, top_k: int = 1, temperature: float = 1.0, seed: int = 0) -> list[int]:
        """The token after those fed, of each sequence: the most likely one, or drawn from the `top_k` most likely ones.
        With 0 it is drawn from all."""
        tokens = (c_int32 * max(getattr(self, "_sequences", 0), 1))()
        lib.generator_next(self, top_k, temperature, seed, tokens)
        return list(tokens)

    def generate(self, prompts: Sequence[Sequence[int]], max_tokens: int = 64, end: Collection[int] = (), top_k: int = 1,
                 temperature: float = 1.0, seed: int = 0) -> list[list[int]]:
        """The new tokens of each sequence: at most `max_tokens`, up to a token of `end`."""
        said: list[list[int]] = [[] for _ in prompts]
        self.start(len(prompts))
        self.feed(prompts)
        for i in range(max_tokens):
            tokens = self.next(top_k, temperature, seed)
            for sequence, token in zip(said, tokens):
                if not (sequence and sequence[-1] in end): sequence.append(token)
            if i + 1 == max_tokens or all(sequence[-1] in end for sequence in said): break
            for ended, sequence in enumerate(said):
                if sequence[-1] in end: self.end(ended)
            self.feed([[token] for token in tokens])
        return said

    def stream(self, prompt: Sequence[int], max_tokens: int = 64, end: Collection[int] = (), top_k: int = 1,
               temperature: float = 1.0, seed: int = 0) -> Iterator[int]:
        """The new tokens of one sequence, each when it is there."""
        self.start()
        self.feed([prompt])
        for i in range(max_tokens):
            tokens = self.next(top_k, temperature, seed)
            yield tokens[0]
            if tokens[0] in end: return
            if i + 1 < max_tokens: self.feed([tokens])
