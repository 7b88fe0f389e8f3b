// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The interpreter passes each result through memory, as bits. In straight code, an optimiser sees two steps together:
// * It may join a product at the end of one function with a product at the begin of the next. The result is then
//   rounded once instead of twice. So the results of functions are hidden from it.
// * Where a module does not ask for signed zeros, infinities and NaN, it may take x - x and x * 0 for zero. `precise`
//   forbids other rounding only. So the sources of calculations are hidden from it.
// A value is hidden by an exclusive or with a number that is always zero. The first source of a step has another such
// number than the second, so that no optimiser finds them equal. Steps on bits need no hiding.
#include "runtime/engine/operators/pointwise/chain_glsl.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>

#include "pointwise.h"
#include "runtime/engine/library/blob_format.h"

namespace qgen::chains {
namespace {

using Rounding = OperationInfo::Rounding;

// Whether the sources of a calculation are hidden.
bool hides_sources(Step step) { return info_of(step).rounding != Rounding::none; }

// "exponential_less_1" -> "kPointwiseStepExponentialLess1", as the generated GLSL has it.
std::string constant_of(Step step) {
  std::string name = "kPointwiseStep";
  bool begins = true;
  for (const char letter : generated::words::kPointwiseStep[static_cast<size_t>(step)]) {
    if (letter != '_') name += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(letter))) : letter;
    begins = letter == '_';
  }
  return name;
}

std::string loader_of(int64_t input) { return input == kMaskInput ? "load_mask" : fmt::format("load_{}", input + 1); }

// The interpreter gives a function all three sources: one that is left out is the one before it.
std::string call_of(const Value& value, bool of_reals) {
  const bool hides = of_reals && hides_sources(value.step);
  std::string sources;
  const size_t count = source_count(value.step);
  for (size_t s = 0; s < 3; ++s) {
    const uint32_t source = value.sources[std::min(s, count - 1)];
    sources +=
        hides ? fmt::format(", {}(v{})", s == 0 ? "hidden" : "hidden_apart", source) : fmt::format(", v{}", source);
  }
  const std::string call = fmt::format("operate({}{})", constant_of(value.step), sources);
  return of_reals && info_of(value.step).rounding == Rounding::often ? fmt::format("hidden({})", call) : call;
}

std::string text_of(const Value& value, bool of_reals) {
  switch (value.kind) {
    case Value::Kind::input: return fmt::format("{}(quad)", loader_of(value.number));
    case Value::Kind::constant: return fmt::format("uvec4({:#x}u)", static_cast<uint32_t>(value.number));
    case Value::Kind::step: return call_of(value, of_reals);
  }
  return "";
}

// How many constants the steps name.
size_t constant_count(std::span<const int64_t> steps) {
  int64_t count = 0;
  for (size_t i = 0; i + 3 < steps.size(); i += 4) {
    const size_t sources = source_count(static_cast<Step>(steps[i]));
    for (size_t s = 0; s < sources; ++s) count = std::max(count, steps[i + 1 + s] - kFirstConstant + 1);
  }
  return static_cast<size_t>(count);
}

}  // namespace

TypedChain chain_of(const Problem& problem) {
  using Operand = generated::pointwise::Operand;
  const auto* fields = reinterpret_cast<const generated::pointwise::Problem*>(problem.fields.data());
  TypedChain typed{problem.operands[static_cast<size_t>(Operand::input_1)].dtype,
                   problem.operands[static_cast<size_t>(Operand::output)].dtype};
  const std::array<uint32_t, kMostSteps> steps = fields->steps;
  const std::array<uint32_t, kMostConstants> constants = fields->constants;
  typed.chain.steps = unpacked_steps(std::span(steps).first(fields->step_count));
  for (size_t i = 0; i < constant_count(typed.chain.steps); ++i)
    typed.chain.constants.push_back(static_cast<int32_t>(constants[i]));
  return typed;
}

uint64_t digest_of(const TypedChain& typed) {
  const std::string text = fmt::format("{} {}", name(typed.dtype), name(typed.output_dtype));
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  const auto add = [&](const auto& words) {
    const auto more = std::as_bytes(std::span(words));
    bytes.insert(bytes.end(), more.begin(), more.end());
  };
  add(packed_steps(typed.chain.steps));
  add(packed_constants(typed.chain.constants));
  return blob_format::checksum(bytes);
}

std::string glsl_of(const TypedChain& typed) {
  const Formula formula = decoded(typed.chain.steps, typed.chain.constants);
  const bool of_reals = is_real(typed.dtype);
  std::set<std::string> loaders;
  bool hides = false;
  for (const Value& value : formula.values) {
    if (value.kind == Value::Kind::input) loaders.insert(loader_of(value.number));
    hides |= value.kind == Value::Kind::step && of_reals && hides_sources(value.step);
  }
  std::string text = fmt::format(
      "// The steps of one chain on {}, in the place of a loop over the problem's steps. Written by qgen-model "
      "chains.\n"
      "$needs uvec4 previous\n"
      "$needs uvec4 operate(uint operation, uvec4 a, uvec4 b, uvec4 c)\n",
      name(typed.dtype));
  for (const std::string& loader : loaders) text += fmt::format("$needs uvec4 {}(uint quad)\n", loader);
  text += "$gives void run_steps(uint quad)\n";
  if (hides)
    text +=
        "\n// The same bits, which no optimiser can know: the operation of a step is below 128. Drivers may put in "
        "the\n"
        "// values of fields that conditions read, and no condition reads these.\n"
        "uvec4 hidden(uvec4 bits) { return bits ^ (problem.steps[0] & 0x80u); }\n"
        "uvec4 hidden_apart(uvec4 bits) { return bits ^ (problem.steps[1] & 0x80u); }\n";
  text += "\nvoid run_steps(uint quad) {\n";
  for (size_t i = 0; i < formula.values.size(); ++i)
    text += fmt::format("  const uvec4 v{} = {};\n", i, text_of(formula.values[i], of_reals));
  // The last step's value: a chain may not end with a kept one.
  size_t last = formula.values.size() - 1;
  while (formula.values[last].kind != Value::Kind::step) --last;
  return text + fmt::format("  previous = v{};\n}}\n", last);
}

}  // namespace qgen::chains
