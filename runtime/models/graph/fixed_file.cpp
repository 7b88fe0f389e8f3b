// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The file of fixed parts (model_file.h). Rows of numbers are lists: a tensor is [dtype, shape, layout, offset, owner], an
// operand [kind, index].
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "common/json/read.h"
#include "common/json/write.h"
#include "runtime/models/graph/fixed_part.h"
#include "runtime/models/graph/head_json.h"
#include "runtime/models/graph/model_file.h"

namespace qgen::graph {
namespace {

using OperandKind = FixedPart::Operand::Kind;

constexpr FileKind kFixedFile{{'Q', 'G', 'E', 'N', 'F', 'I', 'X', 'D'}, 1, "a model that is fixed for its devices"};

// ---- writing --------------------------------------------------------------------------------------------------------

Json json_of(const std::vector<NamedTensor>& named) {
  Json list = Json::array();
  for (const NamedTensor& one : named) list.push_back({one.name, one.tensor});
  return list;
}

Json json_of(const FixedPart::Step& step) {
  Json operands = Json::array();
  for (const FixedPart::Operand& operand : step.operands)
    operands.push_back({static_cast<int>(operand.kind), operand.index});
  Json one{{"operands", operands}};
  if (step.scratch) one["scratch"] = *step.scratch;
  return one;
}

Json json_of(const FixedPart& part, FileData& data) {
  Json tensors = Json::array(), constants = Json::array(), steps = Json::array();
  for (const FixedPart::Tensor& tensor : part.tensors)
    tensors.push_back({name(tensor.dtype), tensor.shape, name(tensor.layout), tensor.offset, tensor.owner});
  for (const FixedPart::Constant& constant : part.constants) {
    constants.push_back(
        {name(constant.dtype), constant.shape, name(constant.layout), data.put(constant.bytes), constant.bytes.size()});
  }
  for (const FixedPart::Step& step : part.steps) steps.push_back(json_of(step));
  return {{"device", part.device},
          {"architecture", part.architecture},
          {"arena_bytes", part.arena_bytes},
          {"shared_memory_bytes", part.shared_memory_bytes},
          {"has_matrices", part.has_matrices},
          {"tensors", tensors},
          {"constants", constants},
          {"steps", steps},
          {"inputs", json_of(part.inputs)},
          {"outputs", json_of(part.outputs)},
          {"own_kernels", json_of_own_kernels(part.own_kernels->parts(), [&](auto bytes) { return data.put(bytes); })}};
}

// ---- reading --------------------------------------------------------------------------------------------------------

class FixedReader : public HeadReader {
 public:
  FixedReader(const json::Document& document, std::span<const std::byte> data) : HeadReader(document, data) {
    const Keys root(*this, document.root, {"parts"});
    values_ = list(root["parts"]);
  }

  // All parts, without the bytes of their constants.
  Expected<std::vector<FixedPart>> read() {
    std::vector<FixedPart> parts;
    for (const json::Value& value : values_) {
      FixedPart part = part_of(value);
      OwnKernels::Parts kernels = read_own_kernels(*this, keys_of(value)["own_kernels"]);
      if (kernels.choices.size() != part.steps.size()) fail("it has not a choice for each step");
      if (!fault().empty()) return refused(fault());
      auto own = OwnKernels::create(std::move(kernels));
      if (!own) return own.error();
      part.own_kernels = *std::move(own);
      parts.push_back(std::move(part));
    }
    if (!fault().empty()) return refused(fault());
    if (parts.empty()) return refused("it has no part");
    return parts;
  }

  Done read_constants(size_t index, FixedPart& part) {
    const json::List items = list(keys_of(values_[index])["constants"]);
    for (size_t i = 0; i < items.size() && fault().empty(); ++i) {
      const json::List constant = row(items[i], 5);
      part.constants[i].bytes = bytes(constant[3], integer(constant[4]));
    }
    return fault().empty() ? Done(std::monostate{}) : refused(fault());
  }

 private:
  Keys keys_of(const json::Value& part) {
    return {*this,
            part,
            {"device", "architecture", "arena_bytes", "shared_memory_bytes", "has_matrices", "tensors", "constants",
             "steps", "inputs", "outputs", "own_kernels"}};
  }
  json::List row(const json::Value& value, size_t count) {
    json::List items = list(value);
    if (items.size() != count) fail("a row has the wrong length");
    items.resize(count);
    return items;
  }

  FixedPart part_of(const json::Value& json) {
    const Keys keys = keys_of(json);
    FixedPart part{.device = text(keys["device"]), .architecture = text(keys["architecture"])};
    part.arena_bytes = number<uint64_t>(keys["arena_bytes"], kMostArenaBytes);
    part.shared_memory_bytes = number<uint32_t>(keys["shared_memory_bytes"]);
    part.has_matrices = flag(keys["has_matrices"]);
    for (const json::Value& item : list(keys["tensors"])) part.tensors.push_back(tensor_of(item));
    for (const json::Value& item : list(keys["constants"])) part.constants.push_back(constant_of(item));
    for (const json::Value& item : list(keys["steps"])) part.steps.push_back(step_of(item, part));
    for (const FixedPart::Tensor& tensor : part.tensors) check_is_below(tensor.owner, part.tensors.size());
    part.inputs = named_of(keys["inputs"], part);
    part.outputs = named_of(keys["outputs"], part);
    return part;
  }

