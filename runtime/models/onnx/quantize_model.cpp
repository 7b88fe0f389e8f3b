// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// It edits the file's message, so that parts unknown to qgen stay in it.
#include "runtime/models/onnx/quantize_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/files.h"
#include "onnx/onnx.pb.h"
#include "runtime/models/onnx/external_data.h"

namespace qgen::onnx {
namespace {

constexpr int64_t kOldestOpset = 10;      // QuantizeLinear
constexpr int64_t kOpsetOfChannels = 13;  // DequantizeLinear with an axis
constexpr const char* kMicrosoft = "com.microsoft";
constexpr std::string_view kLayers[] = {"Conv", "Gemm", "MatMul"};
// Between layers: qgen and ONNX Runtime compute them with bytes.
constexpr std::string_view kBetween[] = {"Add",         "AveragePool", "Clip",      "Concat",  "GlobalAveragePool",
                                         "HardSigmoid", "HardSwish",   "LeakyRelu", "MaxPool", "Mul",
                                         "Relu",        "Resize",      "Sigmoid"};
// Operators whose first result is no float32, though their first input is.
constexpr std::string_view kOthers[] = {
    "ArgMax", "ArgMin",      "Cast",    "DynamicQuantizeLinear", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN",
    "Less",   "LessOrEqual", "NonZero", "QuantizeLinear",        "Shape", "Size"};
// Operators that have several operands of the result's type.
constexpr std::string_view kOfSeveral[] = {"Add", "Concat", "Div", "Max", "Mean", "Min",
                                           "Mul", "PRelu",  "Pow", "Sub", "Sum",  "Where"};
// Its input needs no quantization: it is a part of the layer before it.
constexpr std::string_view kFused[] = {"Clip", "Relu"};

bool is_among(std::span<const std::string_view> list, const std::string& op) {
  return std::ranges::find(list, op) != list.end();
}

bool is_float(const ::onnx::TensorProto& tensor) { return tensor.data_type() == ::onnx::TensorProto::FLOAT; }

std::vector<float> floats_of(const ::onnx::TensorProto& tensor) {
  if (!tensor.has_raw_data()) return {tensor.float_data().begin(), tensor.float_data().end()};
  std::vector<float> values(tensor.raw_data().size() / sizeof(float));
  std::memcpy(values.data(), tensor.raw_data().data(), values.size() * sizeof(float));
  return values;
}

template <typename T>
void set_data(::onnx::TensorProto& tensor, int type, const std::vector<int64_t>& shape, const std::vector<T>& values) {
  tensor.set_data_type(type);
  for (const int64_t side : shape) tensor.add_dims(side);
  tensor.set_raw_data(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
}

const ::onnx::AttributeProto* attribute_of(const ::onnx::NodeProto& node, std::string_view name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

}  // namespace

double sqnr_db(double signal, double noise) {
  constexpr double kMost = 200;
  if (noise <= 0) return kMost;
  return signal <= 0 ? 0 : std::min(kMost, 10 * std::log10(signal / noise));
}

// ---- ranges ---------------------------------------------------------------------------------------------------------

float ActivationRange::scale() const {
  const float width = std::max(high, 0.0f) - std::min(low, 0.0f);
  const float scale = width / 255;
  return scale > 0 && std::isfinite(scale) ? scale : 1;
}

int32_t ActivationRange::zero_point() const {
  const float at = -128 - std::nearbyint(std::min(low, 0.0f) / scale());
  return static_cast<int32_t>(std::clamp(at, -128.0f, 127.0f));
}

float ActivationRange::rounded(float value) const {
  const float zero = static_cast<float>(zero_point());
  return (std::clamp(std::nearbyint(value / scale()) + zero, -128.0f, 127.0f) - zero) * scale();
}

// ---- the model ------------------------------------------------------------------------------------------------------

struct FloatModel::State {
  ::onnx::ModelProto proto;
  int64_t opset = 0;
  bool has_external_data = false;

  std::map<std::string, const ::onnx::TensorProto*, std::less<>> constants;
  std::map<std::string, std::vector<int>, std::less<>> readers;  // of values: nodes
  std::map<std::string, int, std::less<>> writers;
  std::set<std::string, std::less<>> floats;  // values of float32 that the model computes, or is given
  std::set<std::string, std::less<>> outputs;

  void read();
  // Moves external data into the model.
  Done join(const std::filesystem::path& folder);
  // A Gemm or MatMul whose weight has 4 bits.
  bool is_nibble_layer(const ::onnx::NodeProto& node, const QuantizeOptions& options) const;
  bool is_layer(const ::onnx::NodeProto& node) const {
    return node.domain().empty() && is_among(kLayers, node.op_type()) && node.input_size() >= 2 &&
           floats.contains(node.input(0)) && constants.contains(node.input(1)) &&
           is_float(*constants.at(node.input(1)));
  }
  bool is_quantized(const ::onnx::NodeProto& node, const QuantizeOptions& options) const {
    if (!node.domain().empty() || options.kept.contains(node.name())) return false;
    const auto is_computed = [this](const std::string& input) { return floats.contains(input); };
    return is_layer(node) || (!options.layers_only && is_among(kBetween, node.op_type()) &&
                              std::ranges::any_of(node.input(), is_computed));
  }
  bool may_be_fused(const std::string& value, const QuantizeOptions& options) const;
};

void FloatModel::State::read() {
  for (const auto& import : proto.opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") opset = import.version();
  }
  const ::onnx::GraphProto& graph = proto.graph();
  for (const auto& tensor : graph.initializer()) constants.emplace(tensor.name(), &tensor);
  for (const auto& node : graph.node()) {
    if (node.op_type() != "Constant" || node.output_size() != 1) continue;
    if (const auto* value = attribute_of(node, "value"); value && value->has_t())
      constants.emplace(node.output(0), &value->t());
  }
  for (const auto& input : graph.input()) {
    if (!constants.contains(input.name()) && input.type().tensor_type().elem_type() == ::onnx::TensorProto::FLOAT)
      floats.insert(input.name());
  }
  for (const auto& output : graph.output()) outputs.insert(output.name());
  // Files need not have their nodes in order, so until nothing is added.
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const auto& input : graph.node(i).input()) readers[input].push_back(i);
    for (const auto& output : graph.node(i).output()) writers[output] = i;
  }
  std::vector<std::string> fresh(floats.begin(), floats.end());
  while (!fresh.empty()) {
    const std::string value = std::move(fresh.back());
    fresh.pop_back();
    const auto read_by = readers.find(value);
    if (read_by == readers.end()) continue;
    for (const int i : read_by->second) {
      const auto& node = graph.node(i);
      const bool keeps = node.domain().empty() && !is_among(kOthers, node.op_type()) &&
                         (node.input(0) == value || is_among(kOfSeveral, node.op_type()));
      if (keeps && node.output_size() > 0 && floats.insert(node.output(0)).second) fresh.push_back(node.output(0));
    }
  }
}

bool FloatModel::State::may_be_fused(const std::string& value, const QuantizeOptions& options) const {
  const auto read_by = readers.find(value);
  if (read_by == readers.end() || read_by->second.size() != 1 || outputs.contains(value)) return false;
  const auto& reader = proto.graph().node(read_by->second.front());
  return is_quantized(reader, options) && is_among(kFused, reader.op_type());
}

Done FloatModel::State::join(const std::filesystem::path& folder) {
  for (auto& tensor : *proto.mutable_graph()->mutable_initializer()) {
    if (tensor.data_location() != ::onnx::TensorProto::EXTERNAL) continue;
    has_external_data = true;
    const auto refuse = [&](const std::string& why) {
      return refused(fmt::format("constant '{}': {}", tensor.name(), why));
    };
    const auto place = external_place(tensor);
    if (!place) return refuse(place.error().message);
    const int64_t size_bytes = place->size_bytes.value_or(-1);
    if (size_bytes < 0) return refuse("its external data has no length");
    const auto data = read_external(folder, *place, size_bytes);
    if (!data) return refuse(data.error().message);
    tensor.set_raw_data(std::string(reinterpret_cast<const char*>(data->data()), data->size()));
    tensor.clear_external_data();
    tensor.clear_data_location();
  }
  return std::monostate{};
}

bool FloatModel::State::is_nibble_layer(const ::onnx::NodeProto& node, const QuantizeOptions& options) const {
  if (options.weight_bits != 4 || !is_layer(node) || node.op_type() == "Conv") return false;
  const ::onnx::TensorProto& weight = *constants.at(node.input(1));
  if (weight.dims_size() != 2 || weight.dims(0) == 0 || weight.dims(1) == 0) return false;
  const auto is_one = [&](std::string_view name) {
    const auto* attribute = attribute_of(node, name);
    return !attribute || attribute->f() == 1;
  };
  const auto* transposed = attribute_of(node, "transA");
  return is_one("alpha") && is_one("beta") && (!transposed || transposed->i() == 0);
}

bool FloatModel::has_external_data() const { return state_->has_external_data; }

std::string FloatModel::file() const { return state_->proto.SerializeAsString(); }

FloatModel::FloatModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
FloatModel::FloatModel(FloatModel&&) noexcept = default;
FloatModel& FloatModel::operator=(FloatModel&&) noexcept = default;
FloatModel::~FloatModel() = default;

Expected<FloatModel> FloatModel::load(const std::filesystem::path& file) {
  const auto bytes = read_file(file);
  if (!bytes) return bytes.error();
  auto state = std::make_unique<State>();
  if (!state->proto.ParseFromString(*bytes) || !state->proto.has_graph())
    return refused(fmt::format("{} is no ONNX file", file.string()));
  if (Done joined = state->join(file.parent_path().empty() ? "." : file.parent_path()); !joined) return joined.error();
  state->read();
  if (state->opset < kOldestOpset)
    return refused(
        fmt::format("{} is of opset {}, and QuantizeLinear came with {}", file.string(), state->opset, kOldestOpset),
        "convert the model to opset 13 or later");
  return FloatModel(std::move(state));
}

Expected<std::vector<std::string>> FloatModel::activations(const QuantizeOptions& options) const {
  const ::onnx::GraphProto& graph = state_->proto.graph();
  for (const std::string& kept : options.kept) {
    const auto is_it = [&](const auto& node) { return node.name() == kept; };
    if (std::ranges::none_of(graph.node(), is_it)) return refused(fmt::format("the model has no node '{}'", kept));
  }
  std::vector<std::string> found;
  bool has_any = false;
  std::set<std::string_view> seen;
  const auto add = [&](const std::string& value) {
    if (state_->floats.contains(value) && !state_->constants.contains(value) && !state_->may_be_fused(value, options) &&
        seen.insert(value).second)
      found.push_back(value);
  };
  for (const auto& node : graph.node()) {
    if (!state_->is_quantized(node, options)) continue;
    has_any = true;
    if (state_->is_nibble_layer(node, options)) continue;
    const int inputs = state_->is_layer(node) ? 1 : node.input_size();
    for (int i = 0; i < inputs; ++i) add(node.input(i));
  }
  if (!has_any) return refused("the model has no layer with a constant float32 weight, so nothing can be quantized");
  return found;
}

std::string FloatModel::with_outputs(const std::vector<std::string>& values) const {
  ::onnx::ModelProto proto = state_->proto;
  proto.mutable_graph()->clear_output();
  proto.mutable_graph()->clear_value_info();
  for (const std::string& value : values) {
    auto& output = *proto.mutable_graph()->add_output();
    output.set_name(value);
    output.mutable_type()->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::FLOAT);
  }
  return proto.SerializeAsString();
}

