// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A graph's text, by its keys. What the graph itself cannot be, resolve() refuses (graph.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "common/nearest.h"
#include "common/yaml/reader.h"
#include "runtime/planner/graph_text.h"

namespace qgen::planner {
namespace {

// All representations with this name, or this beginning.
RepresentationSet find_representations(std::string_view word) {
  if (word == "any") return any_representation();
  const bool is_beginning = word.ends_with('*');
  if (is_beginning) word.remove_suffix(1);
  RepresentationSet found;
  for (Representation r : any_representation()) {
    const std::string full = name(r);
    if (is_beginning ? full.starts_with(word) : full == word) found = found | r;
  }
  return found;
}

class Reader : yaml::Reader {
 public:
  explicit Reader(const std::string& file) : yaml::Reader(file) {}

  Expected<GraphText> run(std::string_view yaml) && {
    const Done done = yaml::Reader::run(yaml, [&](const YAML::Node& root) { read_graph(root); });
    if (!done) return done.error();
    return std::move(result_);
  }

 private:
  RepresentationSet representations(const YAML::Node& node) {
    RepresentationSet set;
    if (node.IsSequence()) {
      items(node, "a set", [&](const YAML::Node& item) { set = set | representations_of_word(item); });
      if (node.size() == 0) fault(node, "this set names no representation");
    } else {
      set = representations_of_word(node);
    }
    return set;
  }

  RepresentationSet representations_of_word(const YAML::Node& node) {
    if (!scalar(node, "a representation")) return {};
    const RepresentationSet found = find_representations(node.Scalar());
    if (!found.empty()) return found;
    std::vector<std::string> names;
    for (Representation r : any_representation()) names.push_back(name(r));
    const std::vector<std::string_view> words(names.begin(), names.end());
    fault(node, fmt::format("unknown representation '{}'", node.Scalar()),
          fmt::format("one of {}; a name cut short by '*'; any", fmt::join(names, ", ")),
          did_you_mean(node.Scalar(), words));
    return {};
  }

  // ---- the graph -------------------------------------------------------------------------------------------------

  void read_graph(const YAML::Node& root) {
    fields(root, "a graph",
           {{"device", false, [&](const YAML::Node& node) { read_device(node); }},
            {"tensors", true, [&](const YAML::Node& node) { read_tensors(node); }},
            {"operators", true,
             [&](const YAML::Node& map) {
               entries(map, "operators",
                       [&](const YAML::Node& key, const YAML::Node& value) { read_operator(key, value); });
             }},
            {"conversions", false, [&](const YAML::Node& node) {
               items(node, "conversions", [&](const YAML::Node& item) { read_rule(item); });
             }}});
    std::vector<std::string_view> names;
    for (const Tensor& tensor : result_.graph.tensors) names.push_back(tensor.name);
    const std::set<std::string_view> known(names.begin(), names.end());
    for (const YAML::Node& node : rule_tensors_) {
      if (known.contains(node.Scalar())) continue;
      fault(node, fmt::format("unknown tensor '{}'", node.Scalar()), "a name under tensors",
            did_you_mean(node.Scalar(), names));
    }
  }

  void read_device(const YAML::Node& map) {
    DeviceModel& device = result_.device;
    fields(map, "device",
           {{"image_extent", false, [&](const YAML::Node& node) { read_extent(node); }},
            {"buffer_bytes", false,
             [&](const YAML::Node& node) { integer(node, "buffer_bytes", 1, device.buffer_bytes); }},
            {"bytes_per_us", false,
             [&](const YAML::Node& node) { number(node, "bytes_per_us", 1e-3, 1e12, device.bytes_per_us); }},
            {"launch_us", false, [&](const YAML::Node& node) { number(node, "launch_us", 0, 1e6, device.launch_us); }},
            {"preferred", false, [&](const YAML::Node& node) {
               if (const auto index = word(node, "storage", names_of(kStorages)))
                 device.preferred = kStorages[*index].storage;
             }}});
  }

  void read_extent(const YAML::Node& list) {
    std::vector<int64_t> sides;
    items(list, "image_extent",
          [&](const YAML::Node& item) { integer(item, "a side of an image", 1, sides.emplace_back()); });
    if (sides.size() == 3) {
      std::copy(sides.begin(), sides.end(), result_.device.image_extent.begin());
    } else if (list.IsSequence()) {
      fault(list, fmt::format("image_extent has {} sides", sides.size()), "[width, height, depth]");
    }
  }

  void read_tensors(const YAML::Node& map) {
    entries(map, "tensors", [&](const YAML::Node& key, const YAML::Node& value) {
      Tensor& tensor = result_.graph.tensors.emplace_back();
      tensor.name = key.Scalar();
      fields(value, fmt::format("tensor '{}'", tensor.name),
             {{"shape", true, [&](const YAML::Node& node) { read_shape(node, tensor.shape); }},
              {"dtype", true, [&](const YAML::Node& node) { read_dtype(node, tensor.dtype); }},
              {"arrives_as", false, [&](const YAML::Node& node) { tensor.arrives_as = representations(node); }},
              {"leaves_as", false, [&](const YAML::Node& node) { tensor.leaves_as = representations(node); }}});
    });
  }

  void read_shape(const YAML::Node& list, Shape& shape) {
    items(list, "shape", [&](const YAML::Node& item) { integer(item, "a side", 0, shape.emplace_back()); });
    if (Done done = check_shape(shape); !done) fault(list, done.error().message, "", done.error().hint);
  }

