// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What bind() and Weight do on a device when a graph is prepared, done here on the host.
#include "runtime/models/graph/fixed_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/engine/calls/registry.h"
#include "runtime/engine/selector/missing_features.h"
#include "runtime/engine/tensor/weight_form.h"
#include "runtime/models/graph/prepared.h"

namespace qgen::graph {
namespace {

// The constants that steps read, each once.
class ConstantTable {
 public:
  explicit ConstantTable(const Graph& graph) : graph_(graph) {}

  Expected<uint32_t> parameter(ValueId value) {
    return once({value, 0, Kind::parameter, 0}, [&]() -> Expected<FixedPart::Constant> {
      const auto data = data_of(value);
      if (!data) return data.error();
      return FixedPart::Constant{(*data)->dtype, (*data)->shape, Layout::strided, (*data)->data};
    });
  }
  Expected<uint32_t> form(ValueId value, const Call& call, Layout layout) {
    return once({value, call.turned_groups, Kind::form, static_cast<int64_t>(layout)},
                [&]() -> Expected<FixedPart::Constant> {
                  const auto matrix = matrix_read(value, call);
                  if (!matrix) return matrix.error();
                  auto packed = pack(layout, *matrix);
                  if (!packed) return packed.error();
                  return FixedPart::Constant{DType::i8, matrix->shape, layout, std::move(packed->bytes)};
                });
  }
  Expected<uint32_t> sums(ValueId value, const Call& call) {
    return once({value, call.turned_groups, Kind::sums, call.row_sum_run}, [&]() -> Expected<FixedPart::Constant> {
      const auto matrix = matrix_read(value, call);
      if (!matrix) return matrix.error();
      const int64_t run = call.row_sum_run == 0 ? matrix_of(matrix->shape).k() : call.row_sum_run;
      const HostTensor sums =
          make_tensor<int32_t>(DType::i32, run_sums_shape(matrix->shape, run), run_sums(*matrix, run));
      return FixedPart::Constant{sums.dtype, sums.shape, Layout::strided, sums.data};
    });
  }

  std::vector<FixedPart::Constant> all() && { return std::move(all_); }

 private:
  enum class Kind : uint8_t { parameter, form, sums };
  using Key = std::tuple<ValueId, int64_t, Kind, int64_t>;  // with the groups by which it is turned; the layout or run

  template <typename Make>
  Expected<uint32_t> once(const Key& key, const Make& make) {
    if (const auto known = numbers_.find(key); known != numbers_.end()) return known->second;
    auto made = make();
    if (!made) return made.error();
    all_.push_back(*std::move(made));
    return numbers_.emplace(key, static_cast<uint32_t>(all_.size() - 1)).first->second;
  }

  Expected<const HostTensor*> data_of(ValueId value) const {
    const auto& data = graph_.values[value].data;
    if (data) return data.get();
    return refused(fmt::format("the data of constant '{}' is missing", graph_.values[value].name));
  }
  Expected<HostTensor> matrix_read(ValueId value, const Call& call) const {
    const auto data = data_of(value);
    if (!data) return data.error();
    return call.turned_groups == 0 ? **data : turned_weight(**data, call.turned_groups);
  }