// ---- writing --------------------------------------------------------------------------------------------------------

namespace {

// Adds the nodes and constants of a quantized model to a graph. Names begin with the name of their user.
class GraphWriter {
 public:
  GraphWriter(::onnx::GraphProto& graph, bool has_channels) : graph_(graph), has_channels_(has_channels) {
    for (const auto& tensor : graph.initializer()) names_.insert(tensor.name());
    for (const auto& node : graph.node()) names_.insert(node.output().begin(), node.output().end());
  }

  std::string unique(std::string name) {
    while (!names_.insert(name).second) name += "_";
    return name;
  }

  template <typename T>
  std::string constant(const std::string& wanted, int type, const std::vector<int64_t>& shape,
                       const std::vector<T>& values) {
    auto& tensor = *graph_.add_initializer();
    tensor.set_name(unique(wanted));
    set_data(tensor, type, shape, values);
    return tensor.name();
  }

  ::onnx::NodeProto node(const std::string& op, const std::string& name, std::vector<std::string> inputs) {
    ::onnx::NodeProto node;
    node.set_op_type(op);
    node.set_name(name);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(unique(name));
    return node;
  }

  // A QuantizeLinear and a DequantizeLinear; the second's output.
  std::string round_trip(const std::string& value, const ActivationRange& range,
                         std::vector<::onnx::NodeProto>& nodes) {
    const std::string scale =
        constant(value + "_scale", ::onnx::TensorProto::FLOAT, {}, std::vector<float>{range.scale()});
    const std::string zero = constant(value + "_zero_point", ::onnx::TensorProto::INT8, {},
                                      std::vector<int8_t>{static_cast<int8_t>(range.zero_point())});
    nodes.push_back(node("QuantizeLinear", value + "_quantized", {value, scale, zero}));
    nodes.push_back(node("DequantizeLinear", value + "_dequantized", {nodes.back().output(0), scale, zero}));
    return nodes.back().output(0);
  }

