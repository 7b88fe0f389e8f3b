// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Compares an imported model with one input, run on the reference operators, with the model in floats.
#pragma once

#include <gtest/gtest.h>

#include "operators.h"
#include "runtime/workshop/model/judge.h"
#include "tests/runtime/models/onnx/float_judge.h"
#include "tests/runtime/models/onnx/model_builder.h"

namespace qgen::onnx::testing {

// A graph's outputs by the definitions of its operators.
inline Expected<Tensors> judged(const graph::Graph& graph, const Tensors& inputs) {
  return model::outputs_by_reference(graph, generated::operators::entries(), inputs);
}

// Of the model's only input.
inline Tensors made_up_input(const ModelBuilder& builder, const Shape& shape) {
  Random random(11);
  const ValueInfo& input = builder.model.graph.inputs.front();
  if (is_real(input.type)) return {{input.name, random.reals(DType::f32, shape, -2, 2)}};
  const bool is_unsigned = input.type == ElementType::u8;
  return {{input.name, random.integers(*dtype_of(input.type), shape, is_unsigned ? 0 : -128, is_unsigned ? 255 : 127)}};
}

// The share of equal outputs, between fused and unfused import. Both run on the reference operators; differences are at
// most one `scale`.
inline double share_of_unfused(const ModelBuilder& builder, const Shape& input_shape, float scale) {
  const Tensors inputs = made_up_input(builder, input_shape);
  const auto fused = builder.import(), unfused = import_model(builder.model, {.fuses = false});
  EXPECT_TRUE(fused && unfused) << (unfused ? "" : to_text(unfused.error()));
  if (!fused || !unfused) return 0;
  EXPECT_GT(unfused->graph.nodes.size(), fused->graph.nodes.size());
  const auto outputs = judged(fused->graph, inputs), wanted = judged(unfused->graph, inputs);
  EXPECT_TRUE(outputs && wanted) << (wanted ? "" : to_text(wanted.error()));
  if (!outputs || !wanted) return 0;
  int64_t count = 0, equal = 0;
  for (const auto& [name, output] : *outputs) {
    const HostTensor& want = wanted->at(name);
    EXPECT_EQ(output.shape, want.shape) << name;
    for (int64_t i = 0; i < element_count(output.shape); ++i, ++count) {
      const double difference = std::abs(element(output, i) - element(want, i));
      EXPECT_LE(difference, 1.01 * scale) << name << " " << i;
      equal += difference == 0;
    }
  }
  return static_cast<double>(equal) / static_cast<double>(count);
}

// Checks that outputs differ by at most `quanta` steps of the scale, and are equal in all but an eighth of their
// elements.
inline void compare(const ModelBuilder& builder, const Shape& input_shape, float scale, double quanta = 1) {
  const auto imported = builder.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  const Tensors inputs = made_up_input(builder, input_shape);
  const auto& [input, data] = *inputs.begin();
  const auto outputs = judged(imported->graph, inputs);
  ASSERT_TRUE(outputs) << to_text(outputs.error());

  Floats given{input_shape, {}};
  for (int64_t i = 0; i < element_count(input_shape); ++i) given.values.push_back(element(data, i));
  auto expected = FloatJudge(builder.model).run({{input, given}});
  for (const ValueInfo& info : builder.model.graph.outputs) {
    const HostTensor& output = outputs->at(info.name);
    const Floats& wanted = expected.at(info.name);
    ASSERT_EQ(output.shape, wanted.shape);
    size_t different = 0;
    for (size_t i = 0; i < wanted.values.size(); ++i) {
      const double difference = std::abs(element(output, static_cast<int64_t>(i)) - wanted.values[i]);
      EXPECT_LE(difference, (quanta + 0.01) * scale) << info.name << " " << i << ": " << wanted.values[i];
      different += difference > 0.01 * scale;
    }
    EXPECT_LE(different, wanted.values.size() / 8 + 1);
  }
}

}  // namespace qgen::onnx::testing
