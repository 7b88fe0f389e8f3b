// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/model/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/bytes_text.h"
#include "common/digits.h"
#include "runtime/workshop/measure/timing.h"
#include "runtime/workshop/model/layers.h"

namespace qgen::model {
namespace {

using graph::Schedule;
using graph::Source;
using graph::Step;

struct UnitInfo {
  std::string_view name, number;
  double DeviceNumbers::*rate;
};
constexpr std::array<UnitInfo, kUnits> kUnitInfos = {{
    {"f32", "f32_ops_per_us", &DeviceNumbers::f32_ops_per_us},
    {"int8 dot products", "int8_ops_per_us", &DeviceNumbers::int8_ops_per_us},
    {"f16 matrices", "f16_matrix_ops_per_us", &DeviceNumbers::f16_matrix_ops_per_us},
    {"int8 matrices", "int8_matrix_ops_per_us", &DeviceNumbers::int8_matrix_ops_per_us},
}};

const UnitInfo& info_of(Unit unit) { return kUnitInfos[static_cast<size_t>(unit)]; }

// The fastest one that the choice's kernels use.
Unit unit_of(const Choice& choice) {
  Unit unit = Unit::f32;
  for (const Launch& launch : choice.launches) {
    const InterfaceInfo& interface = launch.op->interfaces[launch.kernel->interface];
    for (const CooperativeMatrixShape& shape : interface.cooperative_matrices_of(launch.specialization))
      unit = std::max(unit, bytes(shape.a) == 1 ? Unit::int8_matrices : Unit::f16_matrices);
    if ((interface.needs & bit(Feature::integer_dot_product)) != 0) unit = std::max(unit, Unit::int8_dot_products);
  }
  return unit;
}

// What the memory of a tensor is that lies in another one's.
uint32_t root_of(const Schedule& schedule, uint32_t tensor) {
  while (schedule.tensors[tensor].alias_of != graph::PlacedValue::kNone) tensor = schedule.tensors[tensor].alias_of;
  return tensor;
}

class WorkOfSteps {
 public:
  WorkOfSteps(const graph::Graph& graph, const Schedule& schedule, std::span<const double> cached_tokens)
      : graph_(graph), schedule_(schedule), cached_tokens_(cached_tokens) {}

  void add(const Step& step) {
    const double operations = operations_of(step);
    work_.operations[static_cast<size_t>(unit_of(*step.choice))] += operations;
    // Of embeddings and angles of rotations, a row is read for each row of the outputs.
    work_.weight_bytes += operations > 0 ? constant_bytes(step) : std::min(constant_bytes(step), output_bytes(step));
    if (!writes_a_state(step)) work_.cache_bytes += state_bytes(step);
  }
  const Work& work() const { return work_; }

 private:
  bool is_state(const Source& source) const {
    if (source.kind != Source::Kind::tensor) return false;
    const uint32_t root = root_of(schedule_, source.index);
    return std::ranges::any_of(schedule_.states, [&](uint32_t state) { return root_of(schedule_, state) == root; });
  }

  bool is_kept(const Source& source) const {
    return source.kind == Source::Kind::tensor &&
           std::ranges::count(schedule_.kept, root_of(schedule_, source.index)) > 0;
  }

  // Writes into a cache: it reads none of it.
  bool writes_a_state(const Step& step) const {
    return std::ranges::any_of(step.entry->tensors, [&](const TensorInfo& info) {
      return info.role == TensorInfo::Role::output && is_state(step.operands[info.operand]);
    });
  }

  // Of tensors that are no results of other steps, and of what is derived from them.
  static double constant_bytes(const Step& step) {
    double bytes = 0;
    for (const TensorInfo& info : step.entry->tensors) {
      const auto& operand = step.call.operands[info.operand];
      if (operand && info.role != TensorInfo::Role::output && step.operands[info.operand].kind != Source::Kind::tensor)
        bytes += static_cast<double>(measure::bytes_of(*operand));
    }
    return bytes;
  }

  // Without caches.
  double output_bytes(const Step& step) const {
    double bytes = 0;
    for (const TensorInfo& info : step.entry->tensors) {
      const auto& operand = step.call.operands[info.operand];
      if (operand && info.role == TensorInfo::Role::output && !is_state(step.operands[info.operand]))
        bytes += static_cast<double>(measure::bytes_of(*operand));
    }
    return bytes;
  }

  // And those of kept inputs. The first and the third side of a cache are places for tokens.
  double state_bytes(const Step& step) const {
    const double tokens = cached_tokens_of(step);
    double bytes = 0;
    for (const TensorInfo& info : step.entry->tensors) {
      const auto& operand = step.call.operands[info.operand];
      if (!operand) continue;
      const double whole = static_cast<double>(measure::bytes_of(*operand));
      if (is_kept(step.operands[info.operand])) bytes += whole;
      if (!is_state(step.operands[info.operand])) continue;
      const auto places = static_cast<double>(operand->shape.size() == 4 ? operand->shape[0] * operand->shape[2] : 0);
      bytes += places > 0 ? whole * std::min(tokens / places, 1.0) : whole;
    }
    return bytes;
  }