  struct Weight {
    std::string value;          // the layer's input
    std::vector<float> scales;  // of channels, or one
    double sqnr_db = 0;
  };
  // `axis`: of output channels.
  Weight weight(const ::onnx::TensorProto& tensor, size_t axis, std::vector<::onnx::NodeProto>& nodes);
  // A MatMulNBits with the matrix [N, K] or, where it is transposed, [K, N], and the Add of a bias.
  struct Nibbles {
    std::vector<::onnx::NodeProto> nodes;
    double sqnr_db = 0;
  };
  Nibbles nibbles(const ::onnx::NodeProto& layer, const ::onnx::TensorProto& weight, bool is_transposed);
  // nullopt: an integer of it would not fit into 32 bits.
  std::optional<std::string> bias(const ::onnx::TensorProto& tensor, float input_scale,
                                  const std::vector<float>& scales, std::vector<::onnx::NodeProto>& nodes);

 private:
  void set_axis(::onnx::NodeProto& dequantize, size_t axis) const {
    if (!has_channels_) return;
    auto& attribute = *dequantize.add_attribute();
    attribute.set_name("axis");
    attribute.set_type(::onnx::AttributeProto::INT);
    attribute.set_i(static_cast<int64_t>(axis));
  }

  ::onnx::GraphProto& graph_;
  bool has_channels_;
  std::set<std::string> names_;
};

GraphWriter::Weight GraphWriter::weight(const ::onnx::TensorProto& tensor, size_t axis,
                                        std::vector<::onnx::NodeProto>& nodes) {
  const std::vector<float> values = floats_of(tensor);
  const std::vector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  const size_t channels = has_channels_ ? static_cast<size_t>(shape[axis]) : 1;
  size_t inner = 1;
  for (size_t d = axis + 1; d < shape.size(); ++d) inner *= static_cast<size_t>(shape[d]);
  const auto channel_of = [&](size_t i) { return has_channels_ ? i / inner % channels : 0; };
  Weight made;
  made.scales.assign(channels, 0);
  for (size_t i = 0; i < values.size(); ++i) {
    float& most = made.scales[channel_of(i)];
    most = std::max(most, std::abs(values[i]));
  }
  for (float& scale : made.scales) scale = scale > 0 && std::isfinite(scale) ? std::max(scale / 127, 1e-30f) : 1;
  std::vector<int8_t> codes(values.size());
  double signal = 0, noise = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const float scale = made.scales[channel_of(i)];
    const float code = std::clamp(std::nearbyint(values[i] / scale), -127.0f, 127.0f);
    codes[i] = static_cast<int8_t>(code);
    signal += double{values[i]} * values[i];
    noise += (double{values[i]} - double{code} * scale) * (double{values[i]} - double{code} * scale);
  }
  made.sqnr_db = sqnr_db(signal, noise);
  const std::vector<int64_t> sides =
      has_channels_ ? std::vector<int64_t>{static_cast<int64_t>(channels)} : std::vector<int64_t>();
  const std::string quantized = constant(tensor.name() + "_quantized", ::onnx::TensorProto::INT8, shape, codes);
  const std::string scale = constant(tensor.name() + "_scale", ::onnx::TensorProto::FLOAT, sides, made.scales);
  const std::string zero =
      constant(tensor.name() + "_zero_point", ::onnx::TensorProto::INT8, sides, std::vector<int8_t>(channels, 0));
  nodes.push_back(node("DequantizeLinear", tensor.name() + "_dequantized", {quantized, scale, zero}));
  set_axis(nodes.back(), axis);
  made.value = nodes.back().output(0);
  return made;
}

