# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""The Python package on a driver. MODEL is examples/picture/scenes.onnx; test_operators.py calls each operator."""
import contextlib
import copy
import io
import locale
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

import numpy as np

import qgen

MODEL = os.environ["QGEN_TEST_MODEL"]
ROOT = pathlib.Path(MODEL).resolve().parents[2]


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class TestOperators(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dev = qgen.Device()

    def test_arrays_in_and_out(self):
        x = np.random.default_rng(1).standard_normal((3, 257)).astype(np.float32)
        y = self.dev.softmax(x)
        self.assertIsInstance(y, np.ndarray)
        np.testing.assert_allclose(y, softmax(x), rtol=2e-5, atol=1e-7)

    def test_linear_is_exact(self):
        rng = np.random.default_rng(2)
        x = rng.integers(-128, 128, (5, 64), np.int8)
        w = rng.integers(-128, 128, (16, 64), np.int8)
        scales = np.full(16, 0.5, np.float32)
        expected = (x.astype(np.int64) @ w.astype(np.int64).T).astype(np.float32) * 0.25
        y = self.dev.q8ta_linear_dequantize(x, w, scales, input_scale=0.5)
        np.testing.assert_allclose(y, expected, rtol=1e-6)
        kept = self.dev.weight(w)
        np.testing.assert_array_equal(self.dev.q8ta_linear_dequantize(x, kept, scales, input_scale=0.5), y)

    def test_tensors_stay_on_the_device(self):
        x = self.dev.tensor(np.arange(8, dtype=np.float32).reshape(2, 4))
        y = self.dev.softmax(x)
        self.assertIsInstance(y, qgen.Tensor)
        self.assertEqual((y.shape, y.dtype), ((2, 4), np.float32))
        z = self.dev.tensor(np.zeros((2, 4), np.float32))
        self.dev.softmax(x, output=z)
        np.testing.assert_array_equal(z.numpy(), np.asarray(y))
        with self.assertRaises(BufferError):
            np.from_dlpack(y)

    def test_explain_and_force(self):
        x = np.ones((4, 64), np.float32)
        self.assertIn("softmax", self.dev.explain("softmax", {"input": x}))
        with self.assertRaises(qgen.Error):
            self.dev.run("softmax", {"input": x}, kernel="no such kernel")

    def test_infer_needs_no_device(self):
        self.assertEqual(qgen.infer("softmax", {"input": np.ones((4, 64), np.float16)}),
                         {"output": (np.dtype("float16"), (4, 64))})

    def test_errors_say_what_is_possible(self):
        with self.assertRaises(qgen.NotFound) as caught:
            self.dev.run("softmx", {})
        self.assertEqual(caught.exception.message, "unknown operator 'softmx'")
        self.assertIn("softmax", caught.exception.hint)
        with self.assertRaises(qgen.InvalidArgument) as caught:
            self.dev.softmax(np.ones((2, 2), np.complex64))
        self.assertIn("complex64", caught.exception.message)
        with self.assertRaises(ValueError):
            self.dev.q8ta_relu(np.ones((2, 2), np.int8), input_scale="much", output_scale=1.0)

    def test_every_operator_has_its_method(self):
        import json
        from qgen._library import lib
        for op in json.loads(lib.operators_json())["operators"]:
            method = getattr(qgen.Device, op["name"])
            for tensor in op["inputs"]:
                self.assertIn(f'{tensor["name"]}: ', method.__doc__)

    def test_objects_may_go_in_any_order(self):
        dev = qgen.Device()
        y = dev.softmax(dev.tensor(np.ones((2, 2), np.float32)))
        del dev
        np.testing.assert_allclose(y.numpy(), 0.5)


class TestHandles(unittest.TestCase):
    """What a Python object that owns memory of a device does not do."""

    @classmethod
    def setUpClass(cls):
        cls.dev = qgen.Device()
        cls.x = np.arange(-16, 16, dtype=np.float32).reshape(4, 8)

    def test_is_not_copied(self):
        for owner in (self.dev, self.dev.tensor(self.x), self.dev.weight(np.ones((4, 8), np.int8)),
                      qgen.Model(MODEL, self.dev)):
            for copied in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, "cannot be copied or pickled"):
                    copied(owner)

    def test_threads_share_a_device(self):
        expected, got = self.dev.softmax(self.x), []

        def run():
            for _ in range(10):
                kept = self.dev.softmax(self.dev.tensor(self.x))
                got.append(np.array_equal(self.dev.softmax(self.x), expected) and
                           np.array_equal(kept.numpy(), expected))

        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(got, [True] * 40)

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork here")
    def test_another_process_is_told(self):
        tensor, (read, write) = self.dev.tensor(self.x), os.pipe()
        child = os.fork()
        if child == 0:
            messages = []
            for use in (lambda: self.dev.softmax(self.x), tensor.numpy):
                try:
                    use()
                except qgen.InvalidArgument as error:
                    messages.append(error.message)
            os.write(write, "\n".join(messages).encode())
            os._exit(0)
        os.waitpid(child, 0)
        os.close(write)
        with os.fdopen(read) as pipe:
            self.assertEqual(pipe.read(), "this Device belongs to the process that opened its device\n"
                                          "this Tensor belongs to the process that opened its device")
        np.testing.assert_array_equal(tensor.numpy(), self.x)


