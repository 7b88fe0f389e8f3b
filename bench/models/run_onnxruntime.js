#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Runs a model with ONNX Runtime on the CPU: writes its outputs, or measures its time in turn with qgen-model.
//
// Outputs are computed without graph optimisations, so every node follows ONNX's definition and nothing is fused
// (--optimised switches them on). Times are measured with all optimisations. If OUTPUT is a folder, all outputs are
// written there, as 0.npy, 1.npy ... in the model's order. Otherwise the first output is written to that file.
//
//   npm install --ignore-scripts onnxruntime-node        # --ignore-scripts: without its download for GPUs
//   bench/models/run_onnxruntime.js model.onnx input.npy output.npy [--optimised] [--time N] [--threads N]
//   bench/models/run_onnxruntime.js --beside COMMAND [--time N] [--rounds N] [--threads N] MODEL...
//
// With --beside, ONNX Runtime and qgen-model run each model in turn, on its NAME.input.npy, for some rounds. A round's
// time is the median of N runs after a warm-up run, from call to return. It prints the median, the least and the
// greatest time of the rounds, and ONNX Runtime's time divided by qgen-model's. qgen-model uses the first Vulkan
// device. On llvmpipe:
//
//   with_lavapipe=~/.cache/qgen-deps/current/bin/with-lavapipe
//   bench/models/run_onnxruntime.js --threads 2 --beside "$with_lavapipe build/release/runtime/qgen-model" \
//     build/models/*.onnx
const child = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
let ort;
try {
  ort = require('onnxruntime-node');
} catch (error) {
  console.error('run_onnxruntime.js: needs what `npm install --ignore-scripts onnxruntime-node` adds');
  process.exit(3);
}

// Little-endian float32 in row-major order, as make_models.py writes it.
function readNpy(name) {
  const file = fs.readFileSync(name);
  const headerBytes = file[6] === 1 ? file.readUInt16LE(8) : file.readUInt32LE(8);
  const begin = (file[6] === 1 ? 10 : 12) + headerBytes;
  const header = file.toString('latin1', 0, begin);
  if (!header.includes("'descr': '<f4'") || !header.includes("'fortran_order': False"))
    throw new Error(`${name}: it is no array of float32 in row-major order`);
  const shape = header.match(/'shape': \(([^)]*)\)/)[1].split(',').filter((side) => side.trim()).map(Number);
  return new ort.Tensor('float32', new Float32Array(file.buffer.slice(file.byteOffset + begin)), shape);
}