GraphWriter::Nibbles GraphWriter::nibbles(const ::onnx::NodeProto& layer, const ::onnx::TensorProto& weight,
                                          bool is_transposed) {
  constexpr size_t kBlock = 32;
  const std::vector<float> values = floats_of(weight);
  const auto n = static_cast<size_t>(weight.dims(is_transposed ? 1 : 0)),
             k = static_cast<size_t>(weight.dims(is_transposed ? 0 : 1));
  const size_t blocks = (k + kBlock - 1) / kBlock;
  std::vector<uint8_t> codes(n * blocks * kBlock / 2, 0x88);  // 8 stands for 0
  std::vector<float> scales(n * blocks);
  double signal = 0, noise = 0;
  for (size_t row = 0; row < n; ++row) {
    for (size_t block = 0; block < blocks; ++block) {
      const size_t first = block * kBlock, last = std::min(first + kBlock, k);
      const auto at = [&](size_t i) { return values[is_transposed ? i * n + row : row * k + i]; };
      // The element of the largest magnitude becomes -8 or 8, so that all 16 integers are used.
      float extreme = 0;
      for (size_t i = first; i < last; ++i) {
        if (std::abs(at(i)) > std::abs(extreme)) extreme = at(i);
      }
      const float scale = std::abs(extreme) > 1e-30f && std::isfinite(extreme) ? extreme / -8 : 1;
      scales[row * blocks + block] = scale;
      for (size_t i = first; i < last; ++i) {
        const float code = std::clamp(std::nearbyint(at(i) / scale), -8.0f, 7.0f);
        uint8_t& pair = codes[((row * blocks + block) * kBlock + i - first) / 2];
        const auto nibble = static_cast<uint8_t>(static_cast<int>(code) + 8);
        pair = static_cast<uint8_t>((i - first) % 2 == 0 ? (pair & 0xf0) | nibble : (pair & 0x0f) | nibble << 4);
        signal += double{at(i)} * at(i);
        noise += (double{at(i)} - double{code} * scale) * (double{at(i)} - double{code} * scale);
      }
    }
  }
  const auto sides = [](std::initializer_list<size_t> list) { return std::vector<int64_t>(list.begin(), list.end()); };
  const std::string name = weight.name();
  Nibbles made{{}, sqnr_db(signal, noise)};
  auto& product = made.nodes.emplace_back(node(
      "MatMulNBits", layer.name().empty() ? name + "_product" : layer.name() + "_product",
      {layer.input(0), constant(name + "_nibbles", ::onnx::TensorProto::UINT8, sides({n, blocks, kBlock / 2}), codes),
       constant(name + "_scales", ::onnx::TensorProto::FLOAT, sides({n * blocks}), scales)}));
  product.set_domain(kMicrosoft);
  for (const auto& [key, number] : {std::pair("K", k), {"N", n}, {"bits", size_t{4}}, {"block_size", kBlock}}) {
    auto& attribute = *product.add_attribute();
    attribute.set_name(key);
    attribute.set_type(::onnx::AttributeProto::INT);
    attribute.set_i(static_cast<int64_t>(number));
  }
  if (layer.input_size() > 2 && !layer.input(2).empty()) {
    const std::string unbiased = product.output(0);
    made.nodes.push_back(node("Add", layer.name() + "_sum", {unbiased, layer.input(2)}));
  }
  made.nodes.back().set_output(0, layer.output(0));
  return made;
}