  void read_dtype(const YAML::Node& node, DType& dtype) {
    if (const auto index = word(node, "dtype", names_of(kDTypes))) dtype = kDTypes[*index].dtype;
  }

  void read_operator(const YAML::Node& key, const YAML::Node& map) {
    Node& node = result_.graph.nodes.emplace_back();
    node.name = key.Scalar();
    std::optional<YAML::Node> kernels;
    fields(map, fmt::format("operator '{}'", node.name),
           {{"op", true,
             [&](const YAML::Node& value) {
               if (scalar(value, "op")) node.op = value.Scalar();
             }},
            {"reads", false, [&](const YAML::Node& value) { read_operands(value, "reads", node.inputs); }},
            {"writes", false, [&](const YAML::Node& value) { read_operands(value, "writes", node.outputs); }},
            {"kernels", true, [&](const YAML::Node& value) { kernels.emplace(value); }}});
    if (!kernels) return;
    entries(*kernels, "kernels",
            [&](const YAML::Node& name, const YAML::Node& value) { read_kernel(name, value, node); });
  }

  void read_operands(const YAML::Node& list, std::string_view what, std::vector<std::string>& tensors) {
    items(list, what, [&](const YAML::Node& item) {
      if (scalar(item, "a tensor")) tensors.push_back(item.Scalar());
    });
  }

  void read_kernel(const YAML::Node& key, const YAML::Node& map, Node& node) {
    Kernel& kernel = node.kernels.emplace_back();
    kernel.name = key.Scalar();
    fields(map, fmt::format("kernel '{}'", kernel.name),
           {{"takes", true,
             [&](const YAML::Node& list) {
               items(list, "takes", [&](const YAML::Node& item) { kernel.takes.push_back(representations(item)); });
             }},
            {"synced", false, [&](const YAML::Node& value) { read_synced(value, node, kernel); }},
            {"cost_us", true,
             [&](const YAML::Node& value) { number(value, "cost_us", 0, kMostMicroseconds, kernel.cost_us); }}});
  }

  void read_synced(const YAML::Node& list, const Node& node, Kernel& kernel) {
    const bool is_one_group = list.IsSequence() && list.size() > 0 && !list[0].IsSequence();
    if (is_one_group) return kernel.synced.push_back(group(list, node));
    items(list, "synced", [&](const YAML::Node& item) { kernel.synced.push_back(group(item, node)); });
  }

  std::vector<uint32_t> group(const YAML::Node& list, const Node& node) {
    std::vector<uint32_t> operands;
    items(list, "synced", [&](const YAML::Node& item) {
      if (const auto operand = find_operand(item, node)) operands.push_back(*operand);
    });
    return operands;
  }

  std::optional<uint32_t> find_operand(const YAML::Node& item, const Node& node) {
    if (!scalar(item, "an operand")) return std::nullopt;
    std::vector<std::string_view> names(node.inputs.begin(), node.inputs.end());
    names.insert(names.end(), node.outputs.begin(), node.outputs.end());
    const auto count = std::count(names.begin(), names.end(), item.Scalar());
    if (count == 1) return static_cast<uint32_t>(std::find(names.begin(), names.end(), item.Scalar()) - names.begin());
    const auto number = yaml::parse_number<uint32_t>(item.Scalar());
    if (count == 0 && number && *number < names.size()) return number;
    if (count > 1) {
      fault(item, fmt::format("'{}' is an operand of '{}' {} times", item.Scalar(), node.name, count),
            fmt::format("a number from 0 to {}", names.size() - 1));
    } else {
      fault(item, fmt::format("'{}' is no operand of '{}'", item.Scalar(), node.name),
            fmt::format("one of {}", fmt::join(names, ", ")), did_you_mean(item.Scalar(), names));
    }
    return std::nullopt;
  }

  void read_rule(const YAML::Node& map) {
    ConversionRule& rule = result_.conversions.emplace_back();
    fields(map, "a conversion",
           {{"tensor", false,
             [&](const YAML::Node& node) {
               if (!scalar(node, "tensor")) return;
               rule.tensor = node.Scalar();
               rule_tensors_.push_back(node);
             }},
            {"from", true, [&](const YAML::Node& node) { rule.from = representations(node); }},
            {"to", true, [&](const YAML::Node& node) { rule.to = representations(node); }},
            {"cost_us", true, [&](const YAML::Node& node) {
               if (node.IsScalar() && node.Scalar() == "none") return;
               number(node, "cost_us", 0, kMostMicroseconds, rule.cost_us.emplace());
             }}});
  }

  GraphText result_;
  std::vector<YAML::Node> rule_tensors_;  // checked when all tensors are known
};

}  // namespace

Expected<GraphText> read_graph(std::string_view yaml, const std::string& file) { return Reader(file).run(yaml); }

PlanOptions plan_options(const GraphText& text) {
  PlanOptions options{text.device, {}};
  if (text.conversions.empty()) return options;
  options.conversion = [rules = text.conversions, otherwise = conversion_cost(text.device)](
                           const Tensor& tensor, Representation from, Representation to) {
    for (const ConversionRule& rule : rules) {
      const bool is_tensor = rule.tensor.empty() || rule.tensor == tensor.name;
      if (is_tensor && rule.from.contains(from) && rule.to.contains(to)) return rule.cost_us;
    }
    return otherwise(tensor, from, to);
  };
  return options;
}

}  // namespace qgen::planner
