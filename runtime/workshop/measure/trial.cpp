// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/measure/trial.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/engine/dispatch/in_place.h"
#include "runtime/engine/selector/in_place.h"

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

Expected<StoredOutput> read(Executor& executor, const DeviceTensor& tensor) {
  if (tensor.storage() == Storage::buffer) {
    auto bytes = executor.download_stored(tensor);
    if (!bytes) return bytes.error();
    return StoredOutput{desc_of(tensor), *std::move(bytes)};
  }
  auto elements = executor.download(tensor);
  if (!elements) return elements.error();
  return StoredOutput{desc_of(tensor), std::move(elements->data)};
}

Expected<bool> holds(Executor& executor, const DeviceTensor& tensor, const StoredOutput& known) {
  if (tensor.storage() == Storage::buffer) return executor.holds(tensor, known.bytes);
  const auto held = read(executor, tensor);
  return held ? Expected<bool>(*held == known) : held.error();
}

Expected<HostTensor> elements_of(const StoredOutput& output) {
  const TensorDesc& tensor = output.tensor;
  if (tensor.storage == Storage::buffer) return unpacked(tensor.dtype, tensor.shape, tensor.layout, output.bytes);
  return HostTensor{tensor.dtype, tensor.shape, output.bytes};
}

Done check_guards(Executor& executor, std::string_view name, const DeviceTensor& tensor) {
  const auto intact = executor.guards_are_intact(tensor);
  if (!intact) return intact.error();
  if (*intact) return std::monostate{};
  return Error{Error::Kind::device, fmt::format("{} is written past its end", name), ""};
}

Done run_poisoned(Executor& executor, Recording& recording, const std::vector<Written>& written, uint8_t poison) {
  for (const Written& output : written) {
    if (Done filled = executor.fill(*output.tensor, poison); !filled) return filled;
  }
  if (Done ran = executor.run(recording); !ran) return ran;
  for (const Written& output : written) {
    if (Done intact = check_guards(executor, output.name, *output.tensor); !intact) return intact;
  }
  return std::monostate{};
}

Expected<bool> all_hold(Executor& executor, const std::vector<Written>& written, const StoredOutputs& known) {
  for (const Written& output : written) {
    const auto wanted = known.find(output.name);
    if (wanted == known.end()) return false;
    const auto same = holds(executor, *output.tensor, wanted->second);
    if (!same || !*same) return same;
  }
  return true;
}

Expected<StoredOutputs> read_all(Executor& executor, const std::vector<Written>& written) {
  StoredOutputs outputs;
  for (const Written& output : written) {
    auto stored = read(executor, *output.tensor);
    if (!stored) return stored.error();
    outputs.emplace(output.name, *std::move(stored));
  }
  return outputs;
}

// Checks that a tensor still holds its earlier content, in its padding too.
Done check_same(Executor& executor, std::string_view name, const StoredOutput& before, const DeviceTensor& now,
                std::string_view of_before, std::string_view of_now) {
  const auto same = holds(executor, now, before);
  if (!same) return same.error();
  if (*same) return std::monostate{};
  const auto first = elements_of(before);
  if (!first) return first.error();
  const auto second = executor.download(now);
  if (!second) return second.error();
  constexpr const char* kReasons =
      "it is not written, or written by two invocations, or one invocation reads it "
      "after another has written it";
  const auto [a, b] = std::ranges::mismatch(first->data, second->data);
  if (a == first->data.end()) {
    return Error{Error::Kind::device, fmt::format("the padding of {} differs {} and {}", name, of_before, of_now),
                 kReasons};
  }
  const int64_t index = (a - first->data.begin()) / bytes(first->dtype);
  return Error{Error::Kind::device,
               fmt::format("{}[{}] is {} {} and {} {}", name, index, element(*first, index), of_before,
                           element(*second, index), of_now),
               kReasons};
}

Done check_same(Executor& executor, const std::vector<Written>& written, const StoredOutputs& first) {
  for (const Written& output : written) {
    const StoredOutput& before = first.find(output.name)->second;
    Done same = check_same(executor, output.name, before, *output.tensor, "in one run", "in the next");
    if (!same) return same;
  }
  return std::monostate{};
}