class TestArguments(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dev = qgen.Device()
        cls.x = np.arange(-16, 16, dtype=np.float32).reshape(4, 8)

    def refused(self, words, call):
        with self.assertRaises(qgen.InvalidArgument) as caught:
            call()
        self.assertIn(words, str(caught.exception))

    def test_big_endian_arrays_are_converted(self):
        swapped = self.x.astype(">f4")
        np.testing.assert_array_equal(self.dev.softmax(swapped), self.dev.softmax(self.x))
        np.testing.assert_array_equal(self.dev.tensor(swapped).numpy(), self.x)

    def test_an_array_of_no_dimension_is_a_number(self):
        codes = np.arange(-16, 16, dtype=np.int8).reshape(4, 8)
        np.testing.assert_array_equal(self.dev.q8ta_relu(codes, input_scale=np.array(1.0), output_scale=1),
                                      np.maximum(codes, 0))

    def test_wrong_kinds_are_named(self):
        run, x = self.dev.run, self.x
        self.refused("the inputs are NoneType", lambda: run("softmax", None))
        self.refused("the inputs are list", lambda: run("softmax", [x]))
        self.refused("the operator is NoneType", lambda: run(None, {"input": x}))
        self.refused("the name of an input is int 3", lambda: run("softmax", {3: x}))
        self.refused("the kernel is int 3", lambda: run("softmax", {"input": x}, kernel=3))
        self.refused("'input' is no array", lambda: self.dev.softmax([[1, 2], [3]]))
        self.refused("'input' has an integer that int32 lacks", lambda: self.dev.softmax([[1, 2**32 + 1]]))
        self.refused("'output' is an output", lambda: self.dev.softmax(x, output=np.zeros_like(x)))
        self.refused("must be a qgen.Device", lambda: qgen.Model(MODEL, "cpu"))
        self.refused("the graph has no input 'nope'", lambda: qgen.Model(MODEL, self.dev).run({"nope": x}))

    def test_a_nul_ends_no_text(self):
        self.refused("has a NUL", lambda: qgen.Device("0\0"))
        self.refused("has a NUL", lambda: qgen.Model(MODEL + "\0", self.dev))
        self.refused("has a NUL", lambda: self.dev.run("softmax", {"input": self.x}, kernel="\0"))
        self.refused("UTF-8", lambda: qgen.Device("\udcff"))

    def test_a_pipe_is_no_model(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(os.path.join(folder, "pipe"))
            self.refused("it is a named pipe", lambda: qgen.Model(os.path.join(folder, "pipe"), self.dev))

    def test_a_store_that_is_not_there(self):
        with self.assertRaisesRegex(qgen.NotFound, "there is no store 'nope'"):
            self.dev.use_times("nope")
        self.refused("must be a path", lambda: self.dev.use_times(None))

    def test_a_field_takes_a_number_of_its_type(self):
        from qgen._kernels import _packed
        described = {"problem": [{"name": "n", "type": "u32", "count": 1}, {"name": "a", "type": "f32", "count": 1}]}
        members = [{"field": "n", "offset": 0, "bytes": 4}, {"field": "a", "offset": 4, "bytes": 4}]
        self.assertEqual(_packed(described, members, {"n": np.int64(3), "a": 1}), b"\3\0\0\0\0\0\x80?")
        for n, a, name in ((8.5, 1, "n"), (-1, 1, "n"), ("x", 1, "n"), (1, "x", "a"), (1, None, "a")):
            self.refused(f"problem field '{name}'", lambda n=n, a=a: _packed(described, members, {"n": n, "a": a}))

    def test_only_finite_values_are_quantized(self):
        for values in ([np.nan], [np.inf, 1], [1e39], None):
            self.refused("NaN or infinite", lambda values=values: qgen.quantize(values))


@contextlib.contextmanager
def decimal_commas(test):
    """Numbers have commas in C, as a German program sets it."""
    with tempfile.TemporaryDirectory() as folder:
        made = shutil.which("localedef") and subprocess.run(
            ["localedef", "-i", "de_DE", "-f", "UTF-8", f"{folder}/de_DE.UTF-8"], capture_output=True)
        if not made or made.returncode != 0: test.skipTest("localedef makes no locale")
        with unittest.mock.patch.dict(os.environ, LOCPATH=folder):
            locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
            try: yield
            finally: locale.setlocale(locale.LC_ALL, "C")


class TestModel(unittest.TestCase):
    def test_programs_may_have_decimal_commas(self):
        model = qgen.Model(MODEL)
        (name, (dtype, shape)), = model.inputs.items()
        picture = np.zeros([1 if side < 0 else side for side in shape], dtype)
        with decimal_commas(self):
            self.assertEqual(locale.localeconv()["decimal_point"], ",")
            self.assertTrue(all(step.us > 0 for step in model.profile({name: picture})))
            outputs = model.run({name: picture})
            with tempfile.TemporaryDirectory() as folder:
                model.save(f"{folder}/scenes.qgen")
                again = qgen.Model(f"{folder}/scenes.qgen", model.device).run({name: picture})
            for output in outputs: np.testing.assert_array_equal(again[output], outputs[output])
            self.assertEqual(qgen.Device().q8ta_quantize(np.ones(4, np.float32), output_scale=0.5).tolist(), [2] * 4)

    def test_run_explain_profile_save(self):
        model = qgen.Model(MODEL)
        (name, (dtype, shape)), = model.inputs.items()
        picture = np.random.default_rng(3).random([1 if side < 0 else side for side in shape]).astype(dtype)
        outputs = model.run({name: picture})
        self.assertEqual(list(outputs), model.outputs)
        steps = model.profile({name: picture})
        self.assertEqual([step.kernel for step in steps], [step.kernel for step in model.explain({name: picture})])
        self.assertTrue(all(step.us > 0 for step in steps))
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "scenes.qgen"
            model.save(file)
            again = qgen.Model(file, model.device).run({name: picture})
        for output in outputs:
            np.testing.assert_array_equal(again[output], outputs[output])

    def test_a_file_that_is_no_model(self):
        with self.assertRaises(qgen.Error) as caught:
            qgen.Model(__file__)
        self.assertIn(__file__, caught.exception.message)


class TestGenerator(unittest.TestCase):
    ENCODED = ROOT / "tests/runtime/models/graph/language_models/encoded.onnx"
    FILE = ROOT / "tests/runtime/models/graph/language_models/int4.onnx"
    PROMPTS = [[1, 2, 3, 4, 5], [7, 8]]
    TOKENS = [[13, 19, 65, 58, 23, 76], [40, 50, 59, 21, 22, 80]]  # as in generator_test.cpp

    def test_tokens(self):
        generator = qgen.Generator(self.FILE, capacity=10)
        self.assertEqual(generator.vocabulary, 96)
        self.assertEqual(generator.generate(self.PROMPTS, max_tokens=6), self.TOKENS)
        self.assertEqual(generator.generate(self.PROMPTS, max_tokens=6, end=[65, 50]), [[13, 19, 65], [40, 50]])
        self.assertEqual(list(generator.stream(self.PROMPTS[0], max_tokens=6)), self.TOKENS[0])
        self.assertEqual(list(generator.stream(self.PROMPTS[0], end=[65])), self.TOKENS[0][:3])
        drawn = list(generator.stream(self.PROMPTS[0], max_tokens=6, top_k=8, temperature=2, seed=7))
        self.assertEqual(generator.generate(self.PROMPTS[:1], 6, top_k=8, temperature=2, seed=7), [drawn])

    def test_inputs_that_stay(self):
        generator = qgen.Generator(self.ENCODED, capacity=10)
        states = (2 * np.sin(0.37 * np.arange(112))).astype(np.float32).reshape(1, 7, 16)
        inputs = {"encoder_hidden_states": states, "encoder_attention_mask": np.ones((1, 7), np.int32)}
        expected = [32, 46, 46, 27, 32, 46]  # as in generator_test.cpp
        with self.assertRaises(qgen.InvalidArgument) as caught: generator.generate([[1, 2, 3]], max_tokens=6)
        self.assertEqual(caught.exception.message, "input 'encoder_attention_mask' is not set")
        self.assertEqual(generator.generate([[1, 2, 3]], max_tokens=6, inputs=inputs), [expected])
        self.assertEqual(generator.generate([[1, 2, 3]], max_tokens=6), [expected])
        masked = {**inputs, "encoder_attention_mask": np.array([[1, 1, 1, 1, 1, 0, 0]], np.int32)}
        self.assertEqual(list(generator.stream([1, 2, 3], max_tokens=6, inputs=masked)), [22, 32, 46, 32, 11, 32])
        merged = qgen.Generator(self.ENCODED.with_name("merged.onnx"), capacity=10)  # two branches
        self.assertEqual(merged.generate([[1, 2, 3]], max_tokens=6, inputs=inputs), [expected])
        generator.set_inputs(inputs)
        self.assertEqual(list(generator.stream([1, 2, 3], max_tokens=6)), expected)
        with self.assertRaises(qgen.InvalidArgument) as caught: generator.set_inputs({"encoder_hidden_states": states})
        self.assertEqual(caught.exception.message, "input 'encoder_attention_mask' is missing")

    def test_tokens_while_they_come(self):
        generator, heard = qgen.Generator(self.FILE, capacity=10), []

        def hear(sequence, token):
            heard.append((sequence, token))
            return (sequence, token) != (1, 50)

        self.assertEqual(generator.generate(self.PROMPTS, max_tokens=6, on_token=hear), [self.TOKENS[0], [40, 50]])
        self.assertEqual([token for sequence, token in heard if sequence == 0], self.TOKENS[0])
        self.assertEqual([token for sequence, token in heard if sequence == 1], [40, 50])

        def fail(sequence, token): raise KeyError(token)

        with self.assertRaises(KeyError) as caught: generator.generate(self.PROMPTS, on_token=fail, max_tokens=6)
        self.assertEqual(caught.exception.args, (13,))
        self.assertEqual(generator.generate([[1, 2, 3, 4, 5]], max_tokens=6), self.TOKENS[:1])
        with self.assertRaises(qgen.InvalidArgument) as caught: generator.generate(self.PROMPTS, max_tokens=0)
        self.assertEqual(caught.exception.message, "max_tokens is 0, and must be from 1 to 16777216")

    def test_numbers_are_not_wrapped(self):
        generator, prompt = qgen.Generator(self.FILE, capacity=10), [1, 2, 3]

        def refused(call, *arguments, **named):
            with self.assertRaises(qgen.InvalidArgument) as caught: call(*arguments, **named)
            return caught.exception.message

        for token in (2**32 + 1, -1):
            self.assertEqual(refused(generator.generate, [[token]]), f"a token is {token}, and must be from 0 to 2147483647")
            refused(generator.generate, [prompt], end=[token])
            refused(generator.feed, [[token]])
        for top_k in (-1, 2**32): refused(generator.generate, [prompt], top_k=top_k)
        for seed in (-1, 2**64): refused(generator.generate, [prompt], top_k=0, seed=seed)
        for temperature in (0, -1, 1e-40, 1e300, float("nan")):
            refused(generator.generate, [prompt], top_k=0, temperature=temperature)
            refused(lambda: list(generator.stream(prompt, top_k=0, temperature=temperature)))
        self.assertEqual(refused(generator.generate, [prompt], max_tokens=2**40),
                         "max_tokens is 1099511627776, and must be from 1 to 16777216")
        for number in (-1, 2**64):
            refused(generator.start, number)
            refused(lambda: list(generator.stream(prompt, max_tokens=number)))
            refused(generator.end, number)
            refused(qgen.Generator, self.FILE, capacity=number)
            refused(qgen.Generator, self.FILE, capacity=10, cache="paged", block_size=number)
            refused(qgen.Generator, self.FILE, capacity=10, cache="paged", blocks=number)
        self.assertEqual(generator.generate(self.PROMPTS[:1], max_tokens=6), self.TOKENS[:1])

    def test_refused_prompts_change_no_sequences(self):
        generator = qgen.Generator(self.FILE, capacity=10)
        generator.start(64)
        generator.feed([[1]] * 64)
        first = generator.next()
        self.assertEqual(len(first), 64)
        for wrong in ({"prompts": [[-1]]}, {"prompts": [[1]], "end": [-1]}, {"prompts": [[1]], "top_k": -1}):
            with self.assertRaises(qgen.InvalidArgument): generator.generate(**wrong)
            self.assertEqual(generator.next(), first)
        with self.assertRaises(qgen.InvalidArgument) as caught: generator.start(2**20 + 1)
        self.assertEqual(caught.exception.message, "the number of sequences is 1048577, and must be from 0 to 1048576")

    def test_many_new_tokens_take_no_memory(self):
        generator = qgen.Generator(self.FILE, capacity=10)
        with self.assertRaises(qgen.InvalidArgument) as caught: generator.generate([[1]] * 2**16, max_tokens=2**24)
        self.assertIn("the cache is too small: a prompt of 1 tokens and 16777216 new ones", caught.exception.message)

    def test_an_int8_cache(self):
        generator = qgen.Generator(self.FILE, capacity=10, cache="int8")
        tokens = generator.generate(self.PROMPTS, max_tokens=6)
        self.assertEqual(tokens, generator.generate(self.PROMPTS, max_tokens=6))
        self.assertEqual([row[:1] for row in tokens], [row[:1] for row in self.TOKENS])
        with self.assertRaises(ValueError) as caught: qgen.Generator(self.FILE, cache="int4")
        self.assertEqual(str(caught.exception), "cache is 'int4', and must be one of model, int8, paged, paged_int8")

    def test_a_paged_cache(self):
        generator = qgen.Generator(self.FILE, capacity=10, cache="paged", block_size=4, blocks=5)
        self.assertEqual(generator.generate(self.PROMPTS, max_tokens=6), self.TOKENS)
        with self.assertRaises(qgen.InvalidArgument) as caught: generator.generate(self.PROMPTS, max_tokens=8)
        self.assertEqual(caught.exception.message, "the cache is too small: a prompt of 5 tokens and 8 new ones need room for "
                         "12 tokens, and it has room for 10")
        generator = qgen.Generator(self.FILE, capacity=10, cache="paged", block_size=4, blocks=4)
        with self.assertRaises(qgen.InvalidArgument) as caught: generator.generate(self.PROMPTS, max_tokens=6)
        self.assertEqual(caught.exception.message, "the pool has 4 blocks of 4 tokens, and the sequences need 5 blocks")

    def test_a_sequence_that_has_ended_gives_its_blocks_back(self):
        generator = qgen.Generator(self.FILE, capacity=10, cache="paged", block_size=4, blocks=3)
        self.assertEqual(generator.generate(self.PROMPTS, max_tokens=6, end=[50]), [self.TOKENS[0], [40, 50]])
        with self.assertRaises(qgen.InvalidArgument) as caught: generator.end(2)
        self.assertEqual(caught.exception.message, "there is no sequence 2: 2 were started")

    def test_a_paged_int8_cache(self):
        whole = qgen.Generator(self.FILE, capacity=10, cache="int8").generate(self.PROMPTS, max_tokens=6)
        generator = qgen.Generator(self.FILE, capacity=10, cache="paged_int8", block_size=4, blocks=5)
        self.assertEqual(generator.generate(self.PROMPTS, max_tokens=6), whole)

    def test_a_full_cache(self):
        generator = qgen.Generator(self.FILE, capacity=6)
        with self.assertRaises(qgen.InvalidArgument) as caught:
            generator.generate(self.PROMPTS[:1], max_tokens=6)
        self.assertIn("the cache is too small", caught.exception.message)
        generator.start(1)
        with self.assertRaises(qgen.InvalidArgument): generator.generate([[1]] * 4, max_tokens=9)
        generator.feed([[1]] * 4)  # it has started with four sequences
        self.assertEqual(len(generator.next()), 4)
        with self.assertRaises(qgen.InvalidArgument) as caught: list(generator.stream(self.PROMPTS[0], max_tokens=6))
        self.assertIn("the cache is full", caught.exception.message)

    def test_a_file_is_named_once(self):
        for load in (qgen.Generator, qgen.Model):
            with self.assertRaises(qgen.NotFound) as caught: load("nope")
            self.assertEqual(caught.exception.message, "cannot read nope: No such file or directory")
        with tempfile.NamedTemporaryFile(prefix="attribute", dir=".") as file:
            name = os.path.basename(file.name)
            for load in (qgen.Generator, qgen.Model):
                with self.assertRaises(qgen.Error) as caught: load(name)
                self.assertEqual(caught.exception.message.count(name), 1)

    def test_a_model_that_is_none(self):
        with self.assertRaises(qgen.Error) as caught:
            qgen.Generator(MODEL)
        self.assertIn("the model has no states", caught.exception.message)


class TestTuning(unittest.TestCase):
    def test_a_problem_has_inputs(self):
        with self.assertRaisesRegex(qgen.InvalidArgument, "'softmax' is given no inputs"):
            qgen.tune("softmax", {}, budget=1)

    def test_times_are_chosen_by(self):
        x = np.ones((16, 64), np.int8)
        scales = {"input_scale": 0.5, "output_scale": 0.5}
        with tempfile.TemporaryDirectory() as folder:
            store = pathlib.Path(folder) / "store.sqlite"
            shown = io.StringIO()
            with contextlib.redirect_stderr(shown):
                rows = qgen.tune("q8ta_relu", {"input": x}, scales, budget=5, store=store, progress=True)
            self.assertIn("of 5 s", shown.getvalue())
            self.assertEqual(rows.best.us, min(row.us for row in rows))
            self.assertTrue(all(row.low <= row.us <= row.high for row in rows))
            dev = qgen.Device()
            times = dev.times(store)
            if shutil.which("localedef"):
                with decimal_commas(self): self.assertEqual(dev.times(store), times)
            self.assertLessEqual({row.kernel for row in rows}, {kernel for _, kernel, _ in times})
            self.assertTrue(all(problem.startswith("q8ta_unary ") for problem, _, _ in times))
            dev.use_times(store)
            self.assertIn("measured", dev.explain("q8ta_relu", {"input": x}, scales))

    @unittest.skipUnless("QGEN_TUNE" in os.environ, "no QGEN_TUNE")
    def test_a_list_of_problems(self):
        x8, scales = np.zeros((2, 4096), np.int8), {"input_scale": 1, "output_scale": 1}
        problems = [("softmax", {"input": np.ones((4, 64), np.float32)}), ("q8ta_relu", {"input": x8}, scales)]
        with tempfile.TemporaryDirectory() as folder:
            store, shown = pathlib.Path(folder) / "store.sqlite", io.StringIO()
            with contextlib.redirect_stderr(shown):
                tuned = qgen.tune(problems, budget=8, store=store, progress=True)
        self.assertIn("problem 2 of 2: q8ta_relu", shown.getvalue())
        self.assertEqual([times.problem.split()[0] for times in tuned], ["softmax", "q8ta_relu"])
        self.assertTrue(tuned[0].best.kernel.startswith("softmax."))
        self.assertTrue(tuned[1].best.kernel.startswith("q8ta_unary."))
        self.assertIn("q8ta_relu input=2x4096:i8", str(tuned))
        self.check_drawing(tuned)

    def test_a_budget_that_is_used_up(self):
        """Each problem has a second, which is qgen-tune's least."""
        problems = [("softmax", {"input": np.ones((4, 64), np.float32)})] * 3
        with tempfile.TemporaryDirectory() as folder:
            program, asked = pathlib.Path(folder, "tuner"), pathlib.Path(folder, "asked")
            program.write_text(f'#!/bin/sh\necho "$@" >>{asked}\nsleep 0.3\n')
            program.chmod(0o755)
            tuned = qgen.tune(problems, budget=0.5, store=pathlib.Path(folder, "store"), program=str(program))
            self.assertEqual(asked.read_text().count("--budget 1.0 "), 3)
        self.assertEqual([list(times) for times in tuned], [[], [], []])

    def check_drawing(self, tuned):
        """The bars are as long as the times, and each has its kernel's name."""
        try:
            import matplotlib
        except ImportError:
            return
        matplotlib.use("Agg")
        axes = tuned.plot()
        self.assertEqual(len(axes), len(tuned))
        for times, of in zip(tuned, axes):
            self.assertEqual([bar.get_width() for bar in of.patches], [row.us for row in times])
            self.assertEqual([label.get_text() for label in of.get_yticklabels()], [row.kernel for row in times])
            self.assertEqual(of.get_title(), times.problem)

    def test_wrong_arguments(self):
        with self.assertRaises(qgen.NotFound):
            qgen.tune("softmax", {}, program="/nowhere/qgen-tune")
        with self.assertRaises(qgen.InvalidArgument) as caught:
            qgen.tune([("softmax", {})], {"input": 1}, program="true")
        self.assertIn("a list of problems has their inputs in it", caught.exception.message)
        with self.assertRaises(qgen.InvalidArgument) as caught:
            qgen.tune("softmx", {"input": np.ones((2, 2), np.float32)}, budget=1)
        self.assertIn("softmx", caught.exception.message)

    def test_rows(self):
        rows = qgen.Times([qgen.Time("slow", 3.0, 2.0, 4.0), qgen.Time("fast", 1.0, 0.5, 2.0)], {"bad": "it is wrong"})
        self.assertEqual(rows.best.kernel, "fast")
        words = "1.00 us 0.50 to 2.00 fast 3.00 us 2.00 to 4.00 slow left out bad: it is wrong"
        self.assertEqual(str(rows).split(), words.split())
        with self.assertRaises(qgen.NotFound):
            qgen.Times([], {"bad": "it is wrong"}).best
        try:
            import matplotlib
        except ImportError:
            with self.assertRaises(qgen.NotFound):
                rows.plot()
        else:
            matplotlib.use("Agg")
            self.assertEqual(len(rows.plot().patches), 2)


SPEC = """
operator: scale
template: scale.comp
operands:
  x: {access: read,  dtype: $dtype}
  y: {access: write, dtype: $dtype}
problem:
  numel: u32
  factor: f32
parameters:
  dtype: [f32, f16]
  vec: [1, 4]
specialization:
  workgroup: [64, 256]
applies_when: [numel % vec == 0]
grid: [ceil_div(numel, vec * workgroup), 1, 1]
"""
TEMPLATE = """#version 450
${extensions()}
${local_size(workgroup)}
${declare(x, vec)}
${declare(y, vec)}
${declare_problem()}
void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i >= problem.numel / ${vec}) return;
$if dtype == f16
  y_data[i] = float16_t(problem.factor) * x_data[i];
$else
  y_data[i] = problem.factor * x_data[i];
$end
}
"""


class TestOwnKernels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.own = qgen.load(SPEC, {"scale.comp": TEMPLATE})

    def call(self, count=1000, dtype=np.float32):
        x = np.arange(count).astype(dtype)
        return self.own["scale"].bind({"x": x, "y": np.empty_like(x)}, numel=count, factor=3)

    def test_run_check_time_tune(self):
        call = self.call()
        np.testing.assert_array_equal(call.run()["y"], 3 * np.arange(1000))
        call.check(lambda x: 3 * x)
        self.assertGreater(call.time(runs=3).us, 0)
        self.assertEqual(len(call.kernels), 4)
        self.assertIn("takes f16", call.refused["scale.f16.vec1/workgroup64"])
        rows = call.tune(lambda x: 3 * x, budget=2)
        self.assertEqual((len(rows), rows.wrong), (4, {}))
        self.assertEqual(call.kernels[0], rows.best.kernel)

    def test_conditions_are_read(self):
        call = self.call(1001)
        self.assertEqual(call.kernels, ["scale.f32.vec1/workgroup64", "scale.f32.vec1/workgroup256"])
        self.assertEqual(call.refused["scale.f32.vec4/workgroup64"], "numel % vec == 0 does not hold")
        np.testing.assert_array_equal(call.run()["y"], 3 * np.arange(1001))
        with self.assertRaises(qgen.NotFound) as caught:
            call.run("scale.f32.vec4/workgroup64")
        self.assertIn("does not hold", caught.exception.hint)

    def test_a_wrong_kernel_is_found(self):
        call = self.call()
        with self.assertRaises(qgen.InvalidArgument) as caught:
            call.check(lambda x: x)
        self.assertIn("999 of 1000 elements of 'y' are wrong: at [1] is 3.0", caught.exception.message)
        rows = call.tune(lambda x: x, budget=1)
        self.assertEqual((len(rows), len(rows.wrong)), (0, 4))
        with self.assertRaises(qgen.NotFound):
            call.run()

    def test_wrong_arguments(self):
        x = np.ones(4, np.float32)
        scale = self.own["scale"]
        for arrays, problem, words in (({"x": x}, {"numel": 4, "factor": 1}, "operand 'y' of 'scale' is missing"),
                                       ({"x": x, "y": x}, {"numel": 4}, "problem field 'factor' of 'scale' is missing"),
                                       ({"x": x, "y": x}, {"numel": 4, "factor": 1, "z": 1},
                                        "problem field 'z' of 'scale' is unknown"),
                                       ({"x": x, "y": x}, {"numel": -4, "factor": 1}, "problem field 'numel' is -4")):
            with self.assertRaises(qgen.InvalidArgument) as caught:
                scale.bind(arrays, **problem)
            self.assertIn(words, caught.exception.message)
        with self.assertRaises(qgen.Unsupported) as caught:
            scale.bind({"x": x.astype(np.int8), "y": x}, numel=4, factor=1)
        self.assertIn("'x' is i8", caught.exception.hint)
        with self.assertRaises(qgen.NotFound):
            self.own["scael"]
        with self.assertRaises(qgen.InvalidArgument) as caught:
            qgen.load(SPEC.replace("[1, 4]", "[1, 4"), {"scale.comp": TEMPLATE})
        self.assertIn("this bracket is never closed", caught.exception.message)
        with self.assertRaises(qgen.InvalidArgument):
            qgen.load("specs", {"scale.comp": TEMPLATE})

    def test_reload(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            shutil.copytree(ROOT / "examples/reload", folder / "scale")
            own = qgen.load(folder / "scale/specs")
            x = np.ones(8, np.float32)
            bind = lambda: own["scale"].bind({"x": x, "y": np.empty_like(x)}, numel=8)
            before = bind()
            self.assertEqual(own.reload(), 0)
            template = folder / "scale/templates/scale.comp"
            text = template.read_text()
            template.write_text(text.replace("2.0 * x_data", "5.0 * x_data"))
            self.assertEqual(own.reload(), 2)
            self.assertEqual((before.run()["y"][0], bind().run()["y"][0]), (2, 5))
            template.write_text(text.replace("2.0 * x_data", "nothing * x_data"))
            with self.assertRaises(qgen.InvalidArgument) as caught:
                own.reload()
            self.assertIn("'nothing': undeclared identifier", caught.exception.message)
            self.assertEqual(bind().run()["y"][0], 5)

    def test_expressions(self):
        from qgen._expression import evaluate
        names = {"n": 7, "vec": 4, "dtype": "f16", "tile.rows": 2, "device.subgroup_size": 8}
        for text, value in (("ceil_div(n, vec)", 2), ("n / vec", 1), ("-7 / 2", -3), ("-7 % 2", -1), ("n / 0", 0),
                            ("n % 0", 0), ("n / 2.0", 3.5), ("dtype == f16 and not vec == 1", True),
                            ("dtype in (f32, f16)", True), ("dtype in (f32)", False), ("bytes(dtype) * tile.rows", 4),
                            ("choose(n > vec, min(n, 3), max(n, 3))", 3), ("device.subgroup_size", 8)):
            self.assertEqual(evaluate(text, names), value, text)
        for text in ("open(n)", "occupancy(n)", "n if vec else n", "n +"):
            with self.assertRaises(qgen.Unsupported):
                evaluate(text, names)


class TestReload(unittest.TestCase):
    """Of shipped kernels, from an edited template."""

    def test_reload(self):
        dev = qgen.Device()
        x = np.array([[0, 1, 2, 3]], np.float32)
        before = dev.softmax(x)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            shutil.copytree(ROOT / "templates", folder / "templates")
            template = folder / "templates/lib/softmax_vectors.glsl"
            text = template.read_text()
            self.assertIn("difference >= -87.0", text)
            template.write_text(text.replace("difference >= -87.0", "difference >= -1.5"))
            options = ["--filter", "softmax.f32*"]
            qgen.generate(ROOT / "specs", folder / "out", templates=folder / "templates", options=options)
            blob = folder / "out/kernels.blob"
            self.assertGreater(dev.reload(blob), 0)
            after = dev.softmax(x)
            np.testing.assert_array_equal(after == 0, [[True, True, False, False]])
            self.assertTrue((before > 0).all())
            self.assertEqual(dev.reload(blob), 0)
            blob.write_bytes(blob.read_bytes()[:-1])
            with self.assertRaises(qgen.InvalidArgument) as caught:
                dev.reload(blob)
            self.assertIn("damaged", caught.exception.message)
            with self.assertRaises(qgen.NotFound):
                dev.reload(folder / "no.blob")
        np.testing.assert_array_equal(dev.softmax(x), after)


class TestQuantizeModel(unittest.TestCase):
    FOLDER = ROOT / "tests/runtime/models/graph/field_tests/symbolic_residual_add"

    def test_noise(self):
        sample = np.load(self.FOLDER / "x.input.npy")
        with tempfile.TemporaryDirectory() as folder:
            quantized = qgen.quantize_model(self.FOLDER / "model.onnx", f"{folder}/int8.onnx", [{"x": sample}])
            self.assertTrue(quantized.file.exists())
        self.assertEqual([layer.op for layer in quantized.layers], ["Conv", "Conv"])
        self.assertTrue(all(layer.input_db > 30 and layer.weight_db > 30 for layer in quantized.layers))
        self.assertGreater(quantized.outputs_db, 30)

    def test_wrong_arguments(self):
        with self.assertRaises(qgen.InvalidArgument):
            qgen.quantize_model(self.FOLDER / "model.onnx", "not_written.onnx", [], method="best")


class TestExamples(unittest.TestCase):
    """The notebooks of examples/python, as scripts."""

    def test_run(self):
        examples = sorted((ROOT / "examples/python").glob("*.py"))
        self.assertEqual(len(examples), 4)
        for example in examples:
            with self.subTest(example.name):
                ran = subprocess.run([sys.executable, example], cwd=ROOT, capture_output=True, text=True, check=False)
                self.assertEqual(ran.returncode, 0, ran.stderr)


class TestPackage(unittest.TestCase):
    def run_without_loader(self, code):
        """The dynamic linker finds empty files in the place of libvulkan."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("libvulkan.so.1", "libvulkan.so"):
                (pathlib.Path(folder) / name).touch()
            return subprocess.run([sys.executable, "-c", code], env=dict(os.environ, LD_LIBRARY_PATH=folder),
                                  capture_output=True, text=True, check=True)

    def test_import_opens_no_vulkan(self):
        code = "import qgen; print('libvulkan' in open('/proc/self/maps').read())"
        self.assertEqual(self.run_without_loader(code).stdout, "False\n")

    def test_a_device_needs_a_loader(self):
        code = "import qgen\ntry: qgen.Device()\nexcept qgen.Error as error: print(type(error).__name__, error.message)"
        self.assertIn("no Vulkan loader", self.run_without_loader(code).stdout)

    def test_import_takes_no_more_than_numpy(self):
        """What qgen adds to NumPy's import takes less processor time than NumPy's own, whatever else the machine does."""
        code = ("import time; a = time.process_time(); import numpy; b = time.process_time(); import qgen; "
                "print((time.process_time() - b) / (b - a))")
        ratios = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
                  for _ in range(5)]
        self.assertLess(min(ratios), 1)

    def test_types(self):
        checker = shutil.which("mypy")
        if not checker:
            self.skipTest("there is no mypy")
        with tempfile.TemporaryDirectory() as folder:  # mypy does not check a package where it is installed
            package = pathlib.Path(folder, "qgen")
            shutil.copytree(pathlib.Path(qgen.__file__).parent, package, ignore=shutil.ignore_patterns("lib*", "__pycache__"))
            checked = subprocess.run([checker, "--strict", "--cache-dir", os.devnull, package], capture_output=True,
                                     text=True, check=False)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_report_without_a_loader(self):
        told = self.run_without_loader("import runpy; runpy.run_module('qgen.report', run_name='__main__')").stdout
        self.assertIn("no device: ", told)
        self.assertIn("loader: ", told)

    def test_report(self):
        told = subprocess.run([sys.executable, "-m", "qgen.report"], capture_output=True, text=True, check=True)
        self.assertRegex(told.stdout, r"^qgen [0-9.]+, library .*\n(.*\n)*device 0: ")
        for program in ("qgen", "qgen-tune", "qgen-model"):
            self.assertRegex(told.stdout, rf"(?m)^program {program}: /")

    def test_quantize(self):
        values = np.array([[1.0, -0.5], [0.0, 0.0]], np.float32)
        codes, scales = qgen.quantize(values)
        np.testing.assert_array_equal(codes, [[127, -64], [0, 0]])
        np.testing.assert_allclose(scales, [1 / 127, 1])
        self.assertEqual(qgen.quantize(values, axis=None, bits=4)[0].max(), 7)


if __name__ == "__main__":
    unittest.main()
