#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A model's first output by ONNX Runtime on the CPU, with its graph optimisations off, so that every node computes what
// ONNX says of it and nothing is fused.
//
//   npm install --ignore-scripts onnxruntime-node        # --ignore-scripts: without its download for GPUs
//   bench/models/run_onnxruntime.js model.onnx input.npy output.npy [--optimised] [--time N] [--threads N]
const fs = require('fs');
const ort = require('onnxruntime-node');

// Little-endian float32 in row-major order, which is what make_models.py writes.
function readNpy(path) {
  const file = fs.readFileSync(path);
  const headerBytes = file[6] === 1 ? file.readUInt16LE(8) : file.readUInt32LE(8);
  const begin = (file[6] === 1 ? 10 : 12) + headerBytes;
  const header = file.toString('latin1', 0, begin);
  if (!header.includes("'descr': '<f4'") || !header.includes("'fortran_order': False"))
    throw new Error(`${path}: it is no array of float32 in row-major order`);
  const shape = header.match(/'shape': \(([^)]*)\)/)[1].split(',').filter((side) => side.trim()).map(Number);
  return new ort.Tensor('float32', new Float32Array(file.buffer.slice(file.byteOffset + begin)), shape);
}

function writeNpy(path, tensor) {
  const descr = {float32: '<f4', int8: '|i1', uint8: '|u1', int32: '<i4', int64: '<i8'}[tensor.type];
  const shape = tensor.dims.length === 1 ? `(${tensor.dims[0]},)` : `(${tensor.dims.join(', ')})`;
  let header = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${shape}, }`;
  header += ' '.repeat(63 - ((10 + header.length) % 64)) + '\n';
  const head = Buffer.concat([Buffer.from('\x93NUMPY\x01\x00', 'latin1'), Buffer.from([header.length & 255, header.length >> 8])]);
  const data = Buffer.from(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength);
  fs.writeFileSync(path, Buffer.concat([head, Buffer.from(header, 'latin1'), data]));
}

async function main() {
  const args = process.argv.slice(2);
  const valueOf = (flag, otherwise) => (args.includes(flag) ? Number(args.splice(args.indexOf(flag), 2)[1]) : otherwise);
  const times = valueOf('--time', 0), threads = valueOf('--threads', 0);
  const isOptimised = args.includes('--optimised');
  const [model, input, output] = args.filter((arg) => !arg.startsWith('--'));
  if (!output) throw new Error('usage: run_onnxruntime.js MODEL INPUT OUTPUT [--optimised] [--time N] [--threads N]');
  const session = await ort.InferenceSession.create(
      model, {graphOptimizationLevel: isOptimised ? 'all' : 'disabled', intraOpNumThreads: threads});
  const feeds = {[session.inputNames[0]]: readNpy(input)};
  const results = await session.run(feeds);
  writeNpy(output, results[session.outputNames[0]]);
  const samples = [];
  for (let i = 0; i < times; ++i) {
    const start = process.hrtime.bigint();
    await session.run(feeds);
    samples.push(Number(process.hrtime.bigint() - start) / 1e6);
  }
  samples.sort((a, b) => a - b);
  if (times > 0) console.log(`${samples[times >> 1].toFixed(2)} ms (median of ${times})`);
}

main().catch((error) => {
  console.error(`run_onnxruntime.js: ${error.message}`);
  process.exit(2);
});
