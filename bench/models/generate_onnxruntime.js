#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Generates tokens with ONNX Runtime on the CPU, for comparison with `qgen-model generate`. Greedy: the largest logit,
// of equal ones the first.
//
//   npm install --ignore-scripts onnxruntime-node
//   bench/models/generate_onnxruntime.js model.onnx --tokens 1,2,3 [--tokens 4,5] [--max 16] [--prompt-rows N]
//       [--input NAME=FILE.npy]
//
// --input is as of `qgen-model generate`, of float32, float16 or int64.
// Prints a line of tokens for each sequence; on standard error the rates, and the least distance between the two
// largest logits that decided a token. Shorter prompts are padded at their end. The model has the inputs and outputs of
// make_language_model.py. Attention sees all keys of earlier runs, which are passed on as tensors.
let ort;
try {
  ort = require('onnxruntime-node');
} catch (error) {
  console.error('generate_onnxruntime.js: needs what `npm install --ignore-scripts onnxruntime-node` adds');
  process.exit(3);
}

const integers = (values, dims) => new ort.Tensor('int64', BigInt64Array.from(values, BigInt), dims);

const elements = {'<f4': ['float32', Float32Array], '<f2': ['float16', Uint16Array], '<i8': ['int64', BigInt64Array]};
function readNpy(file) {
  const bytes = require('fs').readFileSync(file), wide = bytes[6] > 1;
  const begin = wide ? 12 : 10, end = begin + (wide ? bytes.readUInt32LE(8) : bytes.readUInt16LE(8));
  const header = bytes.toString('latin1', begin, end), kind = elements[/'descr': '([^']*)'/.exec(header)[1]];
  if (!kind || /'fortran_order': True/.test(header)) throw new Error(`${file}: float32, float16 or int64, row-major`);
  const dims = /'shape': \(([^)]*)\)/.exec(header)[1].split(',').filter((side) => side.trim()).map(Number);
  return new ort.Tensor(kind[0], new kind[1](new Uint8Array(bytes.subarray(end)).buffer), dims);
}

function halfToFloat(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent ? sign * 2 ** (exponent - 15) * (1 + fraction / 1024) : sign * 2 ** -14 * (fraction / 1024);
}

// The place of the largest of `count` logits, and its distance to the next.
function largest(logits, from, count) {
  const at = (i) => (logits.data instanceof Uint16Array ? halfToFloat(logits.data[from + i]) : logits.data[from + i]);
  let best = 0, second = -Infinity;
  for (let i = 1; i < count; ++i) {
    const value = at(i);
    if (value > at(best)) {
      second = at(best);
      best = i;
    } else if (value > second) {
      second = value;
    }
  }
  return [best, at(best) - second];
}

class Model {
  constructor(session, others) {
    this.session = session;
    this.others = others;
    this.isMerged = session.inputNames.includes('use_cache_branch');
    this.runs = 0;
    this.past = {};
    this.margin = Infinity;
  }

  emptyPast(batch) {
    for (const input of this.session.inputMetadata) {
      if (!input.name.startsWith('past') || input.name in this.others) continue;
      const dims = [batch, input.shape[1], 0, input.shape[3]];
      this.past[input.name] = new ort.Tensor(input.type, input.type === 'float16' ? new Uint16Array(0) : new Float32Array(0), dims);
    }
  }

  // The next token of each sequence, after `tokens`; `lengths`: with them.
  async feed(tokens, lengths) {
    const batch = tokens.length, rows = Math.max(...tokens.map((list) => list.length)), total = Math.max(...lengths);
    const ids = tokens.flatMap((list) => [...list, ...Array(rows - list.length).fill(0)]);
    const mask = lengths.flatMap((length) => Array.from({length: total}, (_, i) => (i < length ? 1 : 0)));
    const positions = tokens.flatMap((list, b) => Array.from({length: rows}, (_, i) => lengths[b] - list.length + i));
    const given = {
      input_ids: integers(ids, [batch, rows]),
      attention_mask: integers(mask, [batch, total]),
      position_ids: integers(positions, [batch, rows]),
      ...this.past,
      ...this.others,
    };
    // The first run of a merged decoder has no cache, and fills all of them.
    if (this.isMerged) given.use_cache_branch = new ort.Tensor('bool', Uint8Array.of(this.runs++ > 0 ? 1 : 0), [1]);
    const names = Object.keys(given).filter((name) => this.session.inputNames.includes(name));
    const results = await this.session.run(Object.fromEntries(names.map((name) => [name, given[name]])));
    for (const name of Object.keys(this.past)) {
      const present = results[name.replace('past_key_values', 'present')];
      if (present.size > 0) this.past[name] = present;  // keys of an encoder stay
    }
    const vocabulary = results.logits.dims[2];
    return tokens.map((list, b) => {
      const [token, margin] = largest(results.logits, (b * rows + list.length - 1) * vocabulary, vocabulary);
      this.margin = Math.min(this.margin, margin);
      return token;
    });
  }
}

async function generate(file, prompts, max, promptRows, threads, others) {
  const session = await ort.InferenceSession.create(file, {logSeverityLevel: 3, intraOpNumThreads: threads});
  const model = new Model(session, others), said = prompts.map(() => []);
  model.emptyPast(prompts.length);
  const longest = Math.max(...prompts.map((list) => list.length)), rows = promptRows || longest;
  const lengths = prompts.map(() => 0);
  let next, start = process.hrtime.bigint();
  const lap = () => {
    const now = process.hrtime.bigint(), ms = Number(now - start) / 1e6;
    start = now;
    return ms;
  };
  for (let from = 0; from < longest; from += rows) {
    const part = prompts.map((list) => list.slice(from, from + rows));
    part.forEach((list, b) => (lengths[b] += list.length));
    next = await model.feed(part, lengths);
  }
  const promptMs = lap();
  for (let i = 0; i < max; ++i) {
    next.forEach((token, b) => said[b].push(token));
    if (i + 1 === max) break;
    lengths.forEach((_, b) => ++lengths[b]);
    next = await model.feed(next.map((token) => [token]), lengths);
  }
  const decodeMs = lap();
  said.forEach((list) => console.log(list.join(' ')));
  const count = prompts.reduce((sum, list) => sum + list.length, 0), decoded = (max - 1) * prompts.length;
  console.error(`prompt: ${(1e3 * count / promptMs).toFixed(1)} tokens/s; decoding: ` +
                `${(1e3 * decoded / decodeMs).toFixed(1)} tokens/s; least margin ${model.margin.toPrecision(3)}`);
}

const args = process.argv.slice(2), prompts = [];
const valueOf = (flag) => (args.includes(flag) ? args.splice(args.indexOf(flag), 2)[1] : undefined);
for (let text = valueOf('--tokens'); text; text = valueOf('--tokens')) prompts.push(text.split(',').map(Number));
const max = Number(valueOf('--max') ?? 64), rows = Number(valueOf('--prompt-rows') ?? 0);
const threads = Number(valueOf('--threads') ?? 0), others = {};
for (let text = valueOf('--input'); text; text = valueOf('--input')) {
  const equals = text.indexOf('=');
  others[text.slice(0, equals)] = readNpy(text.slice(equals + 1));
}
if (args.length !== 1 || prompts.length === 0) {
  console.error('usage: generate_onnxruntime.js MODEL --tokens 1,2,3 [--max N] [--prompt-rows N] [--threads N] [--input NAME=FILE]');
  process.exit(2);
}
generate(args[0], prompts, max, rows, threads, others).catch((error) => {
  console.error(`generate_onnxruntime.js: ${error.message}`);
  process.exit(1);
});