std::optional<std::string> GraphWriter::bias(const ::onnx::TensorProto& tensor, float input_scale,
                                             const std::vector<float>& scales, std::vector<::onnx::NodeProto>& nodes) {
  const std::vector<float> values = floats_of(tensor);
  if (scales.size() != 1 && scales.size() != values.size()) return std::nullopt;
  std::vector<float> of_sums;
  for (const float scale : scales) of_sums.push_back(input_scale * scale);
  std::vector<int32_t> codes;
  for (size_t i = 0; i < values.size(); ++i) {
    const double code = std::nearbyint(double{values[i]} / of_sums[scales.size() == 1 ? 0 : i]);
    if (!(std::abs(code) < 2147483647.0)) return std::nullopt;
    codes.push_back(static_cast<int32_t>(code));
  }
  const bool is_one = !has_channels_;
  const std::vector<int64_t> sides = is_one ? std::vector<int64_t>() : std::vector<int64_t>{std::ssize(of_sums)};
  const std::string quantized =
      constant(tensor.name() + "_quantized", ::onnx::TensorProto::INT32, {std::ssize(codes)}, codes);
  const std::string scale = constant(tensor.name() + "_scale", ::onnx::TensorProto::FLOAT, sides, of_sums);
  nodes.push_back(node("DequantizeLinear", tensor.name() + "_dequantized", {quantized, scale}));
  set_axis(nodes.back(), 0);
  return nodes.back().output(0);
}

