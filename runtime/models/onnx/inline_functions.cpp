// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/inline_functions.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "onnx/onnx.pb.h"
#include "runtime/models/onnx/model.h"

namespace qgen::onnx {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

constexpr int kMostDepth = 64;  // of calls in functions

std::string plain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::string text_of(const ::onnx::FunctionProto& function) {
  return function.domain().empty() ? function.name() : function.domain() + "." + function.name();
}

// The attributes that have a default. They are field 11 of a function, attribute_proto, which ONNX has since IR version 9.
// Older schemas do not know it: protobuf keeps its bytes.
std::vector<::onnx::AttributeProto> defaults_of(const ::onnx::FunctionProto& function) {
  using google::protobuf::internal::WireFormatLite;
  constexpr uint32_t kTag = WireFormatLite::MakeTag(11, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  const std::string bytes = function.SerializeAsString();
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  std::vector<::onnx::AttributeProto> defaults;
  while (const uint32_t tag = in.ReadTag()) {
    if (tag != kTag) {
      if (!WireFormatLite::SkipField(&in, tag)) break;
      continue;
    }
    uint32_t size = 0;
    std::string attribute;
    if (!in.ReadVarint32(&size) || !in.ReadString(&attribute, static_cast<int>(size))) break;
    defaults.emplace_back().ParseFromString(attribute);
  }
  return defaults;
}

// The nodes of one call.
class Call {
 public:
  Call(const ::onnx::NodeProto& call, const ::onnx::FunctionProto& function, std::string prefix)
      : call_(call), function_(function), prefix_(std::move(prefix)), defaults_(defaults_of(function)) {}

  Nodes nodes() {
    for (int i = 0; i < function_.input_size(); ++i)
      names_.emplace(function_.input(i), i < call_.input_size() ? call_.input(i) : "");
    Nodes result, copies;
    for (int i = 0; i < call_.output_size(); ++i) {
      if (call_.output(i).empty() || names_.emplace(function_.output(i), call_.output(i)).second) continue;
      // An input, or a result that the call names twice.
      ::onnx::NodeProto& copy = *copies.Add();
      copy.set_name(fmt::format("{}/{}", prefix_, call_.output(i)));
      copy.set_op_type("Identity");
      copy.add_input(mapped(function_.output(i)));
      copy.add_output(call_.output(i));
    }
    for (const ::onnx::NodeProto& node : function_.node()) rename(*result.Add() = node);
    for (::onnx::NodeProto& copy : copies) *result.Add() = std::move(copy);
    return result;
  }

 private:
  std::string mapped(const std::string& name) {
    return name.empty() ? name : names_.try_emplace(name, fmt::format("{}/{}", prefix_, name)).first->second;
  }

  // That of the call, or else the function's default; null: there is neither.
  const ::onnx::AttributeProto* argument(const std::string& name) const {
    const auto is_it = [&](const ::onnx::AttributeProto& attribute) { return attribute.name() == name; };
    const auto& given = call_.attribute();
    if (const auto said = std::find_if(given.begin(), given.end(), is_it); said != given.end()) return &*said;
    const auto otherwise = std::find_if(defaults_.begin(), defaults_.end(), is_it);
    return otherwise == defaults_.end() ? nullptr : &*otherwise;
  }

  void rename(::onnx::NodeProto& node) {
    for (std::string& input : *node.mutable_input()) input = mapped(input);
    for (std::string& output : *node.mutable_output()) output = mapped(output);
    node.set_name(fmt::format("{}/{}", prefix_, node.name().empty() ? node.op_type() : node.name()));
    google::protobuf::RepeatedPtrField<::onnx::AttributeProto> attributes;
    for (::onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (!attribute.ref_attr_name().empty()) {
        const ::onnx::AttributeProto* given = argument(attribute.ref_attr_name());
        if (!given) continue;  // the operator's default
        const std::string name = attribute.name();
        attribute = *given;
        attribute.set_name(name);
      } else {
        if (attribute.has_g()) rename(*attribute.mutable_g());
        for (::onnx::GraphProto& graph : *attribute.mutable_graphs()) rename(graph);
      }
      *attributes.Add() = std::move(attribute);
    }
    node.mutable_attribute()->Swap(&attributes);
  }

  void rename(::onnx::GraphProto& graph) {
    for (auto* infos : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()}) {
      for (::onnx::ValueInfoProto& info : *infos) info.set_name(mapped(info.name()));
    }
    for (::onnx::TensorProto& tensor : *graph.mutable_initializer()) tensor.set_name(mapped(tensor.name()));
    for (::onnx::NodeProto& node : *graph.mutable_node()) rename(node);
  }

  const ::onnx::NodeProto& call_;
  const ::onnx::FunctionProto& function_;
  std::string prefix_;
  std::vector<::onnx::AttributeProto> defaults_;
  std::map<std::string, std::string, std::less<>> names_;  // of the function's values
};

class Inliner {
 public:
  Inliner(::onnx::ModelProto& model, const ReadLimits& limits) : model_(model), limits_(limits) {}

