// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/check_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

#include "common/count_text.h"
#include "common/nearest.h"
#include "runtime/models/onnx/order.h"

namespace qgen::onnx {

constexpr int64_t kFirstOpset = 7, kLastOpset = 25;

namespace {

// ---- what ONNX says in text only ------------------------------------------------------------------------------------

// Of the operator, or of any where `op` is empty.
struct RangeRow {
  std::string_view attribute, op;
  int64_t least, greatest;
};
constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();
constexpr int64_t kLastType = 23;  // of TensorProto.DataType
constexpr RangeRow kRanges[] = {
    {"align_corners", "", 0, 1},
    {"allowzero", "", 0, 1},
    {"antialias", "", 0, 1},
    {"bits", "MatMulNBits", 2, 8},
    {"block_size", "", 0, kNoEnd},
    {"blocksize", "", 1, kNoEnd},
    {"ceil_mode", "", 0, 1},
    {"channels_last", "", 0, 1},
    {"count_include_pad", "", 0, 1},
    {"dtype", "", 0, kLastType},
    {"exclude_outside", "", 0, 1},
    {"group", "", 1, kNoEnd},
    {"hidden_size", "", 1, kNoEnd},
    {"K", "MatMulNBits", 1, kNoEnd},
    {"keepdims", "", 0, 1},
    {"N", "MatMulNBits", 1, kNoEnd},
    {"noop_with_empty_axes", "", 0, 1},
    {"num_outputs", "Split", 1, kNoEnd},
    {"output_dtype", "", 0, kLastType},
    {"saturate", "", 0, 1},
    {"spatial", "", 0, 1},
    {"stash_type", "", 1, kLastType},
    {"storage_order", "", 0, 1},
    {"to", "Cast", 1, kLastType},
    {"training_mode", "", 0, 1},
    {"transA", "", 0, 1},
    {"transB", "", 0, 1},
};

struct WordsRow {
  std::string_view attribute, op;
  std::array<std::string_view, 7> words;
};
constexpr WordsRow kWords[] = {
    {"approximate", "", {"none", "tanh"}},
    {"auto_pad", "", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}},
    {"coordinate_transformation_mode",
     "Resize",
     {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize",
      "tf_half_pixel_for_nn"}},
    {"keep_aspect_ratio_policy", "", {"stretch", "not_larger", "not_smaller"}},
    {"mode", "DepthToSpace", {"DCR", "CRD"}},
    {"mode", "Pad", {"constant", "reflect", "edge", "wrap"}},
    {"mode", "Resize", {"nearest", "linear", "cubic"}},
    {"mode", "Upsample", {"nearest", "linear", "bilinear"}},
    {"nearest_mode", "", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}},
};

// "1", "0 to 1", "1 or more".
std::string range_text(int64_t least, int64_t greatest) {
  if (greatest == kNoEnd) return fmt::format("{} or more", least);
  return least == greatest ? fmt::format("{}", least) : fmt::format("{} to {}", least, greatest);
}

Done check_value(const Node& node, const std::string& attribute, const AttributeData& data) {
  const auto is_of = [&](const auto& row) {
    return row.attribute == attribute && (row.op.empty() || row.op == node.op);
  };
  if (const auto* integer = std::get_if<int64_t>(&data)) {
    const auto row = std::ranges::find_if(kRanges, is_of);
    if (row != std::end(kRanges) && (*integer < row->least || *integer > row->greatest))
      return refused(fmt::format("its attribute '{}' is {}, and can be {}", attribute, *integer,
                                 range_text(row->least, row->greatest)));
  }
  if (const auto* word = std::get_if<std::string>(&data)) {
    const auto row = std::ranges::find_if(kWords, is_of);
    if (row == std::end(kWords)) return std::monostate{};
    std::vector<std::string_view> words(row->words.begin(), row->words.end());
    std::erase(words, std::string_view());
    if (std::ranges::find(words, *word) == words.end())
      return refused(
          fmt::format("its attribute '{}' is '{}', and can be {}", attribute, *word, fmt::join(words, ", ")));
  }
  if (const auto* real = std::get_if<float>(&data); real && attribute == "epsilon" && !(*real >= 0))
    return refused(fmt::format("its attribute 'epsilon' is {}, and can be 0 or more", *real));
  return std::monostate{};
}