void add_reads(const ::onnx::GraphProto& graph, std::set<std::string, std::less<>>& reads) {
  for (const auto& output : graph.output()) reads.insert(output.name());
  for (const auto& node : graph.node()) {
    reads.insert(node.input().begin(), node.input().end());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) add_reads(attribute.g(), reads);
    }
  }
}

template <typename List, typename Condition>
void erase_if(List& list, const Condition& is_gone) {
  list.erase(std::remove_if(list.begin(), list.end(), is_gone), list.end());
}

void import_microsofts(::onnx::ModelProto& proto) {
  const auto is_it = [](const auto& import) { return import.domain() == kMicrosoft; };
  if (std::ranges::any_of(proto.opset_import(), is_it)) return;
  auto& import = *proto.add_opset_import();
  import.set_domain(kMicrosoft);
  import.set_version(1);
}

// Constants that nothing reads any more.
void drop_unread(::onnx::GraphProto& graph) {
  std::set<std::string, std::less<>> reads;
  add_reads(graph, reads);
  erase_if(*graph.mutable_initializer(), [&](const auto& tensor) { return !reads.contains(tensor.name()); });
  erase_if(*graph.mutable_node(), [&](const auto& node) {
    return node.op_type() == "Constant" && node.output_size() == 1 && !reads.contains(node.output(0));
  });
}

// The axis of output channels of a layer's weight; nullopt: its rank is another than the layer's.
std::optional<size_t> channel_axis(const ::onnx::NodeProto& node, const ::onnx::TensorProto& weight) {
  const size_t rank = static_cast<size_t>(weight.dims_size());
  if (node.op_type() == "Conv") return rank >= 3 ? std::optional<size_t>(0) : std::nullopt;
  if (rank < 2) return std::nullopt;
  if (node.op_type() == "MatMul") return rank - 1;
  const auto* transposed = attribute_of(node, "transB");
  return transposed && transposed->i() != 0 ? 0 : 1;
}

}  // namespace

// Writes the nodes of a model again, those of quantized layers with quantized weights and inputs.
class FloatModel::Quantizer {
 public:
  Quantizer(const State& state, const std::map<std::string, ActivationRange>& ranges, const QuantizeOptions& options,
            ::onnx::GraphProto& graph)
      : state_(state),
        ranges_(ranges),
        options_(options),
        graph_(graph),
        writer_(graph, state.opset >= kOpsetOfChannels) {}

  // The next node of the model: it comes after the nodes that it reads.
  void add(::onnx::NodeProto node) {
    if (!state_.is_quantized(node, options_)) return keep(node, state_.is_layer(node) ? "is kept" : "");
    if (state_.is_nibble_layer(node, options_)) return add_nibbles(node);
    if (!state_.is_layer(node)) return put_with_inputs(node, node.input_size());
    const auto axis = channel_axis(node, *state_.constants.at(node.input(1)));
    const auto range = ranges_.find(node.input(0));
    if (!axis) return keep(node, "its weight has an unusual rank");
    if (range == ranges_.end()) return keep(node, "its input has no range");
    quantize_constants(node, *axis, range->second);
    put_with_inputs(node, 1);
  }