  // Of all sequences, as far as the window of the layer reaches.
  double cached_tokens_of(const Step& step) const {
    double window = 0;
    if (step.node != Step::kConversion) {
      const Attributes& attributes = graph_.nodes[step.node].attributes;
      const auto found = attributes.find("window");
      if (found != attributes.end()) {
        if (const auto* number = std::get_if<int64_t>(&found->second)) window = static_cast<double>(*number);
      }
    }
    return std::accumulate(cached_tokens_.begin(), cached_tokens_.end(), 0.0, [&](double sum, double tokens) {
      return sum + (window > 0 ? std::min(tokens, window) : tokens);
    });
  }

  const graph::Graph& graph_;
  const Schedule& schedule_;
  std::span<const double> cached_tokens_;
  Work work_;
};

Rate rate_of(double amount, double us, double least_us, double of_device, std::string_view name,
             const DeviceProfile& device, std::string_view number) {
  const auto source = device.sources.find(number);
  Rate rate{
      .of_device = of_device, .name = name, .source = source == device.sources.end() ? "estimated" : source->second};
  if (us > 0) {
    rate.per_us = amount / us;
    rate.share = least_us / us;
  }
  return rate;
}

// "1.67 MB/s"; from the largest of `prefixes` on with more digits before the point: "4800 GB/s".
std::string scaled_text(double number, std::string_view prefixes, std::string_view unit) {
  std::string prefix;
  for (const char next : prefixes) {
    if (number < 1000) break;
    number /= 1000;
    prefix = next;
  }
  return fmt::format("{} {}{}", three_digits(number), prefix, unit);
}

constexpr std::string_view kOfBytes = "kMG", kOfOperations = "kMGT";

std::string share_text(const Rate& rate, std::string_view prefixes, std::string_view unit) {
  return fmt::format("{}, {} % of {} ({}, {})\n", scaled_text(1e6 * rate.per_us, prefixes, unit),
                     three_digits(100 * rate.share), rate.name, scaled_text(1e6 * rate.of_device, prefixes, unit),
                     rate.source);
}

}  // namespace

double Work::all_operations() const { return std::reduce(operations.begin(), operations.end()); }

Unit Work::main_unit() const { return static_cast<Unit>(std::ranges::max_element(operations) - operations.begin()); }

Work& Work::operator+=(const Work& other) {
  weight_bytes += other.weight_bytes;
  cache_bytes += other.cache_bytes;
  for (size_t i = 0; i < kUnits; ++i) operations[i] += other.operations[i];
  return *this;
}

Work work_of(const graph::Graph& graph, const Schedule& schedule, std::span<const double> cached_tokens) {
  WorkOfSteps steps(graph, schedule, cached_tokens);
  for (const Step& step : schedule.steps) steps.add(step);
  return steps.work();
}

Bounds bounds_of(const Work& work, const DeviceProfile& device, double us) {
  const DeviceNumbers& numbers = device.numbers;
  double least_us = 0;
  for (size_t i = 0; i < kUnits; ++i) {
    const double rate = numbers.*kUnitInfos[i].rate;
    if (rate > 0) least_us += work.operations[i] / rate;
  }
  const UnitInfo& unit = info_of(work.main_unit());
  const double copy = numbers.bytes_per_us;
  return {work, rate_of(work.bytes(), us, copy > 0 ? work.bytes() / copy : 0, copy, "a copy", device, "bytes_per_us"),
          rate_of(work.all_operations(), us, least_us, numbers.*unit.rate, unit.name, device, unit.number)};
}

std::string text_of(const Bounds& bounds) {
  const auto whole = [](double bytes) { return bytes_text(static_cast<uint64_t>(bytes)); };
  return fmt::format("  memory: {} of weights and {} of caches, {}", whole(bounds.work.weight_bytes),
                     whole(bounds.work.cache_bytes), share_text(bounds.memory, kOfBytes, "B/s")) +
         fmt::format("  arithmetic: {} of products, {}", scaled_text(bounds.work.all_operations(), kOfOperations, "OP"),
                     share_text(bounds.arithmetic, kOfOperations, "OP/s"));
}

nlohmann::ordered_json json_of(const Bounds& bounds) {
  const auto of_rate = [](const Rate& rate, double unit, std::string_view key) {
    return nlohmann::ordered_json{{key, rate.per_us / unit},
                                  {"share", rate.share},
                                  {"of", rate.name},
                                  {fmt::format("device_{}", key), rate.of_device / unit},
                                  {"source", rate.source}};
  };
  return {{"weight_bytes", bounds.work.weight_bytes},
          {"cache_bytes", bounds.work.cache_bytes},
          {"operations", bounds.work.all_operations()},
          {"memory", of_rate(bounds.memory, 1e3, "gb_per_second")},
          {"arithmetic", of_rate(bounds.arithmetic, 1e6, "tera_operations_per_second")},
          {"nearest_bound", bounds.nearest()}};
}

}  // namespace qgen::model
