// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Only this file and inline_functions.cpp know protobuf. Its parser bounds the depth of messages and checks every length; this file checks
// their contents. Strings and data are moved out of the messages, so that a model is in memory once.
#include "runtime/models/onnx/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <set>

#include "common/files.h"
#include "onnx/onnx.pb.h"
#include "runtime/models/onnx/external_data.h"
#include "runtime/models/onnx/inline_functions.h"

namespace qgen::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

template <typename T, typename Field>
std::vector<std::byte> bytes_of(const Field& values) {
  std::vector<std::byte> data(static_cast<size_t>(values.size()) * sizeof(T));
  for (int i = 0; i < values.size(); ++i) {
    const auto value = static_cast<T>(values.Get(i));
    std::memcpy(data.data() + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
  }
  return data;
}

// The typed field that a tensor without raw_data keeps its elements in. f16 and bf16 are bits there, and four-bit
// integers two an element.
std::vector<std::byte> typed_data(const ::onnx::TensorProto& proto, ElementType type) {
  switch (type) {
    case ElementType::f32: return bytes_of<float>(proto.float_data());
    case ElementType::f64: return bytes_of<double>(proto.double_data());
    case ElementType::i64: return bytes_of<int64_t>(proto.int64_data());
    case ElementType::u32: return bytes_of<uint32_t>(proto.uint64_data());
    case ElementType::u64: return bytes_of<uint64_t>(proto.uint64_data());
    case ElementType::i32: return bytes_of<int32_t>(proto.int32_data());
    case ElementType::i16:
    case ElementType::u16:
    case ElementType::f16:
    case ElementType::bf16: return bytes_of<uint16_t>(proto.int32_data());
    default: return bytes_of<uint8_t>(proto.int32_data());
  }
}

// The fields of a tensor that may hold elements; one of them is right.
std::vector<std::string_view> fields_of(const ::onnx::TensorProto& proto) {
  std::vector<std::string_view> fields;
  const auto add = [&](bool is_there, std::string_view field) {
    if (is_there) fields.push_back(field);
  };
  add(proto.data_location() == ::onnx::TensorProto::EXTERNAL, "external data");
  add(proto.has_raw_data() && !proto.raw_data().empty(), "raw_data");
  add(proto.float_data_size() > 0, "float_data");
  add(proto.int32_data_size() > 0, "int32_data");
  add(proto.int64_data_size() > 0, "int64_data");
  add(proto.double_data_size() > 0, "double_data");
  add(proto.uint64_data_size() > 0, "uint64_data");
  add(proto.string_data_size() > 0, "string_data");
  return fields;
}

class Reader {
 public:
  explicit Reader(const ReadOptions& options) : options_(options) {}

  Expected<Model> run(::onnx::ModelProto& proto) {
    if (Done done = inline_functions(proto, options_.limits); !done) return done.error();
    Model model;
    for (const auto& opset : proto.opset_import())
      model.opsets[opset.domain() == "ai.onnx" ? "" : opset.domain()] = opset.version();
    if (!proto.has_graph()) return refused(proto.ByteSizeLong() == 0 ? "the file is empty" : "the model has no graph");
    auto graph = graph_of(*proto.mutable_graph());
    if (!graph) return graph.error();
    model.graph = *std::move(graph);
    return model;
  }

 private:
  // Of the model, or of a branch in it.
  Expected<ModelGraph> graph_of(::onnx::GraphProto& proto) {
    ModelGraph graph;
    nodes_ += static_cast<size_t>(proto.node_size());
    if (nodes_ > options_.limits.nodes)
      return refused(fmt::format("the model has {} nodes, and can have {}", nodes_, options_.limits.nodes));
    if (proto.sparse_initializer_size() > 0) return refused("the model has sparse initializers");
    for (auto& initializer : *proto.mutable_initializer()) {
      const std::string name = initializer.name();
      auto read = tensor(initializer);
      if (!read) return read.error();
      if (name.empty() || !graph.initializers.emplace(name, *std::move(read)).second)
        return refused(fmt::format("two initializers are called '{}'", name));
    }
    for (const auto& input : proto.input()) {
      if (graph.initializers.contains(input.name())) continue;
      if (Done added = add_info(input, "input", graph.inputs); !added) return added.error();
    }
    for (const auto& output : proto.output()) {
      if (Done added = add_info(output, "output", graph.outputs); !added) return added.error();
    }
    for (const auto& value : proto.value_info()) {
      if (Done added = add_info(value, "value", graph.values); !added) return added.error();
    }
    for (auto& node_proto : *proto.mutable_node()) {
      auto read = node(node_proto, graph.nodes.size());
      if (!read) return read.error();
      graph.nodes.push_back(*std::move(read));
    }
    return graph;
  }

  static Done add_info(const ::onnx::ValueInfoProto& proto, std::string_view what, std::vector<ValueInfo>& infos) {
    auto info = value_info(proto, what);
    if (!info) return info.error();
    infos.push_back(*std::move(info));
    return std::monostate{};
  }

  static Expected<ValueInfo> value_info(const ::onnx::ValueInfoProto& proto, std::string_view what) {
    ValueInfo info{.name = proto.name()};
    if (!proto.type().has_tensor_type()) return info;
    const auto& tensor = proto.type().tensor_type();
    info.type = element_type(tensor.elem_type());
    info.declared_type = tensor.elem_type();
    if (!tensor.has_shape()) return info;
    info.shape.emplace();
    for (const auto& side : tensor.shape().dim()) {
      // A dimension without a name is a separate one; so is -1, which some exporters write.
      const std::string unnamed = fmt::format("{}.{}", proto.name(), info.shape->size());
      if (side.has_dim_value() && side.dim_value() < -1)
        return refused(fmt::format("{} '{}' has a dimension of {}, and it must be 0 or more", what, proto.name(),
                                   side.dim_value()));
      if (side.has_dim_value() && side.dim_value() >= 0) info.shape->push_back({side.dim_value(), {}});
      else info.shape->push_back({0, side.dim_param().empty() ? unnamed : side.dim_param()});
    }
    return info;
  }

  Expected<TensorPtr> tensor(::onnx::TensorProto& proto) {
    const auto refuse = [&](const std::string& fault) {
      return refused(fmt::format("tensor '{}': {}", proto.name(), fault));
    };
    Tensor result{.name = proto.name(), .type = element_type(proto.data_type())};
    if (result.type == ElementType::other)
      return refuse(fmt::format("data type {} is not supported", proto.data_type()));
    result.shape.assign(proto.dims().begin(), proto.dims().end());
    if (Done sound = check_shape(result.shape); !sound) return refuse(sound.error().message);
    const int64_t count = result.size();
    const int64_t stored = is_nibble(result.type) ? (count + 1) / 2 : count * bytes(result.type);
    if (stored > static_cast<int64_t>(options_.limits.data_bytes - used_bytes_))
      return refuse(fmt::format("the model's tensors have more than {} bytes", options_.limits.data_bytes));

    if (const auto fields = fields_of(proto); fields.size() > 1)
      return refuse(fmt::format("it has {}, and can have only one of them", fmt::join(fields, " and ")));
    std::vector<std::byte> data;
    if (proto.data_location() == ::onnx::TensorProto::EXTERNAL) {
      auto external = external_data(proto, stored);
      if (!external) return refuse(external.error().message);
      data = *std::move(external);
    } else if (proto.has_raw_data()) {
      const auto raw = std::as_bytes(std::span(proto.raw_data()));
      data.assign(raw.begin(), raw.end());
      proto.clear_raw_data();
    } else {
      data = typed_data(proto, result.type);
    }
    if (static_cast<int64_t>(data.size()) != stored)
      return refuse(fmt::format("its shape takes {} bytes, and it has {}", stored, data.size()));
    used_bytes_ += data.size();
    result.data = is_nibble(result.type) ? spread_nibbles(data, count, result.type) : std::move(data);
    return std::make_shared<const Tensor>(std::move(result));
  }

  Expected<std::vector<std::byte>> external_data(const ::onnx::TensorProto& proto, int64_t stored) const {
    const auto place = external_place(proto);
    if (!place) return place.error();
    if (place->size_bytes.value_or(stored) != stored)
      return refused(
          fmt::format("its shape takes {} bytes, and its external data have {}", stored, *place->size_bytes));
    return read_external(options_.folder, *place, stored);
  }

  Expected<Node> node(::onnx::NodeProto& proto, size_t place) {
    Node result{.name = proto.name(), .op = proto.op_type(), .domain = proto.domain()};
    if (result.domain == "ai.onnx") result.domain.clear();
    if (result.name.empty()) result.name = fmt::format("{}_{}", result.op, place);
    result.inputs.assign(proto.input().begin(), proto.input().end());
    result.outputs.assign(proto.output().begin(), proto.output().end());
    for (auto& attribute_proto : *proto.mutable_attribute()) {
      auto value = attribute(attribute_proto);
      if (!value) {
        Error error = value.error();
        error.message =
            fmt::format("node '{}': attribute '{}': {}", result.name, attribute_proto.name(), error.message);
        return error;
      }
      if (!result.attributes.emplace(attribute_proto.name(), *std::move(value)).second)
        return refused(fmt::format("node '{}': attribute '{}' is given twice", result.name, attribute_proto.name()));
    }
    return result;
  }

  Expected<AttributeData> attribute(::onnx::AttributeProto& proto) {
    using Proto = ::onnx::AttributeProto;
    switch (proto.type()) {
      case Proto::INT: return AttributeData(proto.i());
      case Proto::FLOAT: return AttributeData(proto.f());
      case Proto::STRING: return AttributeData(proto.s());
      case Proto::INTS: return AttributeData(std::vector<int64_t>(proto.ints().begin(), proto.ints().end()));
      case Proto::FLOATS: return AttributeData(std::vector<float>(proto.floats().begin(), proto.floats().end()));
      case Proto::STRINGS:
        return AttributeData(std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
      case Proto::TENSOR: {
        auto value = tensor(*proto.mutable_t());
        if (!value) return value.error();
        return AttributeData(*std::move(value));
      }
      case Proto::GRAPH: {
        auto branch = graph_of(*proto.mutable_g());
        if (!branch) return branch.error();
        return AttributeData(Subgraph{std::make_shared<const ModelGraph>(*std::move(branch))});
      }
      case Proto::GRAPHS: return AttributeData(Subgraph{});
      default: return refused("its kind is none of integer, real, word, tensor, graph and lists of them");
    }
  }

  const ReadOptions& options_;
  size_t used_bytes_ = 0;
  size_t nodes_ = 0;  // of the model and its branches
};

}  // namespace

Expected<Model> read_model(std::span<const std::byte> file, const ReadOptions& options) {
  const size_t most = std::min<size_t>(options.limits.file_bytes, std::numeric_limits<int>::max());
  if (file.size() > most)
    return refused(fmt::format("the model has {} bytes, and can have {}", file.size(), most),
                   "larger models keep their weights in separate files (external data)");
  ::onnx::ModelProto proto;
  if (!proto.ParseFromArray(file.data(), static_cast<int>(file.size())))
    return refused("this is not an ONNX model, or it is incomplete");
  return Reader(options).run(proto);
}

Expected<Model> load_model(const std::filesystem::path& file, const ReadLimits& limits) {
  const auto bytes = read_file(file.string(), limits.file_bytes);
  if (!bytes) return bytes.error();
  const auto parent = file.parent_path();
  auto model = read_model(std::as_bytes(std::span(*bytes)), {parent.empty() ? "." : parent, limits});
  if (!model) return in_file(file.string(), model.error());
  return model;
}

}  // namespace qgen::onnx
