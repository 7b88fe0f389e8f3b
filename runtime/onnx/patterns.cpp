// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/onnx/patterns.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/onnx/match.h"

namespace qgen::onnx {
namespace {

using namespace matching;  // NOLINT(google-build-using-namespace): the table below is what they are for

constexpr Form as_q8ta(std::string_view op, bool has_activation = false, bool has_table = false) {
  return {op, Style::q8ta, has_activation, has_table};
}
constexpr Form as_fused(std::string_view op) { return {op, Style::fused}; }
constexpr Form quantizing(std::string_view op, std::string_view of_bytes) {
  return {op, Style::quantizes, true, false, of_bytes};
}
constexpr Form of_reals(std::string_view op) { return {op, Style::real, true}; }
constexpr Form joining(std::string_view op) { return {op, Style::joins}; }
constexpr Form weighted(std::string_view op) { return {op, Style::weighted, true}; }
constexpr Form plain(std::string_view op) { return {op, Style::real}; }
constexpr Form kNone = {};

constexpr Pattern kPatterns[] = {
    // op              operands               before a QuantizeLinear                       otherwise
    {"Conv", "int8, int8 weight", as_q8ta("q8ta_conv2d", true, true),
     quantizing("conv2d_q8ta_q8csw", "q8ta_conv2d_dequantize"), conv},
    {"Conv", "real, int8 weight", kNone, of_reals("conv2d_q8csw"), conv_of_reals},
    {"Conv", "int8, int8 weight of one tap", as_fused("bmm"), as_fused("bmm"), conv_of_pixels},
    {"Conv", "any, any", kNone, of_reals("conv2d"), conv_of_real_weight},
    {"ConvTranspose", "int8, int8 weight", as_q8ta("q8ta_conv2d_transposed", true, true), weighted("conv2d_transposed"),
     conv_transposed},
    {"ConvTranspose", "any, any", kNone, of_reals("conv2d_transposed"), conv_transposed_of_reals},
    {"MatMul", "int8, int8 weight", as_q8ta("q8ta_linear", true, true),
     quantizing("linear_q8ta_q8csw", "q8ta_linear_dequantize"), linear_of_bytes},
    {"MatMul", "real, int4 weight", kNone, of_reals("linear_q4gsw"), linear_of_nibbles},
    {"MatMul", "real, int8 weight", kNone, of_reals("linear_q8csw"), linear_of_reals},
    {"MatMul", "int8, int8", as_fused("bmm"), as_fused("bmm"), bmm},
    {"MatMul", "real, real", kNone, of_reals("matmul"), matmul},
    {"MatMul", "any, any", as_fused("fused_bmm"), as_fused("fused_bmm"), bmm_of_reals},
    {"MatMulInteger", "int8, int8", as_fused("bmm"), as_fused("bmm"), bmm},
    {"Gemm", "int8, int8 weight", as_q8ta("q8ta_linear", true, true),
     quantizing("linear_q8ta_q8csw", "q8ta_linear_dequantize"), linear_of_bytes},
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
};

constexpr Pattern kIdentity = {"Identity", "int8", as_fused("requantize"), of_reals(""), nullptr};

struct Lack {
  std::string_view op, needs;
};
constexpr Lack kLacks[] = {
    {"Cast", "an operator that converts from one type to another"},
    {"LogSoftmax", "an operator for softmax"},
    {"InstanceNormalization", "an operator that normalizes images"},
    {"Div", "a quotient of two tensors"},
    {"Pow", "a power of a tensor"},
    {"Sqrt", "a root of a tensor"},
    {"Erf", "the error function of a tensor"},
    {"Exp", "the exponential of a tensor"},
    {"ReduceMax", "the greatest element along an axis"},
    {"ReduceSum", "a sum along an axis"},
    {"ArgMax", "the place of the greatest element along an axis"},
    {"Where", "a choice between two tensors"},
    {"If", "branches, which a graph does not have"},
    {"Loop", "loops, which a graph does not have"},
    {"Scan", "loops, which a graph does not have"},
};

}  // namespace

std::span<const Pattern> patterns() { return kPatterns; }

std::string_view lacking(std::string_view op) {
  const auto found = std::ranges::find(kLacks, op, &Lack::op);
  return found == std::end(kLacks) ? std::string_view() : found->needs;
}

Expected<Pending> match(Builder& builder, std::string_view op, const Node& node, Arguments arguments) {
  std::string reasons;
  for (const Pattern& pattern : kPatterns) {
    if (pattern.op != op) continue;
    auto pending = pattern.match(builder, node, arguments);
    if (pending) {
      pending->pattern = &pattern;
      const bool has_bytes = std::ranges::any_of(arguments, [](const Known* it) { return it && it->as<View>(); });
      if (has_bytes && !reasons.empty())
        builder.note(node.name, fmt::format("becomes {}, since it does not fit what is better: {}",
                                            pattern.quantized ? pattern.quantized.op : pattern.real.op, reasons));
      return pending;
    }
    if (pending.error().kind != Error::Kind::unsupported) return pending;
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", pattern.operands, pending.error().message);
  }
  return unsupported(reasons);
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
