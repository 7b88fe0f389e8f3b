# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Tokens of language models, whose caches stay on the device."""
from __future__ import annotations

from ctypes import Array, byref, c_int32, c_size_t, c_void_p
from typing import TYPE_CHECKING, Any, Callable, Collection, Iterator, Mapping, Sequence

from ._device import Device, _Given, opened
from ._errors import InvalidArgument
from ._handle import Handle
from ._library import ON_TOKEN, Generation, lib, path_bytes, whole_number

if TYPE_CHECKING:
    from ._types import Path


_MOST_I32, _MOST_U32, _MOST_I64, _MOST_U64 = 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1
_MOST_NEW_TOKENS, _MOST_SEQUENCES = 2**24, 2**20  # as for qgen-model, and in generator.cpp
_CACHES = ("model", "int8", "paged", "paged_int8")  # in the order of qgen_cache


def _tokens(tokens: Collection[int]) -> Array[c_int32]:
    return (c_int32 * len(tokens))(*[whole_number(token, "a token", 0, _MOST_I32) for token in tokens])


def _drawing(top_k: int, temperature: float, seed: int) -> tuple[int, float, int]:
    """How the next token is drawn, as C takes it. It refuses most temperatures itself."""
    if temperature == 0:  # which would be 1 in a qgen_generation
        raise InvalidArgument("the temperature is 0, and must be from 1e-06 to 1000000", "a top_k of 1 gives the most likely token")
    return whole_number(top_k, "top_k", 0, _MOST_U32), temperature, whole_number(seed, "seed", 0, _MOST_U64)


def _flat(tokens: Sequence[Sequence[int]]) -> tuple[Array[c_int32], Array[c_size_t]]:
    """The tokens of all sequences, one sequence after the other, and the number of each."""
    everything = [token for sequence in tokens for token in sequence]
    return _tokens(everything), (c_size_t * len(tokens))(*map(len, tokens))


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
        capacity = whole_number(capacity, "capacity", 1, _MOST_I64)
        block_size = whole_number(block_size, "block_size", 1, _MOST_I64)
        blocks = whole_number(blocks, "blocks", 0, _MOST_I64)
        if cache.startswith("paged"):
            lib.generator_load_paged(self.device, path, capacity, form, block_size, blocks, byref(handle))
        else:
            lib.generator_load(self.device, path, capacity, form, byref(handle))
        super().__init__(handle, self.device.lock)
        self._sequences, self._capacity = 0, capacity

    @property
    def vocabulary(self) -> int:
        """How many tokens there are."""
        return int(lib.generator_vocabulary(self))

    def set_inputs(self, inputs: Mapping[str, Any]) -> None:
        """All inputs by name that are no tokens, mask, positions or caches, such as an encoder's result. They stay on the
        device until they are set anew. Forgets all tokens. Their first side is the number of sequences."""
        given = _Given(inputs)
        lib.generator_set_inputs(self, given.rows, given.count)

    def start(self, sequences: int = 1) -> None:
        """Forgets all tokens; the next ones are of so many sequences."""
        sequences = whole_number(sequences, "the number of sequences", 0, _MOST_SEQUENCES)
        with self.locked():
            lib.generator_start(self, sequences)
            self._sequences = sequences

    def feed(self, tokens: Sequence[Sequence[int]]) -> None:
        """Runs the model on further tokens of each sequence. Their numbers may differ in the first call after start()."""
        lib.generator_feed(self, *_flat(tokens), len(tokens))

    def end(self, sequence: int) -> None:
        """The sequence has ended: with paged caches, it gives its blocks to the other ones. Runs compute no tokens of it any
        more, although feed() still wants one."""
        lib.generator_end(self, whole_number(sequence, "the sequence", 0, _MOST_I32))

    def next(self, top_k: int = 1, temperature: float = 1.0, seed: int = 0) -> list[int]:
        """The token after those fed, of each sequence: the most likely one, or drawn from the `top_k` most likely ones.
        With 0 it is drawn from all."""
        drawing = _drawing(top_k, temperature, seed)
        with self.locked():  # other threads may change the number of sequences
            tokens = (c_int32 * max(self._sequences, 1))()
            lib.generator_next(self, *drawing, tokens)
        return list(tokens)

    def generate(self, prompts: Sequence[Sequence[int]], max_tokens: int = 64, end: Collection[int] = (), top_k: int = 1,
                 temperature: float = 1.0, seed: int = 0,
                 on_token: Callable[[int, int], object] | None = None,
                 inputs: Mapping[str, Any] | None = None) -> list[list[int]]:
        """The new tokens of each sequence: at most `max_tokens`, up to a token of `end`. The most likely tokens with a
        `top_k` of 1, else tokens drawn as by next(). `on_token(sequence, token)` gets each token when it is there; if it
        returns False, the sequence ends. It must not use the generator. `inputs`: as of set_inputs(), which may have been
        called before."""
        max_tokens = whole_number(max_tokens, "max_tokens", 1, _MOST_NEW_TOKENS)
        drawing = _drawing(top_k, temperature, seed)
        if inputs is not None: self.set_inputs(inputs)
        raised: list[BaseException] = []

        def called(_: object, sequence: int, token: int) -> int:
            try:
                return int(not raised and on_token is not None and on_token(sequence, token) is not False)
            except BaseException as error:  # no exception passes through C
                raised.append(error)
                return 0

        (tokens, counts), ends = _flat(prompts), _tokens(end)
        count = len(counts)
        generation = Generation(max_tokens, ends, len(ends), *drawing, 0,
                                ON_TOKEN(called) if on_token else ON_TOKEN(0), None)
        room = max_tokens if max_tokens <= self._capacity else 0  # more are refused, before any is written
        said, lengths = (c_int32 * (count * room))(), (c_size_t * count)()
        with self.locked():
            self._sequences = count  # also if it fails: it has started anew then
            lib.generator_generate(self, byref(generation), tokens, counts, count, said, lengths)
        if raised: raise raised[0]
        return [list(said[i * max_tokens:i * max_tokens + lengths[i]]) for i in range(count)]

    def stream(self, prompt: Sequence[int], max_tokens: int = 64, end: Collection[int] = (), top_k: int = 1,
               temperature: float = 1.0, seed: int = 0, inputs: Mapping[str, Any] | None = None) -> Iterator[int]:
        """The new tokens of one sequence, each when it is there."""
        max_tokens = whole_number(max_tokens, "max_tokens", 1, _MOST_NEW_TOKENS)
        if inputs is not None: self.set_inputs(inputs)
        self.start()
        self.feed([prompt])
        for i in range(max_tokens):
            tokens = self.next(top_k, temperature, seed)
            yield tokens[0]
            if tokens[0] in end: return
            if i + 1 < max_tokens: self.feed([tokens])