  const Graph& graph_;
  std::map<Key, uint32_t> numbers_;
  std::vector<FixedPart::Constant> all_;
};

// How many operands of the whole a recipe's launches name: executors take so many.
size_t named_operands(const Choice& choice) {
  size_t count = 0;
  for (const Launch& launch : choice.launches) {
    for (const OperandSource source : launch.operands) {
      if (!source.is_scratch && source.index != kAbsent) count = std::max(count, size_t{source.index} + 1);
    }
  }
  return count;
}

Expected<FixedPart::Operand> constant(const Expected<uint32_t>& number) {
  if (!number) return number.error();
  return FixedPart::Operand{FixedPart::Operand::Kind::constant, *number};
}

Expected<FixedPart::Operand> fixed(const Step& step, size_t operand, ConstantTable& constants) {
  const Source& source = step.operands[operand];
  switch (source.kind) {
    case Source::Kind::tensor: return FixedPart::Operand{FixedPart::Operand::Kind::tensor, source.index};
    case Source::Kind::constant: return constant(constants.parameter(source.index));
    case Source::Kind::weight: {
      const Layout layout = layout_read(*step.choice, operand, step.call.operands[operand]->layout);
      return constant(constants.form(source.index, step.call, layout));
    }
    case Source::Kind::none: break;
  }
  for (const TensorInfo& info : step.entry->tensors) {
    if (info.operand == operand && info.role == TensorInfo::Role::derived)
      return constant(constants.sums(step.operands[info.source].index, step.call));
  }
  return FixedPart::Operand();
}

Expected<FixedPart::Step> fixed(const Step& step, const Schedule& schedule, ConstantTable& constants) {
  FixedPart::Step made;
  for (size_t i = 0; i < step.operands.size(); ++i) {
    const auto operand = fixed(step, i, constants);
    if (!operand)
      return refused(fmt::format("node '{}': {}", step.name, operand.error().message), operand.error().hint);
    made.operands.push_back(*operand);
  }
  if (step.choice->recipe) made.operands.resize(std::min(made.operands.size(), named_operands(*step.choice)));
  if (step.scratch) made.scratch = schedule.memory.offsets[*step.scratch];
  return made;
}

void count_kernels(const Choice& choice, FixedPart& part) {
  for (const Launch& launch : choice.launches) {
    const InterfaceInfo& interface = launch.op->interface_of(*launch.kernel);
    if (!interface.shared_bytes.empty())
      part.shared_memory_bytes = std::max(part.shared_memory_bytes, interface.shared_bytes_of(launch.specialization));
    part.has_matrices |= !interface.cooperative_matrices_of(launch.specialization).empty();
  }
}

}  // namespace

Expected<FixedPart> fix(const Graph& graph, const Schedule& schedule, const KernelLibrary& library,
                        const DeviceProfile& device) {
  FixedPart part{.device = device.name, .architecture = device.architecture};
  part.arena_bytes = std::max<uint64_t>(schedule.memory.bytes, 1);
  const std::vector<uint32_t> owners = owners_of(schedule);
  for (size_t i = 0; i < schedule.tensors.size(); ++i) {
    const TensorDesc& value = schedule.values[schedule.tensors[i].value];
    part.tensors.push_back(
        {value.dtype, value.shape, schedule.tensors[i].layout, schedule.memory.offsets[i], owners[i]});
  }
  ConstantTable constants(graph);
  for (const Step& step : schedule.steps) {
    auto made = fixed(step, schedule, constants);
    if (!made) return made.error();
    part.steps.push_back(*std::move(made));
    count_kernels(*step.choice, part);
  }
  part.constants = std::move(constants).all();
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    part.inputs.push_back({graph.values[graph.inputs[i]].name, schedule.inputs[i]});
  for (size_t i = 0; i < graph.outputs.size(); ++i)
    part.outputs.push_back({graph.outputs[i].name, schedule.outputs[i]});
  auto own = OwnKernels::of(schedule.steps, library);
  if (!own) return own.error();
  part.own_kernels = *std::move(own);
  return part;
}

// ---- which device runs it -------------------------------------------------------------------------------------------

namespace {

std::string why_not(const OwnKernels::Kernel& kernel, const DeviceProfile& device) {
  if (const FeatureMask missing = device.missing(kernel.needs); missing != 0)
    return selector::missing_text(missing, device);
  const uint64_t invocations = uint64_t{kernel.workgroup[0]} * kernel.workgroup[1] * kernel.workgroup[2];
  if (invocations > static_cast<uint64_t>(device.numbers.max_workgroup_invocations))
    return fmt::format("has workgroups of {}, and the device runs {}", invocations,
                       device.numbers.max_workgroup_invocations);
  for (size_t i = 0; i < 3; ++i) {
    if (kernel.workgroup[i] > device.max_workgroup_size[i]) {
      return fmt::format("has workgroups with a side of {}, and the device takes {}", kernel.workgroup[i],
                         device.max_workgroup_size[i]);
    }
  }
  if (kernel.push_constants_bytes > device.max_push_constants_bytes)
    return fmt::format("has {} bytes of push constants, and the device takes {}", kernel.push_constants_bytes,
                       device.max_push_constants_bytes);
  const uint32_t subgroup = kernel.required_subgroup_size;
  const bool is_selectable =
      device.has_subgroup_size_control && subgroup >= device.min_subgroup_size && subgroup <= device.max_subgroup_size;
  if (subgroup == 0 || is_selectable || subgroup == device.numbers.subgroup_size) return "";
  return fmt::format("needs subgroups of {}, which the device does not have", subgroup);
}

}  // namespace

std::string why_not(const FixedPart& part, const DeviceProfile& device) {
  const bool is_related =
      part.device == device.name || (!part.architecture.empty() && part.architecture == device.architecture);
  if (part.has_matrices && !is_related) return "has kernels on the cooperative matrices of that device";
  if (int64_t{part.shared_memory_bytes} > device.numbers.shared_memory_bytes)
    return fmt::format("needs {} bytes of shared memory, and the device has {}", part.shared_memory_bytes,
                       device.numbers.shared_memory_bytes);
  for (const OwnKernels::Kernel& kernel : part.own_kernels->parts().kernels) {
    if (const std::string why = why_not(kernel, device); !why.empty())
      return fmt::format("its kernel '{}' {}", kernel.id, why);
  }
  return "";
}

}  // namespace qgen::graph
