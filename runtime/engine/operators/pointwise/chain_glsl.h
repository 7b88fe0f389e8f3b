// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One chain as GLSL, in the place of templates/lib/pointwise_steps.glsl, which interprets any chain. Its steps call
// the functions that the interpreter calls, so that the results have the same bits, except those of a NaN.
//
//   glsl_of({DType::f32, DType::f32, chain})     // x * sigmoid(x)
//     void run_steps(uint quad) {
//       const uvec4 v0 = load_1(quad);
//       const uvec4 v1 = hidden(operate(kPointwiseStepSigmoid, hidden(v0), hidden(v0), hidden(v0)));
//       const uvec4 v2 = operate(kPointwiseStepMultiply, v0, v1, v1);
//       previous = v2;
//     }
#pragma once

#include <string>

#include "runtime/engine/operators/pointwise/chain.h"
#include "runtime/engine/selector/problem.h"

namespace qgen::chains {

// A chain and what its kernel reads and writes: all that decides the code.
struct TypedChain {
  DType dtype = DType::f32;
  DType output_dtype = DType::f32;
  Chain chain = {};
  friend bool operator==(const TypedChain&, const TypedChain&) = default;
};
// Of a problem of the operator `pointwise`.
TypedChain chain_of(const Problem& problem);
// The same for the same chain on every machine.
uint64_t digest_of(const TypedChain& chain);

// Of a chain that the operator accepts.
std::string glsl_of(const TypedChain& chain);

}  // namespace qgen::chains