// The work once more with an output in a copy of an input, which must change nothing.
Done try_in_place(Executor& executor, const Work& work, size_t output, size_t input, std::string_view name,
                  const StoredOutput& apart) {
  const auto values = executor.download(*work.operands[input]);
  if (!values) return values.error();
  const auto both = executor.upload(*values, Storage::buffer, work.operands[input]->layout());
  if (!both) return both.error();
  Work in_place = work;
  in_place.operands[input] = in_place.operands[output] = &*both;
  auto recording = executor.record({&in_place, 1});
  if (!recording) return recording.error();
  if (Done ran = executor.run(*recording); !ran) return ran;
  if (Done same = check_same(executor, name, apart, *both, "apart", "in place"); !same) return same;
  return check_guards(executor, fmt::format("{} in place", name), *both);
}

// `operands` are those of the whole.
Done try_in_place(Executor& executor, const Work& work, std::span<const OperandInfo> operands,
                  const StoredOutputs& apart) {
  for (size_t output = 0; output < operands.size(); ++output) {
    for (size_t input = 0; input < operands.size(); ++input) {
      const DeviceTensor *written = work.operands[output], *read = work.operands[input];
      if (!written || !read || !may_be_in_place(*work.choice, output, input) || !lie_alike(*written, *read)) continue;
      const std::string_view name = operands[output].name;
      if (Done same = try_in_place(executor, work, output, input, name, apart.find(name)->second); !same) return same;
    }
  }
  return std::monostate{};
}

}  // namespace

Expected<Trial> run_trial(Context& context, const PreparedCall& prepared, const Choice& choice,
                          const StoredOutputs* known) {
  Executor& executor = context.executor;
  const auto bound = qgen::bind(context, prepared.call, choice, prepared.arguments);
  if (!bound) return bound.error();
  const Work work{&choice, bound->operands};
  auto recording = executor.record({&work, 1});
  if (!recording) return recording.error();
  const auto written = written_by(prepared.call, *bound);
  if (Done ran = run_poisoned(executor, *recording, written, kPoisons[0]); !ran) return ran.error();
  Trial trial;
  if (known) {
    const auto is_known = all_hold(executor, written, *known);
    if (!is_known) return is_known.error();
    trial.is_as_known = *is_known;
  }
  if (!trial.is_as_known) {
    auto first = read_all(executor, written);
    if (!first) return first.error();
    trial.written = *std::move(first);
  }
  const StoredOutputs& first = trial.is_as_known ? *known : trial.written;
  if (Done ran = run_poisoned(executor, *recording, written, kPoisons[1]); !ran) return ran.error();
  if (Done same = check_same(executor, written, first); !same) return same.error();
  if (Done same = try_in_place(executor, work, prepared.call.problem.op->operands, first); !same) return same.error();
  return trial;
}

Expected<Tensors> elements_of(const Trial& trial) {
  Tensors outputs;
  for (const auto& [name, stored] : trial.written) {
    auto elements = elements_of(stored);
    if (!elements) return elements.error();
    outputs.emplace(name, *std::move(elements));
  }
  return outputs;
}

std::string repeat(Context& context, const PreparedCall& prepared, const Choice& choice, uint32_t times,
                   const std::function<bool()>& may_go_on) {
  Executor& executor = context.executor;
  const auto bound = qgen::bind(context, prepared.call, choice, prepared.arguments);
  if (!bound) return to_text(bound.error());
  const Work work{&choice, bound->operands};
  auto recording = executor.record({&work, 1});
  if (!recording) return to_text(recording.error());
  const auto written = written_by(prepared.call, *bound);
  StoredOutputs first;
  for (uint32_t i = 0; i < times && (i < 2 || may_go_on()); ++i) {
    if (Done ran = run_poisoned(executor, *recording, written, kPoisons[i % 2]); !ran) return to_text(ran.error());
    if (i > 0) {
      const auto same = all_hold(executor, written, first);
      if (!same) return to_text(same.error());
      if (!*same) return fmt::format("gives other bits in run {} of {}", i + 1, times);
      continue;
    }
    auto read = read_all(executor, written);
    if (!read) return to_text(read.error());
    first = *std::move(read);
  }
  return "";
}

}  // namespace qgen::measure
