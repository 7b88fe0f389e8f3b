// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/patterns.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/models/onnx/evaluate.h"
#include "runtime/models/onnx/match.h"

namespace qgen::onnx {
namespace {

using namespace matching;  // NOLINT(google-build-using-namespace): the table below uses all its names

constexpr Form as_q8ta(std::string_view op, bool has_activation = false, bool has_table = false) {
  return {op, Style::q8ta, has_activation, has_table};
}
constexpr Form as_fused(std::string_view op) { return {op, Style::fused}; }
constexpr Form of_reals(std::string_view op) { return {op, Style::real, true}; }
constexpr Form joining(std::string_view op) { return {op, Style::joins}; }
constexpr Form weighted(std::string_view op) { return {op, Style::weighted, true}; }
constexpr Form computed(std::string_view op) { return {op, Style::computed, true}; }
constexpr Form plain(std::string_view op) { return {op, Style::real}; }
constexpr Form kNone = {};

constexpr Pattern kPatterns[] = {
    // op              operands               before a QuantizeLinear                       otherwise
    {"Conv", "int8, int8 weight", as_q8ta("q8ta_conv2d", true, true), as_q8ta("q8ta_conv2d_dequantize", true), conv},
    {"Conv", "int8, int8 weight of any zero point", as_q8ta("q8ta_conv2d", true, true),
     as_q8ta("q8ta_conv2d_dequantize", true), conv_of_copies},
    {"Conv", "real, int8 weight", kNone, of_reals("conv2d_q8csw"), conv_of_reals},
    {"Conv", "int8, int8 weight of one tap", as_fused("bmm"), as_fused("bmm"), conv_of_pixels},
    {"Conv", "any, any", kNone, of_reals("conv2d"), conv_of_real_weight},
    {"ConvInteger", "int8 of a computed scale, int8 weight", kNone, computed("dq8ta_conv2d"), conv_of_computed},
    {"ConvTranspose", "int8, int8 weight", as_q8ta("q8ta_conv2d_transposed", true, true), weighted("conv2d_transposed"),
     conv_transposed},
    {"ConvTranspose", "any, any", kNone, of_reals("conv2d_transposed"), conv_transposed_of_reals},
    {"MatMul", "int8, int8 weight", as_q8ta("q8ta_linear", true, true), as_q8ta("q8ta_linear_dequantize", true),
     linear_of_bytes},
    {"MatMul", "real, int4 weight", kNone, of_reals("linear_q4gsw"), linear_of_nibbles},
    {"MatMul", "real, int8 weight", kNone, of_reals("linear_q8csw"), linear_of_reals},
    {"MatMul", "int8, int8", as_fused("bmm"), as_fused("bmm"), bmm},
    {"MatMul", "real, real", kNone, of_reals("matmul"), matmul},
    {"MatMul", "any, any", as_fused("fused_bmm"), as_fused("fused_bmm"), bmm_of_reals},
    {"MatMulInteger", "int8, int8", as_fused("bmm"), as_fused("bmm"), bmm},
    {"Gemm", "int8, int8 weight", as_q8ta("q8ta_linear", true, true), as_q8ta("q8ta_linear_dequantize", true),
     linear_of_bytes},
    {"Gemm", "real, int4 weight", kNone, of_reals("linear_q4gsw"), linear_of_nibbles},
    {"Gemm", "real, int8 weight", kNone, of_reals("linear_q8csw"), linear_of_reals},
    {"Gemm", "int8, int8", as_fused("bmm"), as_fused("bmm"), bmm},
    {"Gemm", "real, real", kNone, of_reals("matmul"), matmul},
    {"Gemm", "any, any", as_fused("fused_bmm"), as_fused("fused_bmm"), bmm_of_reals},
    {"Add", "int8, int8", as_q8ta("q8ta_add", true), as_fused("fused_add"), both_bytes},
    {"Add", "any, any", as_fused("fused_add"), as_fused("fused_add"), of_any},
    {"Sub", "int8, int8", as_q8ta("q8ta_add", true), as_fused("fused_add"), difference_of_bytes},
    {"Sub", "any, any", as_fused("fused_add"), as_fused("fused_add"), difference_of_any},
    {"Mul", "int8, int8", as_q8ta("q8ta_mul", true), as_fused("fused_mul"), both_bytes},
    {"Mul", "any, any", as_fused("fused_mul"), as_fused("fused_mul"), of_any},
    {"Concat", "any, ...", joining("q8ta_concat"), joining("concat"), parts},
    {"AveragePool", "int8", as_q8ta("q8ta_avg_pool2d"), plain("avg_pool2d"), mean_of_windows},
    {"AveragePool", "real", kNone, plain("avg_pool2d"), mean_of_windows_of_reals},
    {"GlobalAveragePool", "int8", as_q8ta("q8ta_avg_pool2d"), plain("avg_pool2d"), mean_of_all},
    {"GlobalAveragePool", "real", kNone, plain("avg_pool2d"), mean_of_all_reals},
    {"ReduceMean", "int8", as_q8ta("q8ta_avg_pool2d"), plain("avg_pool2d"), mean_along},
    {"ReduceMean", "real", kNone, plain("avg_pool2d"), mean_of_reals_along},
    {"Softmax", "any", kNone, plain("softmax"), softmax},
    {"LayerNormalization", "any", kNone, plain("layer_norm"), layer_norm},
    {"RMSNormalization", "any", kNone, plain("rms_norm"), rms_norm},
    {"SimplifiedLayerNormalization", "any", kNone, plain("rms_norm"), rms_norm},
};

constexpr Pattern kIdentity = {"Identity", "int8", as_fused("requantize"), of_reals(""), nullptr};

struct MissingOperator {
  std::string_view op, needs, hint = {};
};
constexpr MissingOperator kMissing[] = {
    {"Cast", "an operator that converts from one type to another",
     "qgen imports a Cast of 8-bit or 4-bit integers to floating point, or to more bits"},
    {"If", "branches whose results have the same shapes and types, or a condition that is known before the model runs",
     "give the inputs that it depends on with --constant of qgen-model, or ImportOptions::constants"},
};

}  // namespace

std::span<const Pattern> patterns() { return kPatterns; }

Error lacking(std::string_view op) {
  constexpr std::string_view kHint = "docs/onnx.md lists the operators that qgen imports";
  const auto found = std::ranges::find(kMissing, op, &MissingOperator::op);
  if (found == std::end(kMissing) && is_evaluated(op))
    return unsupported(fmt::format("qgen imports {} of constants only, and an input of it is not known yet", op),
                       kHowToNumberSides);
  if (found == std::end(kMissing)) return unsupported("qgen does not know this operator", std::string(kHint));
  return unsupported(fmt::format("needs {}", found->needs), std::string(found->hint.empty() ? kHint : found->hint));
}

Expected<Pending> match(Builder& builder, std::string_view op, const Node& node, Arguments arguments) {
  struct Reason {
    std::string_view operands;
    Error error;
  };
  std::vector<Reason> reasons;
  for (const Pattern& pattern : kPatterns) {
    if (pattern.op != op) continue;
    auto pending = pattern.match(builder, node, arguments);
    if (pending) {
      pending->pattern = &pattern;
      const bool has_bytes = std::ranges::any_of(arguments, [](const Known* it) { return it && it->as<View>(); });
      std::string better;
      for (const Reason& reason : reasons)
        better += fmt::format("{}{}: {}", better.empty() ? "" : "; ", reason.operands, reason.error.message);
      if (has_bytes && !better.empty())
        builder.note(node.name, fmt::format("becomes {}, because better operators do not fit: {}",
                                            pattern.quantized ? pattern.quantized.op : pattern.real.op, better));
      return pending;
    }
    if (pending.error().kind != Error::Kind::unsupported) return pending;
    reasons.push_back({pattern.operands, pending.error()});
  }
  // The last row accepts the most, so its reason comes first. The reasons of the other rows follow.
  Error error = reasons.back().error;
  if (error.message.starts_with("node '")) return error;  // an operand that is not read itself
  for (const Reason& reason : std::span(reasons).first(reasons.size() - 1)) {
    if (reason.error.message == reasons.back().error.message) continue;
    error.message += fmt::format("\n  not as {}: {}", reason.operands, reason.error.message);
  }
  return error;
}

ChannelOf channels_of(const Pending& layer, const Shape& weight) {
  const bool is_transposed = layer.pattern->op == "ConvTranspose";
  return {weight, is_transposed ? std::get<int64_t>(layer.attributes.find("groups")->second) : 1, is_transposed};
}

Pending identity(const View& view, const Dims& shape) {
  Pending pending{.pattern = &kIdentity, .name = "", .shape = shape};
  pending.operands.push_back({"input", view, shape});
  return pending;
}
bool is_identity(const Pending& pending) { return pending.pattern == &kIdentity; }

}  // namespace qgen::onnx
