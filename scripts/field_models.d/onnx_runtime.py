# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Runs ONNX files with onnxruntime-node, without optimizations, and gives the results as NumPy arrays."""
import json
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx

RUN = """
const ort = require("onnxruntime-node"), fs = require("fs");
const asked = JSON.parse(fs.readFileSync(process.argv[2]));
const arrays = {float32: Float32Array, float64: Float64Array, float16: Uint16Array, int64: BigInt64Array,
                uint64: BigUint64Array, int32: Int32Array, uint32: Uint32Array, int16: Int16Array, uint16: Uint16Array,
                uint8: Uint8Array, int8: Int8Array, bool: Uint8Array};
(async () => {
  const options = {graphOptimizationLevel: asked.level, logSeverityLevel: 3};
  if (asked.saved) options.optimizedModelFilePath = asked.saved;
  const session = await ort.InferenceSession.create(asked.model, options);
  const feeds = {};
  for (const input of asked.inputs) {
    const bytes = fs.readFileSync(input.file), kind = arrays[input.type];
    const data = new kind(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    feeds[input.name] = new ort.Tensor(input.type, data, input.dims);
  }
  const said = {};
  if (!asked.saved) {
    const results = await session.run(feeds);
    Object.keys(results).forEach((name, i) => {
      const t = results[name], file = asked.folder + "/said" + i;
      fs.writeFileSync(file, Buffer.from(t.data.buffer, t.data.byteOffset, t.data.byteLength));
      said[name] = {type: t.type, dims: t.dims, file};
    });
  }
  fs.writeFileSync(asked.folder + "/said.json", JSON.stringify(said));
})().catch(e => { console.error(String(e)); process.exit(1); });
"""


class Failed(Exception):
    """ONNX Runtime does not run the model."""


class OnnxRuntime:
    def __init__(self, folder):
        """Installs onnxruntime-node into `folder`/runtime, once."""
        self.folder = pathlib.Path(folder) / "runtime"
        if not (self.folder / "node_modules/onnxruntime-node").is_dir():
            self.folder.mkdir(exist_ok=True)
            subprocess.run(["npm", "install", "--silent", "--ignore-scripts", "onnxruntime-node"], cwd=self.folder, check=True)
        (self.folder / "run.js").write_text(RUN)

    def _call(self, file, arrays, place, **more):
        inputs = []
        for i, (name, array) in enumerate(arrays.items()):
            path = pathlib.Path(place) / f"raw{i}"
            path.write_bytes(np.ascontiguousarray(array).tobytes())
            inputs.append({"name": name, "file": str(path), "type": array.dtype.name, "dims": list(array.shape)})
        asked = {"model": str(file), "inputs": inputs, "folder": str(place), "level": "disabled", **more}
        (pathlib.Path(place) / "asked.json").write_text(json.dumps(asked))
        done = subprocess.run(["node", str(self.folder / "run.js"), f"{place}/asked.json"], capture_output=True, text=True,
                              timeout=900, cwd=self.folder)
        if done.returncode != 0: raise Failed(done.stderr.strip().split("\n")[-1])
        return json.loads((pathlib.Path(place) / "said.json").read_text())

    def run(self, model, arrays):
        """The outputs, by name. `model` is a file or a ModelProto, `arrays` has each input."""
        with tempfile.TemporaryDirectory() as place:
            said = self._call(_file_of(model, place), arrays, place)
            return {name: np.fromfile(it["file"], it["type"]).reshape(it["dims"]) for name, it in said.items()}

    def values(self, model, arrays):
        """Every value that the nodes of the model's main graph compute, by name."""
        changed = onnx.ModelProto()
        changed.CopyFrom(model)
        del changed.graph.output[:]
        seen = set()
        for node in model.graph.node:
            for name in node.output:
                if name and name not in seen: changed.graph.output.append(onnx.ValueInfoProto(name=name))
                seen.add(name)
        return self.run(changed, arrays)

    def optimized(self, model, level):
        """The model as ONNX Runtime saves it after its optimizations of the level, for example "basic"."""
        with tempfile.TemporaryDirectory() as place:
            self._call(_file_of(model, place), {}, place, level=level, saved=f"{place}/saved.onnx")
            return onnx.load(f"{place}/saved.onnx")


def _file_of(model, place):
    if isinstance(model, (str, pathlib.Path)): return model
    onnx.save(model, f"{place}/model.onnx")
    return f"{place}/model.onnx"
