// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/tensor/quant_params.h"

#include <fmt/format.h>

#include <algorithm>

namespace qgen {
namespace {

// [K] may have been meant along any dimension of K elements; this spells them out in the data's rank.
std::string rank_hint(const Shape& data, const Shape& params) {
  std::string choices;
  for (size_t d = 0; d < data.size(); ++d) {
    if (params.size() != 1 || data[d] != params[0]) continue;
    Shape full(data.size(), 1);
    full[d] = params[0];
    choices += fmt::format("{}{} for dimension {}", choices.empty() ? "" : " or ", to_text(full), d);
  }
  if (choices.empty()) return "a single element may have any rank; other parameters need the data's rank";
  return "give it the data's rank: " + choices;
}

// Why a dimension cannot be divided into `parts` equal parts; empty if it can.
std::string fault_of_division(int64_t side, int64_t parts) {
  const std::string both = fmt::format("{} elements and {} parameters", side, parts);
  if (parts < 0) return both + ", which is negative";
  if (parts > side && parts != 1) return both + ", more than one per element";
  if (parts == 0 && side != 0) return both;
  if (parts != 0 && side % parts != 0) return both + ", which does not divide it";
  return "";
}

std::string fault_of_block(int64_t side, int64_t block) {
  const std::string both = fmt::format("{} elements in blocks of {}", side, block);
  if (block < 0 || (block == 0 && side != 0)) return both;
  if (block > side && side != 0) return both + ", which is larger";
  if (block != 0 && side % block != 0) return both + ", which does not divide it";
  return "";
}

}  // namespace

Expected<Shape> block_of(const Shape& data, const Shape& params) {
  if (is_per_tensor(params)) return data;
  const std::string both =
      fmt::format("parameters of shape {} do not fit data of shape {}", to_text(params), to_text(data));
  if (params.size() != data.size()) {
    return refused(fmt::format("{}: their ranks are {} and {}", both, params.size(), data.size()),
                   rank_hint(data, params));
  }
  Shape block(data.size());
  for (size_t d = 0; d < data.size(); ++d) {
    const std::string fault = fault_of_division(data[d], params[d]);
    if (!fault.empty()) return refused(fmt::format("{}: dimension {} has {}", both, d, fault));
    block[d] = params[d] == 0 ? 1 : data[d] / params[d];
  }
  return block;
}

Expected<Shape> params_shape(const Shape& data, const Shape& block) {
  const std::string both = fmt::format("blocks of shape {} do not fit data of shape {}", to_text(block), to_text(data));
  if (block.size() != data.size()) {
    return refused(
        fmt::format("{}: their ranks are {} and {}", both, block.size(), data.size()),
        fmt::format("a block needs one size per dimension; {} is the block for a single scale", to_text(data)));
  }
  Shape params(data.size());
  for (size_t d = 0; d < data.size(); ++d) {
    const std::string fault = fault_of_block(data[d], block[d]);
    if (!fault.empty()) return refused(fmt::format("{}: dimension {} has {}", both, d, fault));
    params[d] = block[d] == 0 ? 1 : data[d] / block[d];
  }
  return params;
}

bool is_per_tensor(const Shape& params) {
  return std::ranges::all_of(params, [](int64_t side) { return side == 1; });
}

std::optional<size_t> channel_axis(const Shape& params) {
  const auto is_long = [](int64_t side) { return side != 1; };
  if (std::ranges::count_if(params, is_long) != 1) return std::nullopt;
  return static_cast<size_t>(std::ranges::find_if(params, is_long) - params.begin());
}

namespace {

Done check_tensor(const char* field, const HostTensor& tensor, DType dtype) {
  if (tensor.dtype != dtype) {
    return refused(fmt::format("{} is {}, and must be {}", field, name(tensor.dtype), name(dtype)));
  }
  return check_host_tensor(tensor, field);
}

Done check_zero_point(const HostTensor& zero_point, const Shape& scale) {
  if (Done tensor = check_tensor("zero_point", zero_point, DType::i32); !tensor) return tensor;
  if (is_per_tensor(zero_point.shape) || zero_point.shape == scale) return std::monostate{};
  return refused(
      fmt::format("zero_point of shape {} does not fit scale of shape {}", to_text(zero_point.shape), to_text(scale)),
      "a zero point has the scale's shape or is a singleton");
}

Done check_range(const QuantParams& params) {
  const auto range = range_of(params.dtype);
  if (!range) return refused(fmt::format("dtype is {}, and must be an integer type", name(params.dtype)));
  if (params.quant_min > params.quant_max) {
    return refused(fmt::format("quant_min {} is above quant_max {}", params.quant_min, params.quant_max));
  }
  if (params.quant_min < range->min || params.quant_max > range->max) {
    return refused(fmt::format("quant_min {} and quant_max {} exceed the range of {}, {} to {}", params.quant_min,
                               params.quant_max, name(params.dtype), range->min, range->max));
  }
  return std::monostate{};
}

}  // namespace

Done check(const QuantParams& params, const Shape& data) {
  if (Done shape = check_shape(data); !shape) return shape;
  if (Done scale = check_tensor("scale", params.scale, DType::f32); !scale) return scale;
  if (const auto block = block_of(data, params.scale.shape); !block) {
    return refused(fmt::format("scale: {}", block.error().message), block.error().hint);
  }
  if (params.zero_point) {
    if (Done zero_point = check_zero_point(*params.zero_point, params.scale.shape); !zero_point) return zero_point;
  }
  return check_range(params);
}

int64_t param_index(const Shape& data, const Shape& block, int64_t index) {
  int64_t result = 0;
  int64_t stride = 1;
  for (size_t d = data.size(); d-- > 0;) {
    const int64_t coordinate = index % data[d];
    index /= data[d];
    result += coordinate / block[d] * stride;
    stride *= data[d] / block[d];
  }
  return result;
}

}  // namespace qgen
