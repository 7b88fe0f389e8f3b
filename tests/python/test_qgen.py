# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""The Python package on a driver. MODEL is examples/picture/scenes.onnx."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import qgen

MODEL = os.environ["QGEN_TEST_MODEL"]


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


class TestModel(unittest.TestCase):
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
    FILE = pathlib.Path(MODEL).resolve().parents[2] / "tests/runtime/models/graph/language_models/int4.onnx"
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

    def test_a_full_cache(self):
        generator = qgen.Generator(self.FILE, capacity=6)
        with self.assertRaises(qgen.InvalidArgument) as caught:
            generator.generate(self.PROMPTS[:1], max_tokens=6)
        self.assertIn("the cache is full", caught.exception.message)

    def test_a_model_that_is_none(self):
        with self.assertRaises(qgen.Error) as caught:
            qgen.Generator(MODEL)
        self.assertIn("the model has no states", caught.exception.message)


class TestTuning(unittest.TestCase):
    def test_times_are_chosen_by(self):
        x = np.ones((16, 64), np.int8)
        scales = {"input_scale": 0.5, "output_scale": 0.5}
        with tempfile.TemporaryDirectory() as folder:
            store = str(pathlib.Path(folder) / "store.sqlite")
            qgen.tune("q8ta_relu", {"input": x}, scales, budget=5, store=store)
            dev = qgen.Device()
            times = dev.times(store)
            self.assertTrue(all(problem.startswith("q8ta_unary ") for problem, _, _ in times))
            dev.use_times(store)
            self.assertIn("measured", dev.explain("q8ta_relu", {"input": x}, scales))

    def test_no_program(self):
        with self.assertRaises(qgen.NotFound):
            qgen.tune("softmax", {}, program="/nowhere/qgen-tune")


class TestPackage(unittest.TestCase):
    def run_without_loader(self, code):
        environment = dict(os.environ, VK_LOADER_PATH="", QGEN_VULKAN_LOADER="/nowhere")
        return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)

    def test_import_opens_no_vulkan(self):
        code = "import qgen; print('libvulkan' in open('/proc/self/maps').read())"
        self.assertEqual(self.run_without_loader(code).stdout, "False\n")

    def test_report(self):
        told = subprocess.run([sys.executable, "-m", "qgen.report"], capture_output=True, text=True, check=True)
        self.assertRegex(told.stdout, r"^qgen [0-9.]+, library .*\n(.*\n)*device 0: ")

    def test_quantize(self):
        values = np.array([[1.0, -0.5], [0.0, 0.0]], np.float32)
        codes, scales = qgen.quantize(values)
        np.testing.assert_array_equal(codes, [[127, -64], [0, 0]])
        np.testing.assert_allclose(scales, [1 / 127, 1])
        self.assertEqual(qgen.quantize(values, axis=None, bits=4)[0].max(), 7)


if __name__ == "__main__":
    unittest.main()
