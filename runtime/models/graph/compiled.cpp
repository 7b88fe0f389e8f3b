// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/compiled.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "common/json/read.h"
#include "common/json/write.h"
#include "common/text.h"
#include "runtime/engine/calls/attributes.h"
#include "runtime/models/graph/head_json.h"
#include "runtime/models/graph/model_file.h"
#include "vocabulary/dtypes.h"
#include "vocabulary/layouts.h"

namespace qgen::graph {
namespace {

constexpr FileKind kCompiledFile{{'Q', 'G', 'E', 'N', 'M', 'O', 'D', 'L'}, 4, "a compiled model"};

// ---- writing --------------------------------------------------------------------------------------------------------

class Writer {
 public:
  explicit Writer(const Compiled& compiled) : compiled_(compiled) {}

  std::vector<std::byte> write() {
    const Graph& graph = compiled_.graph;
    Json head{{"device", compiled_.device}};
    Json& shapes = head["shapes"] = Json::object();
    for (const auto& [name, shape] : compiled_.shapes) shapes[name] = shape;
    Json& values = head["values"] = Json::array();
    for (const Value& value : graph.values) values.push_back(json_of(value));
    Json& nodes = head["nodes"] = Json::array();
    for (const Node& node : graph.nodes) nodes.push_back(json_of(node));
    head["inputs"] = graph.inputs;
    Json& outputs = head["outputs"] = Json::array();
    for (const Named& output : graph.outputs) outputs.push_back(Json{{"name", output.name}, {"value", output.value}});
    Json& weights = head["weights"] = Json::array();
    for (const auto& [value, weight] : compiled_.weights) {
      Json one = json_of(weight);
      one["value"] = value;
      weights.push_back(std::move(one));
    }
    head["decision"] = json_of(compiled_.decision);
    head["own_kernels"] =
        json_of_own_kernels(compiled_.own_kernels->parts(), [this](auto bytes) { return put(bytes); });

    return write_model_file(kCompiledFile, json::to_text(head), data_);
  }

 private:
  // Where the bytes begin in the data.
  size_t put(std::span<const std::byte> bytes) { return data_.put(bytes); }

  Json json_of(const Value& value) {
    Json one{{"name", value.name}, {"dtype", name(value.dtype)}, {"shape", value.shape}};
    if (value.is_constant) one["is_constant"] = true;
    if (value.data) one["at"] = put(value.data->data);
    return one;
  }

  static Json json_of(const Node& node) {
    Json one{{"name", node.name}, {"op", node.op}};
    for (const auto& [key, ports] : {std::pair("inputs", &node.inputs), std::pair("outputs", &node.outputs)}) {
      Json& list = one[key] = Json::array();
      for (const Port& port : *ports) list.push_back(Json{{"operand", port.operand}, {"value", port.value}});
    }
    Json& attributes = one["attributes"] = Json::object();
    for (const auto& [name, value] : node.attributes)
      std::visit([&, &key = name](const auto& held) { attributes[key] = held; }, value);
    return one;
  }

  Json json_of(const SavedWeight& weight) {
    Json one{{"shape", weight.shape}, {"fits_four_bits", weight.fits_four_bits}};
    Json& forms = one["forms"] = Json::array();
    for (const PackedWeight& form : weight.forms)
      forms.push_back(Json{{"layout", name(form.layout)}, {"bytes", form.bytes.size()}, {"at", put(form.bytes)}});
    Json& sums = one["sums"] = Json::array();
    for (const auto& [run, tensor] : weight.sums)
      sums.push_back(Json{{"run", run}, {"shape", tensor.shape}, {"at", put(tensor.data)}});
    Json& turned = one["turned"] = Json::array();
    for (const auto& [groups, other] : weight.turned) {
      Json turned_one = json_of(other);
      turned_one["groups"] = groups;
      turned.push_back(std::move(turned_one));
    }
    return one;
  }