// ---- a node ---------------------------------------------------------------------------------------------------------

// "integer" -> "an integer", "reals" -> "a list of floating-point numbers".
std::string with_article(std::string_view kind) {
  if (kind == "integer") return "an integer";
  const bool is_list = kind.ends_with('s');
  return is_list ? fmt::format("a list of {}", kind) : fmt::format("a {}", kind);
}

Error unknown_attribute(const Node& node, const SchemaRow& row, const std::string& attribute) {
  std::vector<std::string_view> names;
  for (const SchemaAttribute& known : attributes_of(row)) names.push_back(known.name);
  for (const SchemaRow& version : versions_of(node.op, node.domain)) {
    const auto attributes = attributes_of(version);
    if (std::ranges::find(attributes, attribute, &SchemaAttribute::name) == attributes.end()) continue;
    return refused(
        version.since > row.since
            ? fmt::format("it has an attribute '{}', which {} has from opset {} on", attribute, node.op, version.since)
            : fmt::format("it has an attribute '{}', which {} has no longer from opset {} on", attribute, node.op,
                          row.since));
  }
  std::string hint = did_you_mean(attribute, names);
  if (hint.empty())
    hint = names.empty() ? fmt::format("{} has no attributes", node.op)
                         : fmt::format("{} has {}", node.op, fmt::join(names, ", "));
  return refused(fmt::format("it has an attribute '{}', which {} does not have", attribute, node.op), std::move(hint));
}

Done check_attributes(const Node& node, const SchemaRow& row) {
  const auto known = attributes_of(row);
  for (const auto& [name, data] : node.attributes) {
    const auto found = std::ranges::find(known, name, &SchemaAttribute::name);
    if (found == known.end()) return unknown_attribute(node, row, name);
    if (kind_of(data) != found->kind)
      return refused(fmt::format("its attribute '{}' is {}, and ONNX defines it as {}", name,
                                 with_article(kind_of(data)), with_article(found->kind)));
    if (Done sound = check_value(node, name, data); !sound) return sound;
  }
  for (const SchemaAttribute& attribute : known) {
    if (attribute.is_required && !node.find(attribute.name))
      return refused(fmt::format("it has no attribute '{}', and {} needs one", attribute.name, node.op));
  }
  const std::string_view padding = node.word("auto_pad", "NOTSET");
  const auto pads = node.integers("pads");
  if (padding != "NOTSET" && std::ranges::any_of(pads, [](int64_t pad) { return pad != 0; }))
    return refused(fmt::format("it has both pads [{}] and auto_pad '{}', and ONNX allows only one of them",
                               fmt::join(pads, ", "), padding),
                   "remove pads, or set auto_pad to NOTSET");
  if (node.op == "Constant" && node.attributes.size() != 1) {
    std::vector<std::string_view> names;
    for (const auto& [name, data] : node.attributes) names.push_back(name);
    return refused(names.empty()
                       ? std::string("it has no value")
                       : fmt::format("it has {}, and a Constant must have one value", fmt::join(names, " and ")));
  }
  return std::monostate{};
}

Done check_count(const Node& node, const std::vector<SchemaParameter>& parameters,
                 const std::vector<std::string>& given, std::string_view what) {
  const bool has_any = !parameters.empty() && parameters.back().is_variadic;
  if (given.size() > parameters.size() && !has_any)
    return refused(
        fmt::format("it has {}, and {} has at most {}", count_text(given.size(), what), node.op, parameters.size()));
  for (size_t i = 0; i < parameters.size(); ++i) {
    const bool is_there = i < given.size() && !given[i].empty();
    if (!is_there && !parameters[i].is_optional && !(parameters[i].is_variadic && i > 0))
      return refused(fmt::format("it has no {} {} ({}), which {} needs", what, i, parameters[i].name, node.op));
  }
  return std::monostate{};
}

}  // namespace

