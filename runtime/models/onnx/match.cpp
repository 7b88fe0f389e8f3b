// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/match.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace qgen::onnx::matching {

const Known* at(Arguments arguments, size_t index) { return index < arguments.size() ? arguments[index] : nullptr; }

Expected<const Known*> needed(Arguments arguments, size_t index) {
  if (const Known* known = at(arguments, index)) return known;
  return refused(fmt::format("it has no input {}", index));
}

Expected<View> view_at(Builder& builder, Arguments arguments, size_t index) {
  const auto known = needed(arguments, index);
  if (!known) return known.error();
  if (const auto view = builder.view_of(**known)) return *view;
  return unsupported(fmt::format("input {} is not quantized to 8 or 4 bits with one scale", index));
}

Expected<const QuantizedConstant*> constant_at(Builder& builder, Arguments arguments, size_t index) {
  const auto known = needed(arguments, index);
  if (!known) return known.error();
  if (const auto* constant = (*known)->as<QuantizedConstant>()) {
    if (Done spent = builder.spend(constant->codes->size()); !spent) return spent.error();
    return constant;
  }
  return unsupported(fmt::format("input {} is not a quantized constant", index));
}

Expected<Real> real_at(Builder& builder, Arguments arguments, size_t index) {
  const auto known = needed(arguments, index);
  if (!known) return known.error();
  return builder.real_of(**known);
}

// ---- weights and biases ---------------------------------------------------------------------------------------------

namespace {

// `count` elements; nullopt: none.
Expected<std::optional<ValueId>> bias_at(Builder& builder, const Node& node, Arguments arguments, size_t index,
                                         int64_t count, float factor) {
  const Known* known = at(arguments, index);
  if (!known) return std::optional<ValueId>();
  HostTensor reals;
  const auto* codes = known->as<QuantizedConstant>();
  const int64_t elements = codes ? codes->codes->size() : known->tensor() ? known->tensor()->size() : 0;
  if (Done spent = builder.spend(elements); !spent) return spent.error();
  if (const auto* constant = codes) {
    reals = dequantized(*constant);
  } else if (const TensorPtr tensor = known->tensor(); tensor && is_real(tensor->type)) {
    builder.note_if_narrowed(*tensor, DType::f32);
    reals = reals_of(*tensor, DType::f32);
  } else {
    return unsupported("its bias is not constant");
  }
  const bool is_vector = element_count(reals.shape) == count && (reals.shape.empty() || reals.shape.back() == count);
  const std::string fault = fmt::format("its bias is {}, and it has {} outputs", to_text(reals.shape), count);
  // Any shape that the product's broadcasts to: a sum after it (Importer::gemm).
  if (!is_vector && element_count(reals.shape) != 1) return node.op == "Gemm" ? unsupported(fault) : refused(fault);
  std::vector<float> values(reals.as<float>().begin(), reals.as<float>().end());
  values.resize(static_cast<size_t>(count), values.empty() ? 0 : values.front());
  for (float& value : values) value *= factor;
  return std::optional(builder.constant(node.name + " bias", make_tensor<float>(DType::f32, {count}, values)));
}

}  // namespace

void check_bias_scale(Builder& builder, const Node& node, const Known* bias, double input_scale,
                      const HostTensor& weight_scales) {
  const auto* constant = bias ? bias->as<QuantizedConstant>() : nullptr;
  if (!constant) return;
  const auto& scales = constant->parameters.scales;
  const auto sums = weight_scales.as<float>();
  for (size_t i = 0; i < sums.size(); ++i) {
    const double expected = input_scale * sums[i],
                 said = scales[scales.size() == 1 ? 0 : std::min(i, scales.size() - 1)];
    if (std::abs(said - expected) <= 1e-5 * expected) continue;
    builder.note(node.name,
                 fmt::format("its bias has a scale of {}, and its sums have {}; the bias is dequantized and added",
                             said, expected));
    return;
  }
}

namespace {

// The zero points that an element's integer is less than its signed byte; empty: the byte is the same.
std::string subtracted_zero_points(const QuantizedConstant& source) {
  const Parameters& parameters = source.parameters;
  const int32_t shift = shift_of(source.codes->type);
  if (std::ranges::count(parameters.zero_points, shift) == std::ssize(parameters.zero_points)) return {};
  return fmt::format(" {} {}", to_text(parameters.shape), fmt::join(parameters.zero_points, " "));
}

}  // namespace

void add_weight(Builder& builder, const QuantizedConstant& source, Pending& pending, SymmetricWeight weight,
                const std::string& form, ZeroPoints zero_points) {
  const std::string parameters = zero_points == ZeroPoints::kept ? "" : subtracted_zero_points(source);
  const ValueId codes = builder.constant_of(
      source.codes, form, [&] { return std::move(weight.codes); }, parameters);
  const ValueId scales = builder.constant(pending.name + " weight_scales", std::move(weight.scales));
  pending.constants.push_back({"weight", codes});
  pending.constants.push_back({"weight_scales", scales});
  pending.takes_bias = true;
}

Done add_bias(Builder& builder, const Node& node, Arguments arguments, size_t index, int64_t count, Pending& pending,
              float factor) {
  const auto bias = bias_at(builder, node, arguments, index, count, factor);
  if (!bias) return bias.error();
  if (*bias) pending.constants.push_back({"bias", **bias});
  return std::monostate{};
}

Done check_one_scale_along(const QuantizedConstant& matrix, size_t axis) {
  const Parameters& parameters = matrix.parameters;
  if (parameters.is_per_tensor() || parameters.shape[axis] == 1) return std::monostate{};
  return unsupported(fmt::format("'{}' {} has scales {}, and bmm needs a single one along K", matrix.codes->name,
                                 to_text(matrix.codes->shape), to_text(parameters.shape)));
}

bool is_image(const Dims& shape) { return shape.size() == 3 || shape.size() == 4; }

void set_window(Attributes& attributes, const Window& window) {
  attributes.insert_or_assign("stride", AttributeValue(window.strides));
  attributes.insert_or_assign("padding", AttributeValue(window.padding()));
}

}  // namespace qgen::onnx::matching