  Json json_of(const Decision& decision) const {
    Json one{{"cost_us", decision.cost_us}, {"lower_bound_us", decision.lower_bound_us}};
    Json& ways = one["ways"] = Json::array();
    for (const std::vector<Layout>& layouts : decision.ways) {
      Json words = Json::array();
      for (const Layout layout : layouts) words.push_back(name(layout));
      ways.push_back(std::move(words));
    }
    Json& copies = one["copies"] = Json::array();
    for (const Decision::Copy& copy : decision.copies)
      copies.push_back(Json{{"value", copy.value}, {"from", name(copy.from)}, {"to", name(copy.to)}});
    Json& kernels = one["kernels"] = Json::array();
    for (size_t i = 0; i < decision.kernels.size(); ++i)
      kernels.push_back(Json{{"id", decision.kernels[i]}, {"digest", fmt::format("{:016x}", compiled_.digests[i])}});
    return one;
  }

  const Compiled& compiled_;
  FileData data_;
};

// ---- reading --------------------------------------------------------------------------------------------------------

class Reader : public HeadReader {
 public:
  using HeadReader::HeadReader;

  Expected<Compiled> read() {
    Compiled compiled;
    const Keys root(*this, document().root,
                    {"device", "shapes", "values", "nodes", "inputs", "outputs", "weights", "decision", "own_kernels"});
    compiled.device = text(root["device"]);
    if (const auto* shapes = root["shapes"].as<json::Members>()) {
      for (const json::Member& member : *shapes) compiled.shapes.emplace(member.key, integers(member.value));
    }
    Graph& graph = compiled.graph;
    for (const json::Value& value : list(root["values"])) graph.values.push_back(value_of(value));
    for (const json::Value& node : list(root["nodes"])) graph.nodes.push_back(node_of(node));
    for (const int64_t input : integers(root["inputs"])) graph.inputs.push_back(value_id(input, root["inputs"]));
    for (const json::Value& output : list(root["outputs"])) {
      const Keys keys(*this, output, {"name", "value"});
      graph.outputs.push_back({text(keys["name"]), value_id(keys["value"])});
    }
    for (const json::Value& weight : list(root["weights"])) {
      const Keys keys(*this, weight, {"shape", "fits_four_bits", "forms", "sums", "turned", "value"});
      compiled.weights.emplace(value_id(keys["value"]), weight_of(keys));
    }
    decision_of(root["decision"], compiled);
    if (named_values_ > graph.values.size()) fail("it names a value that does not exist");
    OwnKernels::Parts kernels = read_own_kernels(*this, root["own_kernels"]);
    if (!fault().empty()) return refused(fault());
    auto own = OwnKernels::create(std::move(kernels));
    if (!own) return own.error();
    compiled.own_kernels = *std::move(own);
    return compiled;
  }

 private:
  ValueId value_id(int64_t number, const json::Value& value) {
    if (number < 0 || number > std::numeric_limits<int32_t>::max()) {
      fail(json::wrong(document(), value, "the number of a value").message);
      return 0;
    }
    named_values_ = std::max(named_values_, static_cast<size_t>(number) + 1);
    return static_cast<ValueId>(number);
  }
  ValueId value_id(const json::Value& value) { return value_id(integer(value), value); }
  Value value_of(const json::Value& json) {
    const Keys keys(*this, json, {"name", "dtype", "shape", "is_constant", "at"});
    Value value{.name = text(keys["name"]), .shape = shape(keys["shape"])};
    value.dtype = dtype(keys["dtype"]);
    value.is_constant = keys.find("is_constant") != nullptr;
    if (const json::Value* at = keys.find("at"))
      value.data = std::make_shared<const HostTensor>(tensor(value.dtype, value.shape, *at));
    return value;
  }

  std::vector<Port> ports(const json::Value& json) {
    std::vector<Port> all;
    for (const json::Value& port : list(json)) {
      const Keys keys(*this, port, {"operand", "value"});
      all.push_back({text(keys["operand"]), value_id(keys["value"])});
    }
    return all;
  }

  AttributeValue attribute(const json::Value& value) {
    if (const auto* flag = value.as<bool>()) return *flag;
    if (const auto* number = value.as<int64_t>()) return *number;
    if (const auto* number = value.as<double>()) return *number;
    if (const auto* word = value.as<std::string>()) return *word;
    return integers(value);
  }

