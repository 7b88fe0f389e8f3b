// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/models/onnx/match.h"

namespace qgen::onnx::matching {
namespace {

// For MatMul and Gemm: the orientation of the second matrix, and the factors of the product and the bias.
struct Product {
  bool is_turned = false;  // the second is [N, K]
  float alpha = 1, beta = 1;
};

Expected<Product> product_of(const Node& node) {
  if (node.op != "Gemm" && node.op != "QGemm") return Product{};
  if (node.integer("transA", 0) != 0) return unsupported("its first matrix is transposed (transA)");
  return Product{node.integer("transB", 0) != 0, node.real("alpha", 1), node.real("beta", 1)};
}

// The weight as a matrix [N, K].
Expected<QuantizedConstant> rows_of(const QuantizedConstant& constant, bool is_turned) {
  const Shape& shape = constant.codes->shape;
  if (shape.size() < 2 || element_count(shape) != element_count({shape.end() - 2, shape.end()}))
    return unsupported(fmt::format("its weight is {}, and must be one matrix", to_text(shape)));
  auto matrix =
      shape.size() == 2 ? Expected<QuantizedConstant>(constant) : reshaped(constant, {shape.end() - 2, shape.end()});
  if (!matrix) return unsupported(matrix.error().message);
  return is_turned ? *std::move(matrix) : transposed(*matrix, {1, 0});
}

Expected<Pending> linear(Builder& builder, const Node& node, Arguments arguments, Pending::Operand input,
                         Expected<SymmetricWeight> (*symmetric)(const QuantizedConstant&)) {
  const auto constant = constant_at(builder, arguments, 1);
  if (!constant) return constant.error();
  const auto product = product_of(node);
  if (!product) return product.error();
  const auto rows = rows_of(**constant, product->is_turned);
  if (!rows) return rows.error();
  const int64_t n = rows->codes->shape[0], k = rows->codes->shape[1];
  if (input.shape.empty() || !(input.shape.back() == Number{k}))
    return refused(fmt::format("an input {} does not match a weight of {} columns", to_text(input.shape), k));
  auto weight = symmetric(*rows);
  if (!weight) return unsupported(weight.error().message);
  if (!(product->alpha > 0)) return unsupported(fmt::format("its alpha is {}, and must be above 0", product->alpha));
  for (float& scale : weight->scales.as<float>()) scale *= product->alpha;

  Pending pending{.name = node.name, .shape = input.shape};
  pending.shape.back() = {n};
  if (const auto* view = std::get_if<View>(&input.value))
    check_bias_scale(builder, node, at(arguments, 2), view->quantization.scale, weight->scales);
  pending.operands.push_back(std::move(input));
  add_weight(builder, **constant, pending, *std::move(weight), product->is_turned ? "" : " turned");
  if (Done biased = add_bias(builder, node, arguments, 2, n, pending, product->beta); !biased) return biased.error();
  return pending;
}

}  // namespace

Expected<Pending> linear_of_bytes(Builder& builder, const Node& node, Arguments arguments) {
  const auto view = view_at(builder, arguments, 0);
  if (!view) return view.error();
  return linear(builder, node, arguments, {"input", *view, arguments[0]->shape},
                [](const QuantizedConstant& rows) { return symmetric_along(rows, 0); });
}

// Four bits first: they have groups, too.
Expected<Pending> linear_of_nibbles(Builder& builder, const Node& node, Arguments arguments) {
  const auto constant = constant_at(builder, arguments, 1);
  if (!constant) return constant.error();
  if (!is_nibble((*constant)->codes->type)) return unsupported("its weight does not have 4 bits");
  const auto real = real_at(builder, arguments, 0);
  if (!real) return real.error();
  return linear(builder, node, arguments, {"input", *real, arguments[0]->shape}, symmetric_groups);
}

Expected<Pending> linear_of_reals(Builder& builder, const Node& node, Arguments arguments) {
  const auto constant = constant_at(builder, arguments, 1);
  if (!constant) return constant.error();
  const auto real = real_at(builder, arguments, 0);
  if (!real) return real.error();
  return linear(builder, node, arguments, {"input", *real, arguments[0]->shape},
                [](const QuantizedConstant& rows) { return symmetric_along(rows, 0); });
}

namespace {

Expected<Dims> product_shape(const Dims& a, const Dims& b) {
  if (a.size() < 2 || b.size() < 2) return unsupported("a vector is multiplied by a matrix");
  if (!(a.back() == b[b.size() - 2]))
    return refused(fmt::format("matrices {} and {} do not match", to_text(a), to_text(b)));
  auto shape = broadcast({a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  if (!shape) return shape;
  shape->push_back(a[a.size() - 2]);
  shape->push_back(b.back());
  return shape;
}

Expected<Pending> two_matrices(Builder& builder, const Node& node, Arguments arguments, bool are_bytes) {
  const auto product = product_of(node);
  if (!product) return product.error();
  if (product->alpha != 1) return unsupported(fmt::format("its alpha is {}, and must be 1", product->alpha));
  if (at(arguments, 2))
    return unsupported(product->beta == 1 ? "it has a bias"
                                          : fmt::format("its beta is {}, and must be 1", product->beta));
  Pending pending{.name = node.name};
  for (size_t i = 0; i < 2; ++i) {
    if (const auto known = needed(arguments, i); !known) return known.error();
  }
  const DType constants_are = dtype_of_constants(arguments.first(2));
  std::optional<Known> turned;
  if (product->is_turned) {
    const auto constant = constant_at(builder, arguments, 1);
    if (!constant) return unsupported("its second matrix is transposed (transB), but not a quantized constant");
    if (arguments[1]->shape.size() != 2)
      return refused(fmt::format("its second matrix is {}", to_text(arguments[1]->shape)));
    turned = Known{transposed(**constant, {1, 0}), {arguments[1]->shape[1], arguments[1]->shape[0]}};
  }
  const Known* const matrices[] = {arguments[0], turned ? &*turned : arguments[1]};
  for (size_t i = 0; i < 2; ++i) {
    auto operand = builder.operand_of(i == 0 ? "input" : "other", *matrices[i], constants_are);
    if (!operand) return operand.error();
    if (are_bytes && std::holds_alternative<Real>(operand->value))
      return unsupported(fmt::format("input {} is floating-point", i));
    const auto* constant = std::get_if<QuantizedConstant>(&operand->value);
    const size_t rank = matrices[i]->shape.size();
    if (are_bytes && constant && rank >= 2) {
      if (Done one = check_one_scale_along(*constant, rank - (i == 0 ? 1 : 2)); !one) return one.error();
    }
    pending.operands.push_back(*std::move(operand));
  }
  auto shape = product_shape(matrices[0]->shape, matrices[1]->shape);
  if (!shape) return shape.error();
  pending.shape = *std::move(shape);
  return pending;
}

}  // namespace

Expected<Pending> bmm(Builder& builder, const Node& node, Arguments arguments) {
  return two_matrices(builder, node, arguments, true);
}

namespace {

// Of the operands of a product. A constant matrix is stored transposed, like linear layers' weights: that is fastest
// for few rows.
struct Factor {
  Real real;
  bool is_transposed;
};

// Matrices that a Transpose turned over, as they lay before it; nullopt: none did. Who else reads its result still
// does.
std::optional<Real> before_turning(const Builder& builder, const Real& real) {
  const auto& nodes = builder.graph.nodes;
  const auto writer = std::find_if(nodes.rbegin(), nodes.rend(), [&](const graph::Node& node) {
    return std::ranges::find(node.outputs, real.value, &graph::Port::value) != node.outputs.end();
  });
  if (writer == nodes.rend() || writer->op != "permute") return std::nullopt;
  const auto& order = std::get<std::vector<int64_t>>(writer->attributes.find("permutation")->second);
  std::vector<int64_t> turned(order.size());
  std::iota(turned.begin(), turned.end(), 0);
  if (turned.size() < 2) return std::nullopt;
  std::swap(turned.back(), turned[turned.size() - 2]);
  return order == turned ? std::optional(Real{writer->inputs.front().value, real.dtype}) : std::nullopt;
}

Expected<Factor> second_factor(Builder& builder, const Known& known, bool is_transposed, DType dtype) {
  const TensorPtr constant = known.tensor();
  if (!constant || constant->shape.size() != 2 || is_transposed || !is_real(constant->type)) {
    const auto real = builder.real_of(known, dtype);
    if (!real) return real.error();
    if (const auto before = before_turning(builder, *real)) return Factor{*before, !is_transposed};
    return Factor{*real, is_transposed};
  }
  if (Done spent = builder.spend(2 * constant->size()); !spent) return spent.error();
  const ValueId value = builder.constant_of(constant, dtype == DType::f16 ? " turned f16" : " turned", [&] {
    return reals_of(transposed(*constant, {1, 0}), dtype);
  });
  return Factor{{value, dtype}, true};
}

}  // namespace

Expected<Pending> matmul(Builder& builder, const Node& node, Arguments arguments) {
  const auto product = product_of(node);
  if (!product) return product.error();
  if (product->alpha != 1) return unsupported(fmt::format("its alpha is {}, and must be 1", product->alpha));
  if (at(arguments, 2) && product->beta != 1)
    return unsupported(fmt::format("its beta is {}, and must be 1", product->beta));
  for (size_t i = 0; i < 2; ++i) {
    const auto known = needed(arguments, i);
    if (!known) return known.error();
    if ((*known)->as<View>() || (*known)->as<QuantizedConstant>())
      return unsupported(fmt::format("input {} is quantized", i));
  }
  Dims matrices = arguments[1]->shape;
  if (product->is_turned && matrices.size() >= 2) std::swap(matrices.back(), matrices[matrices.size() - 2]);
  auto shape = product_shape(arguments[0]->shape, matrices);
  if (!shape) return shape.error();

  // A constant has the dtype of its factor.
  const bool is_constant = arguments[0]->tensor() != nullptr;
  const auto computed = builder.real_of(*arguments[is_constant ? 1 : 0]);
  if (!computed) return computed.error();
  const auto first = is_constant ? builder.real_of(*arguments[0], computed->dtype) : computed;
  if (!first) return first.error();
  const auto second = second_factor(builder, *arguments[1], product->is_turned, computed->dtype);
  if (!second) return second.error();

  Pending pending{.name = node.name, .takes_bias = true, .shape = *std::move(shape)};
  pending.operands.push_back({"input", *first, arguments[0]->shape});
  pending.operands.push_back({"other", second->real, builder.shapes[second->real.value]});
  pending.attributes.insert_or_assign("transpose_other", AttributeValue(second->is_transposed));
  if (!at(arguments, 2)) return pending;
  const Number columns = pending.shape.back();
  if (columns.is_symbol) return unsupported("it has a bias, but an unknown number of columns");
  if (Done biased = add_bias(builder, node, arguments, 2, columns.value, pending); !biased) return biased.error();
  return pending;
}

Expected<Pending> bmm_of_reals(Builder& builder, const Node& node, Arguments arguments) {
  return two_matrices(builder, node, arguments, false);
}

}  // namespace qgen::onnx::matching