Done check_node(const Node& node, int64_t opset) {
  const SchemaRow* row = find_schema(node.op, node.domain, opset);
  if (!row) return std::monostate{};
  if (Done sound = check_attributes(node, *row); !sound) return sound;
  if (Done sound = check_count(node, inputs_of(*row), node.inputs, "input"); !sound) return sound;
  const auto outputs = outputs_of(*row);
  const bool has_any = !outputs.empty() && outputs.back().is_variadic;
  if (node.outputs.size() > outputs.size() && !has_any)
    return refused(fmt::format("it has {}, and {} has at most {}", count_text(node.outputs.size(), "output"), node.op,
                               outputs.size()));
  return std::monostate{};
}

// ---- types ----------------------------------------------------------------------------------------------------------

namespace {

std::optional<ElementType> type_named(std::string_view text) {
  for (int64_t number = 1; number <= kLastType; ++number) {
    const ElementType type = element_type(number);
    if (type != ElementType::other && name(type) == text) return type;
  }
  return std::nullopt;
}

bool is_short_real(ElementType type) { return is_real(type) && type != ElementType::f64; }

// The element types of values, as far as constants, inputs and the schema say them.
class Types {
 public:
  explicit Types(const Model& model, int64_t opset) : opset_(opset) {
    for (const auto& [name, tensor] : model.graph.initializers) types_.emplace(name, tensor->type);
    for (const ValueInfo& input : model.graph.inputs) {
      if (input.type != ElementType::other) types_.emplace(input.name, input.type);
    }
  }

  Done follow(const Node& node) {
    const SchemaRow* row = find_schema(node.op, node.domain, opset_);
    if (!row) return std::monostate{};
    std::map<std::string_view, Bound> bound;
    const auto inputs = inputs_of(*row);
    for (size_t i = 0; i < node.inputs.size() && !inputs.empty(); ++i) {
      const SchemaParameter& parameter = inputs[std::min(i, inputs.size() - 1)];
      if (Done sound = bind(*row, parameter, node.inputs[i], bound); !sound) return sound;
    }
    const auto outputs = outputs_of(*row);
    for (size_t i = 0; i < node.outputs.size() && !outputs.empty(); ++i) {
      const auto type = type_of(node, *row, outputs[std::min(i, outputs.size() - 1)], bound);
      if (type && !node.outputs[i].empty()) types_.insert_or_assign(node.outputs[i], *type);
    }
    return std::monostate{};
  }

  Done check_declared(std::string_view what, const ValueInfo& value) const {
    const auto type = find(value.name);
    if (!type || value.declared_type == 0 || element_type(value.declared_type) == *type) return std::monostate{};
    return refused(fmt::format("{} '{}' is declared as {}, and the model computes {}", what, value.name,
                               name(element_type(value.declared_type)), name(*type)));
  }

 private:
  std::optional<ElementType> find(std::string_view value) const {
    const auto found = types_.find(value);
    return found == types_.end() ? std::nullopt : std::optional(found->second);
  }

  struct Bound {
    ElementType type;
    std::string_view parameter;
  };