  bool has_nibbles() const { return has_nibbles_; }
  QuantizedModel& result() { return result_; }

 private:
  void put(const ::onnx::NodeProto& node) {
    for (auto& one : added_) *graph_.add_node() = std::move(one);
    added_.clear();
    *graph_.add_node() = node;
  }

  // Without a reason the node is no layer.
  void keep(const ::onnx::NodeProto& node, std::string_view reason) {
    if (!reason.empty()) result_.left.push_back(fmt::format("{}: {}", node.name(), reason));
    put(node);
  }

  void add_nibbles(const ::onnx::NodeProto& node) {
    const ::onnx::TensorProto& weight = *state_.constants.at(node.input(1));
    const auto made = writer_.nibbles(node, weight, channel_axis(node, weight) == 1);
    result_.layers.push_back({node.name(), node.op_type(), "", made.sqnr_db});
    for (const ::onnx::NodeProto& one : made.nodes) put(one);
    has_nibbles_ = true;
  }

  // The weight of a layer, which other layers may have too, and its bias.
  void quantize_constants(::onnx::NodeProto& node, size_t axis, const ActivationRange& range) {
    auto& made = weights_.try_emplace(fmt::format("{} {}", node.input(1), axis)).first->second;
    if (made.value.empty()) made = writer_.weight(*state_.constants.at(node.input(1)), axis, added_);
    node.set_input(1, made.value);
    const auto bias = node.input_size() > 2 ? state_.constants.find(node.input(2)) : state_.constants.end();
    const bool is_plain = node.op_type() == "Conv" || (!attribute_of(node, "alpha") && !attribute_of(node, "beta"));
    if (bias != state_.constants.end() && is_float(*bias->second) && bias->second->dims_size() == 1 && is_plain) {
      if (const auto codes = writer_.bias(*bias->second, range.scale(), made.scales, added_)) node.set_input(2, *codes);
    }
    result_.layers.push_back({node.name(), node.op_type(), node.input(0), made.sqnr_db});
  }

  // With its first inputs quantized, as far as they have ranges.
  void put_with_inputs(::onnx::NodeProto& node, int inputs) {
    for (int i = 0; i < inputs; ++i) {
      if (const auto value = quantized(node.input(i))) node.set_input(i, *value);
    }
    put(node);
  }

  std::optional<std::string> quantized(const std::string& value) {
    if (const auto known = round_trips_.find(value); known != round_trips_.end()) return known->second;
    const auto range = ranges_.find(value);
    if (range == ranges_.end()) return std::nullopt;
    return round_trips_.emplace(value, writer_.round_trip(value, range->second, added_)).first->second;
  }

  const State& state_;
  const std::map<std::string, ActivationRange>& ranges_;
  const QuantizeOptions& options_;
  ::onnx::GraphProto& graph_;
  GraphWriter writer_;
  QuantizedModel result_;
  std::map<std::string, std::string> round_trips_;  // of activations, by value
  std::map<std::string, GraphWriter::Weight> weights_;
  std::vector<::onnx::NodeProto> added_;  // before the next node
  bool has_nibbles_ = false;
};

Expected<QuantizedModel> FloatModel::quantized(const std::map<std::string, ActivationRange>& ranges,
                                               const QuantizeOptions& options) const {
  ::onnx::ModelProto proto = state_->proto;
  ::onnx::GraphProto& graph = *proto.mutable_graph();
  Quantizer quantizer(*state_, ranges, options, graph);
  graph.clear_node();
  for (const ::onnx::NodeProto& node : state_->proto.graph().node()) quantizer.add(node);
  // Files of old versions name their constants as inputs too.
  erase_if(*graph.mutable_input(), [&](const auto& input) { return state_->constants.contains(input.name()); });
  drop_unread(graph);
  graph.clear_value_info();
  if (quantizer.has_nibbles()) import_microsofts(proto);
  QuantizedModel& result = quantizer.result();
  result.file = proto.SerializeAsString();
  return std::move(result);
}

}  // namespace qgen::onnx