function writeNpy(name, tensor) {
  const descr = {float32: '<f4', int8: '|i1', uint8: '|u1', int32: '<i4', int64: '<i8'}[tensor.type];
  const shape = tensor.dims.length === 1 ? `(${tensor.dims[0]},)` : `(${tensor.dims.join(', ')})`;
  let header = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${shape}, }`;
  header += ' '.repeat(63 - ((10 + header.length) % 64)) + '\n';
  const length = Buffer.from([header.length & 255, header.length >> 8]);
  const head = Buffer.concat([Buffer.from('\x93NUMPY\x01\x00', 'latin1'), length]);
  const data = Buffer.from(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength);
  fs.writeFileSync(name, Buffer.concat([head, Buffer.from(header, 'latin1'), data]));
}

const medianOf = (samples) => [...samples].sort((a, b) => a - b)[samples.length >> 1];

async function openSession(model, isOptimised, threads) {
  return ort.InferenceSession.create(
      model, {graphOptimizationLevel: isOptimised ? 'all' : 'disabled', intraOpNumThreads: threads});
}

// Milliseconds, the median of `times` runs.
async function timed(session, feeds, times) {
  const samples = [];
  for (let i = 0; i < times; ++i) {
    const start = process.hrtime.bigint();
    await session.run(feeds);
    samples.push(Number(process.hrtime.bigint() - start) / 1e6);
  }
  return medianOf(samples);
}

async function writeOutputs([model, input, output], isOptimised, times, threads) {
  const session = await openSession(model, isOptimised, threads);
  const feeds = {[session.inputNames[0]]: readNpy(input)};
  const results = await session.run(feeds);
  if (fs.existsSync(output) && fs.statSync(output).isDirectory())
    session.outputNames.forEach((name, i) => writeNpy(path.join(output, `${i}.npy`), results[name]));
  else
    writeNpy(output, results[session.outputNames[0]]);
  if (times > 0) console.log(`${(await timed(session, feeds, times)).toFixed(2)} ms (median of ${times})`);
}

// ---- beside qgen-model ----------------------------------------------------------------------------------------------

// A session each time: its threads wait for work in a loop while there is one.
async function timeOnnxRuntime(model, input, times, threads) {
  const session = await openSession(model, true, threads);
  const feeds = {[session.inputNames[0]]: readNpy(input)};
  await session.run(feeds);
  const result = await timed(session, feeds, times);
  await session.release();
  return result;
}

function timeQgen(command, model, input, times) {
  const [program, ...before] = command.split(' ');
  const args = [...before, 'run', model, '--input', input, '--time', '--replays', times];
  const run = child.spawnSync(program, args, {encoding: 'utf8'});
  if (run.error) throw new Error(`${program}: ${run.error.message}`);
  const found = run.stdout.match(/; ([0-9.]+) us \([^)]*\) from call to return/);
  if (run.status === 0 && found) return Number(found[1]) / 1e3;
  throw new Error(`${command} did not time ${model}: ${run.stderr.trim().split('\n').pop()}`);
}

const range = (samples) =>
    `${medianOf(samples).toFixed(1)} (${Math.min(...samples).toFixed(1)} to ${Math.max(...samples).toFixed(1)})`;
const load = () => os.loadavg()[0].toFixed(1);

async function compare(command, models, times, rounds, threads) {
  console.log(`${os.cpus().length} cores, ${os.cpus()[0].model.trim()}; load ${load()}`);
  console.log(`ONNX Runtime ${ort.env.versions.common}, all optimisations, ${threads || 'its own number of'} threads`);
  console.log(`${rounds} rounds of ${times} runs\n`);
  console.log('| model | ONNX Runtime, ms | qgen-model, ms | ratio |');
  console.log('|---|---|---|---|');
  for (const model of models) {
    const input = model.replace(/\.onnx$/, '.input.npy');
    const theirs = [], ours = [];
    for (let round = 0; round < rounds; ++round) {
      theirs.push(await timeOnnxRuntime(model, input, times, threads));
      ours.push(timeQgen(command, model, input, times));
    }
    const ratio = (medianOf(theirs) / medianOf(ours)).toFixed(3);
    console.log(`| ${path.basename(model, '.onnx')} | ${range(theirs)} | ${range(ours)} | ${ratio} |`);
  }
  console.log(`\nload ${load()}`);
}

async function main() {
  const args = process.argv.slice(2);
  const valueOf = (flag) => (args.includes(flag) ? args.splice(args.indexOf(flag), 2)[1] : undefined);
  const command = valueOf('--beside'), times = valueOf('--time'), rounds = valueOf('--rounds');
  const threads = Number(valueOf('--threads') ?? 0);
  const isOptimised = args.includes('--optimised');
  const files = args.filter((arg) => !arg.startsWith('--'));
  if (command && files.length > 0) return compare(command, files, Number(times ?? 10), Number(rounds ?? 5), threads);
  if (command || files.length !== 3) {
    throw new Error('usage: run_onnxruntime.js MODEL INPUT OUTPUT [--optimised] [--time N] [--threads N], or ' +
                    'run_onnxruntime.js --beside COMMAND [--time N] [--rounds N] [--threads N] MODEL...');
  }
  return writeOutputs(files, isOptimised, Number(times ?? 0), threads);
}

main().catch((error) => {
  console.error(`run_onnxruntime.js: ${error.message}`);
  process.exit(2);
});
