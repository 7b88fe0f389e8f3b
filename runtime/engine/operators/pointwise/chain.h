// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Chains of element-wise steps in two forms: a formula, whose values have numbers; and the steps of the operator
// `pointwise`, with a few slots for values that later steps read. docs/pointwise.md defines the steps.
//
//   Formula f;                                            // x * sigmoid(x)
//   const auto x = f.input(0);
//   f.step(Step::multiply, x, f.step(Step::sigmoid, x));
//   const auto chain = encoded(f);                        // steps [31 1 255 255, 2 1 0 255], no constants
//   decoded(*chain)                                       // the formula
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "words.h"

namespace qgen::chains {

using Step = generated::words::PointwiseStep;

// Sources of a step, as kernels number them.
constexpr int64_t kPrevious = 0, kFirstInput = 1, kMask = 7, kFirstKept = 8, kFirstConstant = 16, kNone = 255;
constexpr size_t kMostInputs = 6, kMostKept = 8, kMostSteps = 64, kMostConstants = 64;

// What is known of an operation: a row of a table.
struct OperationInfo {
  enum class Elements : uint8_t { any, reals, integers };
  enum class Rounding : uint8_t { none, at_most_once, often };

  Step step;
  uint8_t sources;                             // how many it reads; `keep` has the number of a place behind its source
  Elements elements = Elements::any;           // that it is for
  Rounding rounding = Rounding::at_most_once;  // of reals; none: it moves or tests bits
  uint32_t groups = 0;                         // of functions with separate code: bits of the problem's field
};
const OperationInfo& info_of(Step step);
inline size_t source_count(Step step) { return info_of(step).sources; }

struct Value {
  enum class Kind : uint8_t { input, constant, step } kind;
  int64_t number = 0;  // of an input: which, kMaskInput the mask; of a constant: its bits
  Step step = Step::add;
  std::array<uint32_t, 3> sources{};
};
constexpr int64_t kMaskInput = 6;

// Values in the order in which they are computed; the last step's is the result.
struct Formula {
  std::vector<Value> values;

  uint32_t input(int64_t number);
  uint32_t bits(int64_t constant);
  uint32_t real(double constant) { return bits(std::bit_cast<int32_t>(static_cast<float>(constant))); }
  uint32_t step(Step step, uint32_t a, uint32_t b = 0, uint32_t c = 0);
};

struct Chain {
  std::vector<int64_t> steps;  // four each: operation and sources
  std::vector<int64_t> constants;
  friend bool operator==(const Chain&, const Chain&) = default;
};
// nullopt: it has more steps, constants or kept values than a chain can.
std::optional<Chain> encoded(const Formula& formula);
// Of a chain that the operator accepts.
Formula decoded(std::span<const int64_t> steps, std::span<const int64_t> constants);

// As the problem of the operator has them, filled up with zeros: a step in 32 bits, its operation in the lowest eight.
std::array<uint32_t, kMostSteps> packed_steps(std::span<const int64_t> steps);
// The steps of packed ones, without those that only fill up.
std::vector<int64_t> unpacked_steps(std::span<const uint32_t> words);
std::array<uint32_t, kMostConstants> packed_constants(std::span<const int64_t> constants);

}  // namespace qgen::chains
