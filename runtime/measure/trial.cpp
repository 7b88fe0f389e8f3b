// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/measure/trial.h"

#include <fmt/format.h>

#include <algorithm>

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

Done check_same(const Tensors& first, const Tensors& second) {
  for (const auto& [name, tensor] : first) {
    const HostTensor& other = second.at(name);
    const auto [a, b] = std::ranges::mismatch(tensor.data, other.data);
    if (a == tensor.data.end()) continue;
    const int64_t index = (a - tensor.data.begin()) / bytes(tensor.dtype);
    return Error{Error::Kind::device,
                 fmt::format("{}[{}] is {} in one run and {} in the next", name, index, element(tensor, index),
                             element(other, index)),
                 "it is not written, or written by two"};
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
  if (Done same = check_same(*first, *second); !same) return same.error();
  return first;
}

}  // namespace qgen::measure
