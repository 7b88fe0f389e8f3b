// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/operators/pointwise/chain.h"

#include <algorithm>
#include <iterator>

#include "vocabulary/rows.h"

namespace qgen::chains {

// ---- steps ----------------------------------------------------------------------------------------------------------

namespace {

using enum OperationInfo::Elements;
using enum OperationInfo::Rounding;

// The bits of `groups` in specs/pointwise/pointwise.yaml.
constexpr uint32_t kDivisions = 1, kExponentials = 2, kLogarithms = 4, kRare = 8, kBits = 16, kKept = 32;

constexpr OperationInfo kSteps[] = {
    {Step::add, 2},
    {Step::subtract, 2},
    {Step::multiply, 2},
    {Step::divide, 2, any, often, kDivisions},
    {Step::minimum, 2},
    {Step::maximum, 2},
    {Step::less, 2},
    {Step::less_or_equal, 2},
    {Step::equal, 2},
    {Step::logical_and, 2, any, none},
    {Step::logical_or, 2, any, none},
    {Step::logical_xor, 2, any, none},
    {Step::logical_not, 1, any, none},
    {Step::choose, 3, any, none},
    {Step::keep, 1, any, at_most_once, kKept},
    {Step::negate, 1, any, none},
    {Step::absolute, 1, any, none},
    {Step::sign_of, 1},
    {Step::floor, 1, reals},
    {Step::ceil, 1, reals},
    {Step::round, 1, reals},
    {Step::truncate, 1, reals},
    {Step::remainder, 2, any, often, kBits},
    {Step::modulo, 2, any, often, kBits},
    {Step::is_nan, 1, any, none},
    {Step::is_infinite, 1, any, none},
    {Step::square_root, 1, reals, often, kDivisions},
    {Step::exponential, 1, reals, often, kExponentials},
    {Step::exponential_less_1, 1, reals, often, kExponentials},
    {Step::logarithm, 1, reals, often, kLogarithms},
    {Step::logarithm_plus_1, 1, reals, often, kLogarithms},
    {Step::sigmoid, 1, reals, often, kExponentials | kDivisions},
    {Step::tanh, 1, reals, often, kExponentials},
    {Step::error_function, 1, reals, often, kRare},
    {Step::power, 2, any, often, kLogarithms | kExponentials},
    {Step::sine, 1, reals, often, kRare},
    {Step::cosine, 1, reals, often, kRare},
    {Step::arc_tangent, 1, reals, often, kRare},
    {Step::bit_and, 2, integers, at_most_once, kBits},
    {Step::bit_or, 2, integers, at_most_once, kBits},
    {Step::bit_xor, 2, integers, at_most_once, kBits},
    {Step::bit_not, 1, integers, at_most_once, kBits},
    {Step::shift_left, 2, integers, at_most_once, kBits},
    {Step::shift_right, 2, integers, at_most_once, kBits},
};

constexpr OperationInfo kNoStep{{}, 1};
static_assert(std::size(kSteps) == std::size(generated::words::kPointwiseStep) &&
                  std::ranges::all_of(kSteps,
                                      [](const OperationInfo& row) { return &row == &kSteps[size_t(row.step)]; }),
              "a row for each step, in the order of their enumeration");

}  // namespace

const OperationInfo& info_of(Step step) { return row_of(kSteps, step, kNoStep); }

// ---- formulas -------------------------------------------------------------------------------------------------------

namespace {

uint32_t found_or_added(std::vector<Value>& values, Value::Kind kind, int64_t number) {
  const auto found =
      std::ranges::find_if(values, [&](const Value& value) { return value.kind == kind && value.number == number; });
  const auto place = static_cast<uint32_t>(found - values.begin());
  if (found == values.end()) values.push_back({.kind = kind, .number = number});
  return place;
}

}  // namespace

uint32_t Formula::input(int64_t number) { return found_or_added(values, Value::Kind::input, number); }
uint32_t Formula::bits(int64_t constant) { return found_or_added(values, Value::Kind::constant, constant); }
uint32_t Formula::step(Step step, uint32_t a, uint32_t b, uint32_t c) {
  values.push_back({.kind = Value::Kind::step, .step = step, .sources = {a, b, c}});
  return static_cast<uint32_t>(values.size() - 1);
}

// ---- chains ---------------------------------------------------------------------------------------------------------

namespace {

class Encoder {
 public:
  explicit Encoder(const Formula& formula) : values_(formula.values), last_reads_(values_.size(), 0) {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i].kind != Value::Kind::step) continue;
      for (size_t s = 0; s < source_count(values_[i].step); ++s) last_reads_[values_[i].sources[s]] = i;
    }
  }

  std::optional<Chain> run() {
    std::optional<size_t> before;  // the step whose result is the previous one
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i].kind != Value::Kind::step) continue;
      if (before && !keep_if_needed(*before, i)) return std::nullopt;
      if (!add_step(i, before)) return std::nullopt;
      before = i;
    }
    const bool fits = chain_.steps.size() <= 4 * kMostSteps && chain_.constants.size() <= kMostConstants;
    return fits && before ? std::optional(std::move(chain_)) : std::nullopt;
  }

 private:
  // The values that a step other than the next one reads.
  bool keep_if_needed(size_t value, size_t next) {
    if (last_reads_[value] <= next) return true;
    const auto place =
        std::ranges::find_if(kept_, [&](const auto& kept) { return !kept || last_reads_[*kept] < next; });
    if (place == kept_.end()) return false;
    *place = value;
    chain_.steps.insert(chain_.steps.end(),
                        {static_cast<int64_t>(Step::keep), kPrevious, kFirstKept + (place - kept_.begin()), kNone});
    return true;
  }

  bool add_step(size_t i, std::optional<size_t> before) {
    chain_.steps.push_back(static_cast<int64_t>(values_[i].step));
    for (size_t s = 0; s < 3; ++s) {
      const auto source = s < source_count(values_[i].step) ? source_of(values_[i].sources[s], before) : kNone;
      if (!source) return false;
      chain_.steps.push_back(*source);
    }
    return true;
  }

  std::optional<int64_t> source_of(size_t value, std::optional<size_t> before) {
    const Value& read = values_[value];
    if (read.kind == Value::Kind::input) return kFirstInput + read.number;
    if (read.kind == Value::Kind::constant) {
      auto place = std::ranges::find(chain_.constants, read.number) - chain_.constants.begin();
      if (place == std::ssize(chain_.constants)) chain_.constants.push_back(read.number);
      return kFirstConstant + place;
    }
    if (before == value) return kPrevious;
    const auto place = std::ranges::find(kept_, std::optional(value));
    return place == kept_.end() ? std::nullopt : std::optional(kFirstKept + (place - kept_.begin()));
  }

  const std::vector<Value>& values_;
  std::vector<size_t> last_reads_;  // by value: the last step that reads it
  std::array<std::optional<size_t>, kMostKept> kept_{};
  Chain chain_;
};

}  // namespace