  Done run() {
    for (const ::onnx::FunctionProto& function : model_.functions()) {
      if (!functions_.emplace(std::pair(plain(function.domain()), function.name()), &function).second)
        return refused(fmt::format("two functions are called '{}'", text_of(function)));
    }
    if (functions_.empty()) return std::monostate{};
    return expand(*model_.mutable_graph()->mutable_node(), 0);
  }

 private:
  Done expand(Nodes& nodes, int depth) {
    Nodes result;
    for (::onnx::NodeProto& node : nodes) {
      for (::onnx::AttributeProto& attribute : *node.mutable_attribute()) {
        if (!attribute.has_g()) continue;
        if (Done inner = expand(*attribute.mutable_g()->mutable_node(), depth); !inner) return inner;
      }
      const auto function = functions_.find(std::pair(plain(node.domain()), node.op_type()));
      if (function == functions_.end()) {
        *result.Add() = std::move(node);
        continue;
      }
      auto made = nodes_of(node, *function->second, depth);
      if (!made) return made.error();
      for (::onnx::NodeProto& further : *made) *result.Add() = std::move(further);
    }
    nodes.Swap(&result);
    return std::monostate{};
  }

  Expected<Nodes> nodes_of(const ::onnx::NodeProto& call, const ::onnx::FunctionProto& function, int depth) {
    const std::string prefix = fmt::format("{}#{}", call.name().empty() ? call.op_type() : call.name(), ++calls_);
    const auto refuse = [&](const std::string& fault) {
      return refused(fmt::format("node '{}' calls the function '{}': {}", prefix, text_of(function), fault));
    };
    if (depth >= kMostDepth) return refuse(fmt::format("calls are nested more than {} deep", kMostDepth));
    if (call.input_size() > function.input_size() || call.output_size() > function.output_size())
      return refuse(fmt::format("it has {} inputs and {} outputs, and the function {} and {}", call.input_size(),
                                call.output_size(), function.input_size(), function.output_size()));
    if (Done same = take_opsets(function); !same) return refuse(same.error().message);
    nodes_ += static_cast<size_t>(function.node_size());
    bytes_ += function.ByteSizeLong();
    if (nodes_ > limits_.nodes || bytes_ > limits_.file_bytes)
      return refuse(
          fmt::format("the functions have more than {} nodes or {} bytes", limits_.nodes, limits_.file_bytes));
    Nodes nodes = Call(call, function, prefix).nodes();
    if (Done inner = expand(nodes, depth + 1); !inner) return inner.error();
    return nodes;
  }

  // Nodes of a function follow its opsets. They become nodes of the model, so these must be the same.
  Done take_opsets(const ::onnx::FunctionProto& function) {
    for (const ::onnx::OperatorSetIdProto& opset : function.opset_import()) {
      const auto& all = model_.opset_import();
      const auto known = std::find_if(all.begin(), all.end(), [&](const ::onnx::OperatorSetIdProto& other) {
        return plain(other.domain()) == plain(opset.domain());
      });
      if (known == all.end()) {
        *model_.add_opset_import() = opset;
      } else if (known->version() != opset.version()) {
        return refused(fmt::format("it is of opset {}{}, and the model of {}", opset.version(),
                                   opset.domain().empty() ? "" : " of " + opset.domain(), known->version()));
      }
    }
    return std::monostate{};
  }

  ::onnx::ModelProto& model_;
  const ReadLimits& limits_;
  std::map<std::pair<std::string, std::string>, const ::onnx::FunctionProto*> functions_;  // by domain and name
  size_t calls_ = 0, nodes_ = 0, bytes_ = 0;
};

}  // namespace

Done inline_functions(::onnx::ModelProto& model, const ReadLimits& limits) { return Inliner(model, limits).run(); }

}  // namespace qgen::onnx
