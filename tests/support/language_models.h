// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Changes the language models of int4 weights in tests/runtime/models/graph/language_models.
#pragma once

#include "runtime/models/onnx/model.h"

namespace qgen::testing {

// As bench/models/make_language_model.py writes it with --activations f16.
inline onnx::Model with_f16_activations(onnx::Model model) {
  constexpr int64_t kFloat16 = 10;  // TensorProto.DataType
  const auto change = [](std::vector<onnx::ValueInfo>& values) {
    for (onnx::ValueInfo& value : values) {
      if (value.type != onnx::ElementType::f32) continue;
      value.type = onnx::ElementType::f16;
      value.declared_type = kFloat16;
    }
  };
  change(model.graph.inputs);
  change(model.graph.outputs);
  change(model.graph.values);
  for (auto& [name, constant] : model.graph.initializers) {
    if (constant->type != onnx::ElementType::f32) continue;
    HostTensor halves = zeros(DType::f16, constant->shape);
    for (int64_t i = 0; i < constant->size(); ++i) set_element(halves, i, constant->real(i));
    constant = std::make_shared<onnx::Tensor>(
        onnx::Tensor{constant->name, onnx::ElementType::f16, constant->shape, std::move(halves.data)});
  }
  return model;
}

// Four times as wide, with blocks of 128 weights instead of 32, and four times as many logits. Weights are repeated.
inline onnx::Model widened(onnx::Model model) {
  constexpr int64_t kTimes = 4;
  for (onnx::ValueInfo& input : model.graph.inputs) {
    if (input.name.starts_with("past")) input.shape->back().side *= kTimes;
  }
  for (onnx::ValueInfo& output : model.graph.outputs) {
    if (output.shape && output.shape->back().symbol.empty()) output.shape->back().side *= kTimes;
  }
  for (onnx::Node& node : model.graph.nodes) {
    for (const char* attribute : {"N", "K", "block_size"}) {
      const auto found = node.attributes.find(attribute);
      if (found != node.attributes.end()) std::get<int64_t>(found->second) *= kTimes;
    }
  }
  for (auto& [name, constant] : model.graph.initializers) {
    const bool is_weight = constant->type == onnx::ElementType::u8;
    if (!is_weight && !onnx::is_real(constant->type)) continue;
    onnx::Tensor wide = *constant;
    wide.shape.back() *= kTimes;
    if (is_weight) wide.shape.front() *= kTimes;
    wide.data.resize(static_cast<size_t>(wide.size() * onnx::bytes(wide.type)));
    for (size_t i = 0; i < wide.data.size(); ++i) wide.data[i] = constant->data[i % constant->data.size()];
    constant = std::make_shared<onnx::Tensor>(std::move(wide));
  }
  return model;
}

}  // namespace qgen::testing
