// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/fixed_model.h"

#include <fmt/format.h>

#include <map>

#include "runtime/engine/library/blob_writer.h"
#include "runtime/models/graph/fixed_part.h"

namespace qgen::graph {

struct FixedModel::State {
  Tensors described(const std::vector<NamedTensor>& named) const {
    Tensors all;
    for (const NamedTensor& one : named) {
      const FixedPart::Tensor& tensor = part.tensors[one.tensor];
      all.emplace(one.name, HostTensor{tensor.dtype, tensor.shape, {}});
    }
    return all;
  }

  FixedPart part;
  std::optional<BoundGraph> bound = {};
};

namespace {

// What a model that was moved from has.
const KernelLibrary& no_kernels() {
  static const std::string blob = blob_format::write_blob({});
  static const KernelLibrary none = *KernelLibrary::open({{}, std::as_bytes(std::span(blob))});
  return none;
}

// Puts a part on the device.
struct Preparation {
  FixedPart& part;
  Executor& executor;

  Expected<DeviceTensor> uploaded(const FixedPart::Constant& constant) {
    auto tensor = executor.allocate(constant.dtype, constant.shape, Storage::buffer, constant.layout);
    if (!tensor) return tensor;
    if (Done written = executor.write_stored(*tensor, constant.bytes); !written) return written.error();
    return tensor;
  }

  Expected<std::vector<DeviceTensor>> upload() {
    std::vector<DeviceTensor> uploads;
    for (const FixedPart::Constant& constant : part.constants) {
      auto tensor = uploaded(constant);
      if (!tensor) return tensor.error();
      uploads.push_back(*std::move(tensor));
    }
    return uploads;
  }

  Expected<DeviceTensor> arena_in(const DeviceTensor* lent) {
    if (!lent) return executor.allocate(DType::u8, {static_cast<int64_t>(part.arena_bytes)}, Storage::buffer);
    return DeviceTensor(lent->shared_memory());
  }

  Expected<std::vector<DeviceTensor>> place(const DeviceTensor& arena) {
    std::vector<DeviceTensor> placed;
    for (const FixedPart::Tensor& tensor : part.tensors) {
      auto made = executor.place(arena, tensor.offset, tensor.dtype, tensor.shape, tensor.layout);
      if (!made) return made.error();
      placed.push_back(*std::move(made));
    }
    return placed;
  }

  Expected<DeviceTensor> scratch_of(const DeviceTensor& arena, size_t step) {
    const auto bytes = static_cast<int64_t>(scratch_bytes(part.own_kernels->choices()[step]));
    return executor.place(arena, *part.steps[step].scratch, DType::u8, Shape{bytes});
  }

  static const DeviceTensor* tensor_of(const FixedPart::Operand& operand, const std::vector<DeviceTensor>& tensors,
                                       const std::vector<DeviceTensor>& constants) {
    switch (operand.kind) {
      case FixedPart::Operand::Kind::tensor: return &tensors[operand.index];
      case FixedPart::Operand::Kind::constant: return &constants[operand.index];
      case FixedPart::Operand::Kind::none: break;
    }
    return nullptr;
  }

  Expected<BoundGraph> bound(const DeviceTensor* lent) {
    const auto constants = upload();
    if (!constants) return constants.error();
    const auto arena = arena_in(lent);
    if (!arena) return arena.error();
    auto tensors = place(*arena);
    if (!tensors) return tensors.error();
    std::map<size_t, DeviceTensor> scratch;
    std::vector<Work> works;
    const auto choices = part.own_kernels->choices();
    for (size_t i = 0; i < part.steps.size(); ++i) {
      Work work{&choices[i], {}, nullptr};
      for (const FixedPart::Operand& operand : part.steps[i].operands)
        work.operands.push_back(tensor_of(operand, *tensors, *constants));
      if (part.steps[i].scratch) {
        auto made = scratch_of(*arena, i);
        if (!made) return made.error();
        work.scratch = &scratch.emplace(i, *std::move(made)).first->second;
      }
      works.push_back(std::move(work));
    }
    executor.make_pipelines(choices);
    auto recording = executor.record(works);
    if (!recording) return recording.error();
    BoundGraph::Parts parts{.tensors = *std::move(tensors), .inputs = part.inputs, .outputs = part.outputs};
    for (const FixedPart::Tensor& tensor : part.tensors) parts.owners.push_back(tensor.owner);
    part.constants.clear();  // the device has them
    return BoundGraph(std::move(parts), *std::move(recording));
  }
};

}  // namespace

Expected<FixedModel> FixedModel::open(const Device& device, std::span<const std::byte> file,
                                      const ExecutorOptions& options) {
  auto part = read_fixed(file, device.profile());
  if (!part) return part.error();
  auto executor = Executor::create(device, part->own_kernels->library(), options);
  if (!executor) return executor.error();
  return FixedModel(std::make_unique<State>(State{*std::move(part)}), *std::move(executor));
}

Done FixedModel::prepare(const DeviceTensor* arena) {
  if (!state_) return moved_from("model");
  if (state_->bound) {
    return arena ? Done(refused("the model is prepared already", "call prepare() before run() and record()"))
                 : Done(std::monostate{});
  }
  auto bound = Preparation{state_->part, executor_}.bound(arena);
  if (!bound) return bound.error();
  state_->bound.emplace(*std::move(bound));
  return std::monostate{};
}

Expected<Tensors> FixedModel::run(const Tensors& inputs) {
  if (Done ready = prepare(); !ready) return ready.error();
  return state_->bound->run(executor_, inputs);
}

Done FixedModel::record(Commands& commands, const LentTensors& inputs, const LentTensors& outputs) {
  if (Done ready = prepare(); !ready) return ready;
  return state_->bound->record(executor_, commands, inputs, outputs);
}

uint64_t FixedModel::arena_bytes() const { return state_ ? state_->part.arena_bytes : 0; }
Tensors FixedModel::inputs() const { return state_ ? state_->described(state_->part.inputs) : Tensors(); }
Tensors FixedModel::outputs() const { return state_ ? state_->described(state_->part.outputs) : Tensors(); }
const std::string& FixedModel::compiled_for() const {
  static const std::string nothing;
  return state_ ? state_->part.device : nothing;
}
Executor& FixedModel::executor() { return executor_; }
const KernelLibrary& FixedModel::library() const { return state_ ? state_->part.own_kernels->library() : no_kernels(); }

FixedModel::FixedModel(std::unique_ptr<State> state, Executor executor)
    : state_(std::move(state)), executor_(std::move(executor)) {}
FixedModel::FixedModel(FixedModel&&) noexcept = default;
// The old executor goes before its kernels, as in the destructor.
FixedModel& FixedModel::operator=(FixedModel&& other) noexcept {
  FixedModel old(std::move(other));
  std::swap(state_, old.state_);
  std::swap(executor_, old.executor_);
  return *this;
}
FixedModel::~FixedModel() = default;

}  // namespace qgen::graph