  Node node_of(const json::Value& json) {
    const Keys keys(*this, json, {"name", "op", "inputs", "outputs", "attributes"});
    Node node{.name = text(keys["name"]), .op = text(keys["op"]), .inputs = ports(keys["inputs"])};
    node.outputs = ports(keys["outputs"]);
    if (const auto* attributes = keys["attributes"].as<json::Members>()) {
      for (const json::Member& member : *attributes) node.attributes.emplace(member.key, attribute(member.value));
    }
    return node;
  }

  SavedWeight weight_of(const Keys& keys) {
    SavedWeight weight{.shape = shape(keys["shape"]), .fits_four_bits = flag(keys["fits_four_bits"])};
    for (const json::Value& form : list(keys["forms"])) {
      const Keys form_keys(*this, form, {"layout", "bytes", "at"});
      weight.forms.push_back(
          {layout(form_keys["layout"]), weight.shape, bytes(form_keys["at"], integer(form_keys["bytes"]))});
    }
    for (const json::Value& sums : list(keys["sums"])) {
      const Keys sums_keys(*this, sums, {"run", "shape", "at"});
      const Shape sides = shape(sums_keys["shape"]);
      weight.sums.emplace(integer(sums_keys["run"]), tensor(DType::i32, sides, sums_keys["at"]));
    }
    for (const json::Value& turned : list(keys["turned"])) {
      const Keys turned_keys(*this, turned, {"shape", "fits_four_bits", "forms", "sums", "turned", "groups"});
      weight.turned.emplace(integer(turned_keys["groups"]), weight_of(turned_keys));
    }
    return weight;
  }

  void decision_of(const json::Value& json, Compiled& compiled) {
    const Keys keys(*this, json, {"cost_us", "lower_bound_us", "ways", "copies", "kernels"});
    Decision& decision = compiled.decision;
    decision.cost_us = real(keys["cost_us"]);
    decision.lower_bound_us = real(keys["lower_bound_us"]);
    for (const json::Value& way : list(keys["ways"])) {
      std::vector<Layout>& layouts = decision.ways.emplace_back();
      for (const json::Value& word : list(way)) layouts.push_back(layout(word));
    }
    for (const json::Value& copy : list(keys["copies"])) {
      const Keys copy_keys(*this, copy, {"value", "from", "to"});
      decision.copies.push_back({value_id(copy_keys["value"]), layout(copy_keys["from"]), layout(copy_keys["to"])});
    }
    for (const json::Value& kernel : list(keys["kernels"])) {
      const Keys kernel_keys(*this, kernel, {"id", "digest"});
      decision.kernels.push_back(text(kernel_keys["id"]));
      const std::string digits = text(kernel_keys["digest"]);
      uint64_t digest = 0;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), digest, 16);
      if (error != std::errc() || end != digits.data() + digits.size()) fail("a digest is invalid");
      compiled.digests.push_back(digest);
    }
  }

  size_t named_values_ = 0;  // the largest number of one, and 1
};

}  // namespace

std::string device_text(const DeviceProfile& profile) {
  return fmt::format("{} {} {:x}", hexadecimal(profile.device_uuid), hexadecimal(profile.driver_uuid),
                     profile.driver_version);
}

bool has_quarantined(const Compiled& compiled, const DeviceProfile& device, const TimeBook* times) {
  const std::vector<std::string>& kernels = compiled.decision.kernels;
  for (size_t i = 0; times && i < kernels.size() && i < compiled.digests.size(); ++i) {
    if (times->has_quarantined(device, kernels[i], compiled.digests[i])) return true;
  }
  return false;
}

std::vector<std::byte> write_compiled(const Compiled& compiled) { return Writer(compiled).write(); }

bool is_compiled(std::span<const std::byte> begin) { return is_file_of(kCompiledFile, begin); }

Expected<Compiled> read_compiled(std::span<const std::byte> file) {
  const auto opened = open_model_file(kCompiledFile, file);
  if (!opened) return opened.error();
  const auto document = json::read("head", opened->head);
  if (!document) return refused("it is damaged: " + document.error().message);
  auto compiled = Reader(*document, opened->data).read();
  if (!compiled) return refused("it is damaged: " + compiled.error().message);
  return compiled;
}

}  // namespace qgen::graph