  void check_is_below(uint64_t index, size_t count) {
    if (index >= count) fail("it names a tensor or constant that does not exist");
  }
  FixedPart::Tensor tensor_of(const json::Value& value) {
    const json::List items = row(value, 5);
    return {dtype(items[0]), shape(items[1]), layout(items[2]), number<uint64_t>(items[3], kMostArenaBytes),
            number<uint32_t>(items[4])};
  }
  FixedPart::Constant constant_of(const json::Value& value) {
    const json::List items = row(value, 5);
    return {dtype(items[0]), shape(items[1]), layout(items[2]), {}};
  }
  FixedPart::Step step_of(const json::Value& value, const FixedPart& part) {
    const Keys keys(*this, value, {"operands", "scratch"});
    FixedPart::Step step;
    for (const json::Value& item : list(keys["operands"])) {
      const json::List items = row(item, 2);
      const OperandKind kind{number<uint8_t>(items[0], static_cast<uint64_t>(OperandKind::constant))};
      step.operands.push_back({kind, number<uint32_t>(items[1])});
      if (kind == OperandKind::tensor) check_is_below(step.operands.back().index, part.tensors.size());
      if (kind == OperandKind::constant) check_is_below(step.operands.back().index, part.constants.size());
    }
    if (const json::Value* scratch = keys.find("scratch")) step.scratch = number<uint64_t>(*scratch, kMostArenaBytes);
    return step;
  }
  std::vector<NamedTensor> named_of(const json::Value& value, const FixedPart& part) {
    std::vector<NamedTensor> named;
    for (const json::Value& item : list(value)) {
      const json::List items = row(item, 2);
      named.push_back({text(items[0]), number<uint32_t>(items[1])});
      check_is_below(named.back().tensor, part.tensors.size());
    }
    return named;
  }

  static constexpr uint64_t kMostArenaBytes = uint64_t{1} << 48;  // sums of such numbers do not overflow

  json::List values_;
};

}  // namespace

std::vector<std::byte> write_fixed(std::span<const FixedPart> parts) {
  FileData data;
  Json head{{"parts", Json::array()}};
  for (const FixedPart& part : parts) head["parts"].push_back(json_of(part, data));
  return write_model_file(kFixedFile, json::to_text(head), data);
}

bool is_fixed(std::span<const std::byte> begin) { return is_file_of(kFixedFile, begin); }

namespace {

// 0: the same model of device; 1: the same architecture; 2: another.
int distance(const FixedPart& part, const DeviceProfile& device) {
  if (part.device == device.name) return 0;
  return !part.architecture.empty() && part.architecture == device.architecture ? 1 : 2;
}

// The nearest that the device can run.
Expected<size_t> nearest(const std::vector<FixedPart>& parts, const DeviceProfile& device) {
  std::optional<size_t> best;
  std::string refusals;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string why = why_not(parts[i], device);
    if (!why.empty()) refusals += fmt::format("{}for {}: {}", refusals.empty() ? "" : "; ", parts[i].device, why);
    else if (!best || distance(parts[i], device) < distance(parts[*best], device)) best = i;
  }
  if (best) return *best;
  return Error{Error::Kind::unsupported, fmt::format("'{}' can run no part of this model; {}", device.name, refusals),
               "compile the model for this device too"};
}

// `choose` says which of the parts; its constants are read.
template <typename Choose>
Expected<std::vector<FixedPart>> read(std::span<const std::byte> file, const Choose& choose) {
  const auto opened = open_model_file(kFixedFile, file);
  if (!opened) return opened.error();
  const auto document = json::read("head", opened->head);
  if (!document) return refused("it is damaged: " + document.error().message);
  FixedReader reader(*document, opened->data);
  auto parts = reader.read();
  if (!parts) return refused("it is damaged: " + parts.error().message);
  const Expected<std::vector<size_t>> chosen = choose(*parts);
  if (!chosen) return chosen.error();
  std::vector<FixedPart> all;
  for (const size_t i : *chosen) {
    if (Done done = reader.read_constants(i, (*parts)[i]); !done)
      return refused("it is damaged: " + done.error().message);
    all.push_back(std::move((*parts)[i]));
  }
  return all;
}

}  // namespace

Expected<std::vector<FixedPart>> read_fixed(std::span<const std::byte> file) {
  return read(file, [](const std::vector<FixedPart>& parts) -> Expected<std::vector<size_t>> {
    std::vector<size_t> all;
    for (size_t i = 0; i < parts.size(); ++i) all.push_back(i);
    return all;
  });
}

Expected<FixedPart> read_fixed(std::span<const std::byte> file, const DeviceProfile& device) {
  auto one = read(file, [&](const std::vector<FixedPart>& parts) -> Expected<std::vector<size_t>> {
    const auto best = nearest(parts, device);
    if (!best) return best.error();
    return std::vector<size_t>{*best};
  });
  if (!one) return one.error();
  return std::move(one->front());
}

}  // namespace qgen::graph