std::optional<Chain> encoded(const Formula& formula) { return Encoder(formula).run(); }

Formula decoded(std::span<const int64_t> steps, std::span<const int64_t> constants) {
  Formula formula;
  uint32_t previous = 0;
  std::array<uint32_t, kMostKept> kept{};
  const auto value_of = [&](int64_t source) -> uint32_t {
    if (source == kPrevious) return previous;
    if (source >= kFirstConstant) return formula.bits(constants[static_cast<size_t>(source - kFirstConstant)]);
    if (source >= kFirstKept) return kept[static_cast<size_t>(source - kFirstKept)];
    return formula.input(source - kFirstInput);
  };
  for (size_t i = 0; i + 3 < steps.size(); i += 4) {
    const auto step = static_cast<Step>(steps[i]);
    if (step == Step::keep) {
      kept[static_cast<size_t>(steps[i + 2] - kFirstKept)] = value_of(steps[i + 1]);
      continue;
    }
    std::array<uint32_t, 3> sources{};
    for (size_t s = 0; s < source_count(step); ++s) sources[s] = value_of(steps[i + 1 + s]);
    previous = formula.step(step, sources[0], sources[1], sources[2]);
  }
  return formula;
}

std::array<uint32_t, kMostSteps> packed_steps(std::span<const int64_t> steps) {
  std::array<uint32_t, kMostSteps> words{};
  for (size_t i = 0; i < steps.size(); ++i)
    words[i / 4] |= static_cast<uint32_t>(std::clamp<int64_t>(steps[i], 0, 255)) << (8 * (i % 4));
  return words;
}

std::vector<int64_t> unpacked_steps(std::span<const uint32_t> words) {
  std::vector<int64_t> steps;
  for (const uint32_t word : words) {
    for (size_t k = 0; k < 4; ++k) steps.push_back(word >> (8 * k) & 0xff);
  }
  return steps;
}

std::array<uint32_t, kMostConstants> packed_constants(std::span<const int64_t> constants) {
  std::array<uint32_t, kMostConstants> bits{};
  for (size_t i = 0; i < constants.size(); ++i) bits[i] = static_cast<uint32_t>(static_cast<uint64_t>(constants[i]));
  return bits;
}

}  // namespace qgen::chains
