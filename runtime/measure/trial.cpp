// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/measure/trial.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/dispatch/in_place.h"

namespace qgen::measure {
namespace {

// All bits set is NaN in every float format and -1 in every signed integer; the other is neither.
constexpr uint8_t kPoisons[] = {0xff, 0x5a};

struct Written {
  std::string_view name;
  const DeviceTensor* tensor;
};

std::vector<Written> written_by(const Call& call, const BoundCall& bound) {
  std::vector<Written> written;
  for (size_t i = 0; i < bound.operands.size(); ++i) {
    const OperandInfo& operand = call.problem.op->operands[i];
    if (bound.operands[i] && operand.access == Access::write) written.push_back({operand.name, bound.operands[i]});
  }
  return written;
}

Expected<Tensors> run_poisoned(Executor& executor, Recording& recording, const std::vector<Written>& written,
                               uint8_t poison) {
  for (const Written& output : written) {
    if (Done filled = executor.fill(*output.tensor, poison); !filled) return filled.error();
  }
  if (Done ran = executor.run(recording); !ran) return ran.error();
  Tensors outputs;
  for (const Written& output : written) {
    auto tensor = executor.download(*output.tensor);
    if (!tensor) return tensor.error();
    outputs.emplace(output.name, *std::move(tensor));
    const auto intact = executor.guards_are_intact(*output.tensor);
    if (!intact) return intact.error();
    if (!*intact) return Error{Error::Kind::device, fmt::format("{} is written past its end", output.name), ""};
  }
  return outputs;
}

Done check_same(const Tensors& first, const Tensors& second, std::string_view of_first, std::string_view of_second) {
  for (const auto& [name, tensor] : first) {
    const HostTensor& other = second.find(name)->second;
    const auto [a, b] = std::ranges::mismatch(tensor.data, other.data);
    if (a == tensor.data.end()) continue;
    const int64_t index = (a - tensor.data.begin()) / bytes(tensor.dtype);
    return Error{Error::Kind::device,
                 fmt::format("{}[{}] is {} {} and {} {}", name, index, element(tensor, index), of_first,
                             element(other, index), of_second),
                 "it is not written, written by two, or read by one when another has written it"};
  }
  return std::monostate{};
}

// The work once more with an output in a copy of an input, which must change nothing.
Done try_in_place(Executor& executor, const Work& work, size_t output, size_t input, const Tensors& apart) {
  const OperandInfo& written = work.choice->launches.front().op->operands[output];
  const auto values = executor.download(*work.operands[input]);
  if (!values) return values.error();
  const auto both = executor.upload(*values, Storage::buffer, work.operands[input]->layout());
  if (!both) return both.error();
  Work in_place = work;
  in_place.operands[input] = in_place.operands[output] = &*both;
  auto recording = executor.record({&in_place, 1});
  if (!recording) return recording.error();
  if (Done ran = executor.run(*recording); !ran) return ran;
  auto made = executor.download(*both);
  if (!made) return made.error();
  Tensors outputs;
  outputs.emplace(written.name, *std::move(made));
  if (Done same = check_same(outputs, apart, "in place", "apart"); !same) return same;
  const auto intact = executor.guards_are_intact(*both);
  if (!intact) return intact.error();
  if (!*intact) return Error{Error::Kind::device, fmt::format("{} in place is written past its end", written.name), ""};
  return std::monostate{};
}

Done try_in_place(Executor& executor, const Work& work, const Tensors& apart) {
  if (work.choice->recipe) return std::monostate{};
  const std::span<const OperandInfo> operands = work.choice->launches.front().op->operands;
  for (size_t output = 0; output < operands.size(); ++output) {
    for (size_t input = 0; input < operands.size(); ++input) {
      const DeviceTensor *written = work.operands[output], *read = work.operands[input];
      if (!written || !read || !operands[output].may_lie_in(input) || !lie_alike(*written, *read)) continue;
      if (Done same = try_in_place(executor, work, output, input, apart); !same) return same;
    }
  }
  return std::monostate{};
}

}  // namespace

Expected<Tensors> run_trial(Context& context, const PreparedCall& prepared, const Choice& choice) {
  const auto bound = qgen::bind(context, prepared.call, choice, prepared.arguments);
  if (!bound) return bound.error();
  const Work work{&choice, bound->operands};
  auto recording = context.executor.record({&work, 1});
  if (!recording) return recording.error();
  const auto written = written_by(prepared.call, *bound);
  auto first = run_poisoned(context.executor, *recording, written, kPoisons[0]);
  if (!first) return first;
  const auto second = run_poisoned(context.executor, *recording, written, kPoisons[1]);
  if (!second) return second;
  if (Done same = check_same(*first, *second, "in one run", "in the next"); !same) return same.error();
  if (Done same = try_in_place(context.executor, work, *first); !same) return same.error();
  return first;
}

}  // namespace qgen::measure