  Done bind(const SchemaRow& row, const SchemaParameter& parameter, const std::string& value,
            std::map<std::string_view, Bound>& bound) const {
    const auto type = value.empty() || parameter.type.empty() ? std::nullopt : find(value);
    if (!type) return std::monostate{};
    const auto refuse = [&](const auto& allowed) {
      return refused(fmt::format("its input {} ('{}') is {}, and can be {}", parameter.name, value, name(*type),
                                 fmt::join(allowed, ", ")));
    };
    if (const auto fixed = type_named(parameter.type)) {
      if (*fixed != *type) return refuse(std::vector{parameter.type});
      return std::monostate{};
    }
    auto allowed = types_of(row, parameter.type);
    if (!allowed.empty() && std::ranges::find(allowed, name(*type)) == allowed.end()) {
      std::erase_if(allowed, [](std::string_view text) { return !type_named(text); });
      return refuse(allowed);
    }
    const auto [found, is_first] = bound.emplace(parameter.type, Bound{*type, parameter.name});
    // Exporters write f16 constants for f32 inputs, for example as bounds of a Clip. The reader decides about them.
    if (is_short_real(found->second.type) && is_short_real(*type)) return std::monostate{};
    if (!is_first && found->second.type != *type)
      return refused(fmt::format("its input {} ('{}') is {} and its input {} is {}, and ONNX requires the same type",
                                 parameter.name, value, name(*type), found->second.parameter,
                                 name(found->second.type)));
    return std::monostate{};
  }

  std::optional<ElementType> type_of(const Node& node, const SchemaRow& row, const SchemaParameter& output,
                                     const std::map<std::string_view, Bound>& bound) const {
    if (const auto fixed = type_named(output.type)) return fixed;
    if (const auto found = bound.find(output.type); found != bound.end()) return found->second.type;
    if (node.op == "Constant" && !node.attributes.empty()) return type_of_constant(node.attributes.begin()->second);
    const bool is_cast = node.op == "Cast", quantizes = node.op == "QuantizeLinear";
    if (is_cast || quantizes) {
      const int64_t said = node.integer(is_cast ? "to" : "output_dtype", 0);
      const ElementType type = said == 0 && quantizes ? ElementType::u8 : element_type(said);
      return type == ElementType::other ? std::nullopt : std::optional(type);
    }
    if (node.op == "ConstantOfShape") {
      const AttributeData* value = node.find("value");
      return value ? type_of_constant(*value) : ElementType::f32;
    }
    const auto allowed = types_of(row, output.type);
    return allowed.size() == 1 ? type_named(allowed.front()) : std::nullopt;
  }

  static std::optional<ElementType> type_of_constant(const AttributeData& data) {
    if (const auto* tensor = std::get_if<TensorPtr>(&data)) return (*tensor)->type;
    const std::string_view kind = kind_of(data);
    if (kind.starts_with("integer")) return ElementType::i64;
    if (kind.starts_with("real")) return ElementType::f32;
    return std::nullopt;
  }

  int64_t opset_;
  std::map<std::string, ElementType, std::less<>> types_;
};

}  // namespace

Error about_node(const Node& node, Error error) {
  // A function that waited says its own node, whoever reads its result.
  if (!error.message.starts_with("node '"))
    error.message = fmt::format("node '{}' ({}): {}", node.name, node.op, error.message);
  return error;
}

Done check_model(const Model& model) {
  const auto opset = model.opsets.find("");
  if (opset == model.opsets.end()) return refused("the model does not name its opset");
  if (opset->second < kFirstOpset || opset->second > kLastOpset)
    return unsupported(fmt::format("the model has opset {}, and qgen reads 1 to {}", opset->second, kLastOpset));
  const auto order = order_of(model.graph);
  if (!order) return order.error();
  Types types(model, opset->second);
  for (const size_t i : order->nodes) {
    const Node& node = model.graph.nodes[i];
    if (Done sound = check_node(node, opset->second); !sound) return about_node(node, sound.error());
    if (Done sound = types.follow(node); !sound) return about_node(node, sound.error());
  }
  for (const auto& [what, declared] : {std::pair("output", &model.graph.outputs), {"value", &model.graph.values}}) {
    for (const ValueInfo& value : *declared) {
      if (Done sound = types.check_declared(what, value); !sound) return sound;
    }
  }
  return std::monostate{};
}

}  // namespace qgen::onnx
