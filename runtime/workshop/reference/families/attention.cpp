// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A layer of attention by the exact formulas, in double, with the error bound of computing it in f32.
// docs/attention_bound.md derives each line. kU is the largest relative error of one rounding to f32.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "runtime/engine/calls/attributes.h"
#include "runtime/workshop/reference/cache_slots.h"
#include "runtime/workshop/reference/float32.h"
#include "runtime/workshop/reference/rows.h"

namespace qgen::reference {
namespace {

Answer answer_of(const HostTensor& like, const Shape& shape, Exact exact) {
  HostTensor output = zeros(like.dtype, shape);
  for (int64_t i = 0; i < element_count(shape); ++i) set_element(output, i, exact.values[static_cast<size_t>(i)]);
  Answer answer;
  answer.outputs.emplace("output", std::move(output));
  answer.exact.emplace("output", std::move(exact));
  return answer;
}

// ---- rotary_embedding -----------------------------------------------------------------------------------------------

// The row of the table that row `place` of a batch reads; -1: there is none.
int64_t table_row(const Request& request, int64_t batch, int64_t place, int64_t sequence) {
  const HostTensor& cos = request.inputs.at("cos");
  if (cos.shape.size() == 3) return batch * sequence + place;
  const HostTensor* positions = find_input(request, "positions");
  int64_t row = place;
  if (positions && positions->shape.size() == 2)
    row = static_cast<int64_t>(element(*positions, batch * sequence + place));
  else if (positions && attribute<bool>(request, "from_last"))
    row = std::max<int64_t>(static_cast<int64_t>(element(*positions, batch)), sequence - 1) - (sequence - 1) + place;
  else if (positions) row = static_cast<int64_t>(element(*positions, 0)) + place;
  return row >= 0 && row < cos.shape[0] ? row : -1;
}

// visit(first, second, cos, sin) with the places of each pair that is rotated.
template <typename Visit>
void for_each_pair(const Request& request, Visit visit) {
  const HostTensor &input = request.inputs.at("input"), &cos = request.inputs.at("cos"),
                   &sin = request.inputs.at("sin");
  const bool is_interleaved = attribute<bool>(request, "interleaved");
  const bool is_heads_first = attribute<bool>(request, "heads_first");
  const int64_t width = input.shape[3], angles = cos.shape.back(), count = element_count(input.shape);
  const int64_t sequence = input.shape[is_heads_first ? 2 : 1];
  for (int64_t row = 0; row * width < count; ++row) {
    const int64_t batch = row / (input.shape[1] * input.shape[2]);
    const int64_t place = is_heads_first ? row % sequence : row / input.shape[2] % sequence;
    const int64_t of_table = table_row(request, batch, place, sequence);
    for (int64_t pair = 0; pair < angles; ++pair) {
      const int64_t first = row * width + (is_interleaved ? 2 * pair : pair);
      visit(first, first + (is_interleaved ? 1 : angles), of_table < 0 ? 0 : element(cos, of_table * angles + pair),
            of_table < 0 ? 0 : element(sin, of_table * angles + pair));
    }
  }
}

Answer rotary_embedding(const Request& request) {
  const HostTensor& input = request.inputs.at("input");
  Exact exact;
  for (int64_t i = 0; i < element_count(input.shape); ++i) exact.values.push_back(element(input, i));
  exact.bounds.assign(exact.values.size(), 0);
  for_each_pair(request, [&](int64_t first, int64_t second, double c, double s) {
    const double x = element(input, first), other = element(input, second);
    const auto set = [&](int64_t at, double a, double b) {
      exact.values[static_cast<size_t>(at)] = a + b;
      exact.bounds[static_cast<size_t>(at)] = roundings(2) * (std::abs(a) + std::abs(b)) + 3 * kLost;
    };
    set(first, x * c, -other * s);
    set(second, other * c, x * s);
  });
  return answer_of(input, input.shape, std::move(exact));
}

// ---- rotary_cache_write ---------------------------------------------------------------------------------------------

// Heads [from, from + count) of [B, S, X, D].
HostTensor heads_of(const HostTensor& all, int64_t from, int64_t count) {
  HostTensor part = zeros(all.dtype, {all.shape[0], all.shape[1], count, all.shape[3]});
  const int64_t line = count * all.shape[3];
  for (int64_t i = 0; i < element_count(part.shape); ++i)
    set_element(part, i, element(all, (i / line * all.shape[2] + from) * all.shape[3] + i % line));
  return part;
}

Request rotation_by_last(const Request& request, const HostTensor& heads) {
  return {.inputs = {{"input", heads},
                     {"cos", request.inputs.at("cos")},
                     {"sin", request.inputs.at("sin")},
                     {"positions", request.inputs.at("last")}},
          .attributes = {
              {"interleaved", attribute<bool>(request, "interleaved")}, {"heads_first", false}, {"from_last", true}}};
}

Answer rotated_by_last(const Request& request, const HostTensor& heads) {
  return rotary_embedding(rotation_by_last(request, heads));
}

// In the f32 arithmetic of docs/affine.md, so that the integers that are made of them are exact.
HostTensor rotated_floats(const Request& request, const HostTensor& heads) {
  HostTensor rotated = zeros(DType::f32, heads.shape);
  const auto floats = rotated.as<float>();
  for (int64_t i = 0; i < element_count(heads.shape); ++i) floats[i] = static_cast<float>(element(heads, i));
  for_each_pair(rotation_by_last(request, heads), [&](int64_t first, int64_t second, double cos, double sin) {
    const auto c = static_cast<float>(cos), s = static_cast<float>(sin);
    const float x = floats[first], other = floats[second];
    floats[first] = flushed(product(x, c) - product(other, s));
    floats[second] = flushed(product(other, c) + product(x, s));
  });
  return rotated;
}

// The rows of heads in `operand`, or heads [from, from + count) of the query.
HostTensor new_rows(const Request& request, const char* operand, int64_t from, int64_t count) {
  const HostTensor* given = find_input(request, operand);
  return given ? *given : heads_of(request.inputs.at("query"), from, count);
}

// The cache `name` with the new rows [B, S, M, D] in it, from `firsts` on in each batch.
Exact with_rows(const Request& request, const char* name, const Exact& rows, const Shape& shape,
                const std::vector<int64_t>& firsts) {
  const HostTensor& cache = request.inputs.at(name);
  Exact exact;
  for (int64_t i = 0; i < element_count(cache.shape); ++i) exact.values.push_back(element(cache, i));
  exact.bounds.assign(exact.values.size(), 0);
  for (int64_t i = 0; i < element_count(shape); ++i) {
    const int64_t d = i % shape[3], head = i / shape[3] % shape[2], row = i / (shape[3] * shape[2]);
    const int64_t batch = row / shape[1], position = firsts[static_cast<size_t>(batch)] + row % shape[1];
    const auto slot = slot_of(request, cache.shape, batch, position);
    if (!slot) continue;
    const int64_t line = (slot->matrix * cache.shape[1] + head) * cache.shape[2] + slot->row;
    const auto to = static_cast<size_t>(line * shape[3] + d);
    exact.values[to] = rows.values[static_cast<size_t>(i)];
    exact.bounds[to] = rows.bounds[static_cast<size_t>(i)];
  }
  return exact;
}

Answer rotary_cache_write(const Request& request) {
  const HostTensor &query = request.inputs.at("query"), &key_cache = request.inputs.at("key_cache");
  const int64_t key_heads = key_cache.shape[1];
  const int64_t heads = query.shape[2] - (find_input(request, "key") ? 0 : 2 * key_heads);
  const int64_t rows = query.shape[1], batches = query.shape[0];
  HostTensor lengths = zeros(DType::i32, {batches});
  std::vector<int64_t> firsts;
  for (int64_t batch = 0; batch < batches; ++batch) {
    const auto last = static_cast<int64_t>(element(request.inputs.at("last"), batch));
    firsts.push_back(std::max<int64_t>(last, std::max<int64_t>(rows - 1, 0)) - (rows - 1));
    set_element(lengths, batch,
                static_cast<double>(std::min(firsts.back() + rows, capacity_of(request, key_cache.shape))));
  }
  const HostTensor new_keys = new_rows(request, "key", heads, key_heads);
  const HostTensor new_values = new_rows(request, "value", heads + key_heads, key_heads);
  Exact moved;
  for (int64_t i = 0; i < element_count(new_values.shape); ++i) moved.values.push_back(element(new_values, i));
  moved.bounds.assign(moved.values.size(), 0);

  Answer answer, rotated = rotated_by_last(request, heads_of(query, 0, heads));
  const auto add = [&](const std::string& name, const Shape& shape, Exact exact) {
    HostTensor output = zeros(query.dtype, shape);
    for (int64_t i = 0; i < element_count(shape); ++i) set_element(output, i, exact.values[static_cast<size_t>(i)]);
    answer.outputs.emplace(name, std::move(output));
    answer.exact.emplace(name, std::move(exact));
  };
  add("rotated", {batches, rows, heads, query.shape[3]}, std::move(rotated.exact.at("output")));
  add("keys", key_cache.shape,
      with_rows(request, "key_cache", rotated_by_last(request, new_keys).exact.at("output"), new_keys.shape, firsts));
  add("values", key_cache.shape, with_rows(request, "value_cache", moved, new_values.shape, firsts));
  answer.outputs.emplace("lengths", std::move(lengths));
  return answer;
}

Answer rotary_cache_write_q8rs(const Request& request) {
  const HostTensor &query = request.inputs.at("query"), &key_cache = request.inputs.at("key_cache");
  const int64_t key_heads = key_cache.shape[1];
  const int64_t heads = query.shape[2] - (find_input(request, "key") ? 0 : 2 * key_heads);
  Request write{.inputs = request.inputs};
  write.inputs["key"] = rotated_floats(request, new_rows(request, "key", heads, key_heads));
  write.inputs["value"] = new_rows(request, "value", heads + key_heads, key_heads);
  Answer rotated = rotated_by_last(request, heads_of(query, 0, heads));
  Answer answer{.outputs = find("cache_write_q8rs")(write)};
  answer.outputs.emplace("rotated", std::move(rotated.outputs.at("output")));
  answer.exact.emplace("rotated", std::move(rotated.exact.at("output")));
  return answer;
}

// ---- attention ------------------------------------------------------------------------------------------------------

// [B, S, N, D], or with the heads first [B, N, S, D].
struct Heads {
  const HostTensor& tensor;
  bool is_heads_first;
  const HostTensor* scales = nullptr;  // of int8 rows: [..., 2], the scale of a row at `part`
  int64_t part = 0;

  int64_t rows() const { return tensor.shape[is_heads_first ? 2 : 1]; }
  int64_t heads() const { return tensor.shape[is_heads_first ? 1 : 2]; }
  int64_t width() const { return tensor.shape[3]; }
  // Among all rows of the tensor.
  int64_t place(int64_t batch, int64_t head, int64_t row) const {
    const int64_t outer = is_heads_first ? head : row, inner = is_heads_first ? row : head;
    return (batch * tensor.shape[1] + outer) * tensor.shape[2] + inner;
  }
  // Of a row; 1 without scales.
  double scale(int64_t batch, int64_t head, int64_t row) const {
    if (!scales) return 1;
    const double scale = element(*scales, 2 * place(batch, head, row) + part);
    return std::isfinite(scale) ? scale : kNan;
  }
  // Without the scale.
  double stored(int64_t batch, int64_t head, int64_t row, int64_t d) const {
    return element(tensor, place(batch, head, row) * width() + d);
  }
  double at(int64_t batch, int64_t head, int64_t row, int64_t d) const {
    return stored(batch, head, row, d) * scale(batch, head, row);
  }
};

// A mask of fewer dimensions than [B, N, S, T], or of dimensions of 1, is repeated.
double mask_at(const HostTensor& mask, const std::array<int64_t, 4>& at) {
  int64_t index = 0;
  const size_t missing = at.size() - mask.shape.size();
  for (size_t d = 0; d < mask.shape.size(); ++d)
    index = index * mask.shape[d] + (mask.shape[d] == 1 ? 0 : at[missing + d]);
  return element(mask, index);
}

struct Score {
  double value = 0, error = 0;
};

// What kernels may lose by computing in f32. Those of f16 may use cooperative matrices: an addition in a matrix has
// twice the error, and weights are f16. docs/attention_bound.md derives the numbers.
struct Arithmetic {
  double of_sum;          // the error of an addition, in roundings
  double block_keys;      // the fewest keys of a block
  double weight_steps;    // roundings of a weight
  double distance_steps;  // and for each unit between its score and the greatest
  double of_weight;       // the relative error of storing a weight
  double lost_weight;     // the largest weight that may count as 0
  double lost_scale;      // the largest product of a weight and a scale that may, divided by the row's largest scale
};

constexpr Arithmetic kRealArithmetic{1, 64, 3, 1, 0, kLost, 0};
constexpr Arithmetic kHalfArithmetic{2, 32, 80, 10, 0x1p-10, 0x1p-29 + kLost, 0};
constexpr Arithmetic kHalfArithmeticOfInt8{2, 32, 80, 10, 0x1p-10, kLost, 0x1p-28};

// Errors of -infinity and NaN are none.
double finite(double error) { return std::isfinite(error) ? error : 0; }

struct Attention {
  Heads query, key, value;
  const HostTensor *mask, *lengths;
  double scale, softcap;
  std::string causal;
  int64_t window;
  Arithmetic arithmetic;

  explicit Attention(const Request& request)
      : query{request.inputs.at("query"), attribute<bool>(request, "heads_first")},
        key{request.inputs.at("key"), attribute<bool>(request, "keys_heads_first"), find_input(request, "scales"), 0},
        value{request.inputs.at("value"), attribute<bool>(request, "keys_heads_first"), find_input(request, "scales"),
              1},
        mask(find_input(request, "mask")),
        lengths(find_input(request, "key_lengths")),
        softcap(static_cast<double>(static_cast<float>(attribute<double>(request, "softcap")))),
        causal(attribute<std::string>(request, "causal")),
        window(attribute<int64_t>(request, "window")),
        arithmetic(query.tensor.dtype != DType::f16 ? kRealArithmetic
                   : value.scales                   ? kHalfArithmeticOfInt8
                                                    : kHalfArithmetic) {
    const auto given = request.attributes.find("scale");
    const double root = query.width() == 0 ? 1 : 1 / std::sqrt(static_cast<double>(query.width()));
    scale = given != request.attributes.end() ? attribute<double>(request, "scale") : root;
    scale = static_cast<double>(static_cast<float>(scale));
  }

  // The keys [begin, end) of a row.
  std::pair<int64_t, int64_t> keys_of(int64_t batch, int64_t row) const {
    int64_t keys = key.rows();
    if (lengths) keys = std::clamp<int64_t>(static_cast<int64_t>(element(*lengths, batch)), 0, keys);
    if (causal == "none") return {0, keys};
    const int64_t end = row + 1 + (causal == "to_last" ? keys - query.rows() : 0);
    return {window > 0 ? std::max<int64_t>(0, end - window) : 0, std::min(end, keys)};
  }

  Score score(int64_t batch, int64_t head, int64_t row, int64_t at) const {
    const int64_t key_head = head / (query.heads() / key.heads()), width = query.width();
    const double unit = std::abs(key.scale(batch, key_head, at));
    double sum = 0, magnitudes = 0, lost = 0;
    for (int64_t d = 0; d < width; ++d) {
      const double q = query.at(batch, head, row, d), k = key.at(batch, key_head, at, d);
      sum += q * k;
      magnitudes += std::abs(q * k);
      // Without scales `key` has k itself, and else an integer.
      const double beside = key.scales ? std::abs(q) * 128 + 1 : std::abs(q);
      lost += 0x1p-126 * (beside + std::abs(k) + 2 * unit);
    }
    const double steps = arithmetic.of_sum * static_cast<double>(width) + (key.scales ? 3 : 2);
    Score score{sum * scale, (roundings(steps) * magnitudes + lost) * std::abs(scale) + kLost};
    if (softcap > 0) {
      score.value = softcap * std::tanh(score.value / softcap);
      score.error += 20 * kU * softcap + kLost * (1 + softcap);
    }
    if (mask) {
      score.value += mask_at(*mask, {batch, head, row, at});
      score.error += kU * (std::abs(score.value) + score.error) + kLost;
    }
    score.error = finite(score.error);
    return score;
  }

  void add_row(int64_t batch, int64_t head, int64_t row, Exact& exact, int64_t first) const {
    const auto [begin, end] = keys_of(batch, row);
    const int64_t key_head = head / (query.heads() / key.heads());
    std::vector<Score> scores;
    double greatest = -kInfinity, greatest_error = 0, largest_scale = 0;
    bool is_undefined = false;
    for (int64_t at = begin; at < end; ++at) {
      scores.push_back(score(batch, head, row, at));
      const Score& last = scores.back();
      is_undefined |= std::isnan(last.value) || last.value == kInfinity;
      greatest = std::max(greatest, last.value);
      greatest_error = std::max(greatest_error, last.error);
      if (last.value != -kInfinity) largest_scale = std::max(largest_scale, std::abs(value.scale(batch, key_head, at)));
    }
    const auto set = [&](int64_t e, double result, double bound) {
      exact.values[static_cast<size_t>(first + e)] = result;
      exact.bounds[static_cast<size_t>(first + e)] = bound;
    };
    if (is_undefined || greatest == -kInfinity) {
      for (int64_t e = 0; e < value.width(); ++e) set(e, is_undefined ? kNan : 0, 0);
      return;
    }
    const auto count = static_cast<double>(scores.size());
    // Each block may have a greater score than those before it.
    const double blocks = std::ceil(count / arithmetic.block_keys) + 1;
    // A value's scale is a factor of its weight.
    const double steps = arithmetic.weight_steps + 3 * blocks + arithmetic.of_sum * count + (value.scales ? 1 : 0);
    const double lost = value.scales ? 0x1p-118 : kLost;
    std::vector<double> weights, errors;
    double total = 0, drift = 0;
    for (const Score& it : scores) {
      const double weight = std::exp(it.value - greatest);
      const double distance = std::min(greatest - it.value + it.error + greatest_error, 88.0);
      const double relative = std::exp(it.error + greatest_error) *
                                  (1 + roundings(steps + arithmetic.distance_steps * distance)) *
                                  (1 + arithmetic.of_weight) -
                              1;
      weights.push_back(weight);
      errors.push_back(weight * relative + arithmetic.lost_weight);
      total += weight;
      drift += errors.back();
    }
    const double of_total = std::min(drift / total, 0.5);
    for (int64_t e = 0; e < value.width(); ++e) {
      double sum = 0, error = 0;
      for (size_t j = 0; j < weights.size(); ++j) {
        const int64_t at = begin + static_cast<int64_t>(j);
        const double stored = value.stored(batch, key_head, at, e), v = stored * value.scale(batch, key_head, at);
        sum += weights[j] * v;
        error += errors[j] * std::abs(v) + arithmetic.lost_scale * largest_scale * std::abs(stored) + lost;
      }
      const double result = sum / total;
      const double whole = (error / total + std::abs(result) * of_total) / (1 - of_total);
      set(e, result, finite(whole + roundings(7) * (std::abs(result) + whole)) + kLost);
    }
  }
};

Answer attention(const Request& request) {
  const Attention layer(request);
  Shape shape = layer.query.tensor.shape;
  shape.back() = layer.value.width();
  Exact exact;
  exact.values.resize(static_cast<size_t>(element_count(shape)));
  exact.bounds.resize(exact.values.size());
  if (exact.values.empty()) return answer_of(layer.query.tensor, shape, std::move(exact));
  for (int64_t batch = 0; batch < shape[0]; ++batch) {
    for (int64_t head = 0; head < layer.query.heads(); ++head) {
      for (int64_t row = 0; row < layer.query.rows(); ++row)
        layer.add_row(batch, head, row, exact, layer.query.place(batch, head, row) * shape.back());
    }
  }
  return answer_of(layer.query.tensor, shape, std::move(exact));
}

// The keys, values or scales of all batches, [B, G * K, M, D], or with the heads first. An entry that is no block counts as the
// last one.
HostTensor out_of_blocks(const Request& request, const char* name) {
  const HostTensor &cache = request.inputs.at(name), &blocks = request.inputs.at("blocks");
  const bool is_heads_first = attribute<bool>(request, "keys_heads_first");
  const int64_t batches = blocks.shape[0], count = cache.shape[0], width = cache.shape[3];
  const int64_t heads = cache.shape[is_heads_first ? 1 : 2], size = cache.shape[is_heads_first ? 2 : 1];
  const int64_t keys = count == 0 ? 0 : blocks.shape[1] * size;
  HostTensor whole =
      zeros(cache.dtype, is_heads_first ? Shape{batches, heads, keys, width} : Shape{batches, keys, heads, width});
  const Heads from{cache, is_heads_first}, to{whole, is_heads_first};
  for (int64_t batch = 0; batch < batches; ++batch) {
    for (int64_t key = 0; key < keys; ++key) {
      auto block = static_cast<int64_t>(element(blocks, batch * blocks.shape[1] + key / size));
      if (block < 0 || block >= count) block = count - 1;
      for (int64_t head = 0; head < heads; ++head) {
        for (int64_t d = 0; d < width; ++d)
          set_element(whole, to.place(batch, head, key) * width + d,
                      element(cache, from.place(block, head, key % size) * width + d));
      }
    }
  }
  return whole;
}

Answer attention_paged(const Request& request) {
  Request whole = request;
  for (const char* name : {"key", "value", "scales"}) {
    if (find_input(request, name)) whole.inputs[name] = out_of_blocks(request, name);
  }
  return attention(whole);
}

}  // namespace

std::span<const Row> attention_rows() {
  static constexpr Row kRows[] = {
      exact_row<attention>("attention"),
      exact_row<attention_paged>("attention_paged"),
      exact_row<attention_paged>("attention_paged_q8rs"),
      exact_row<attention>("attention_q8rs"),
      exact_row<rotary_cache_write>("rotary_cache_write"),
      exact_row<rotary_cache_write>("rotary_cache_write_paged"),
      exact_row<rotary_cache_write_q8rs>("rotary_cache_write_paged_q8rs"),
      exact_row<rotary_cache_write_q8rs>("rotary_cache_write_q8rs"),
      exact_row<rotary_embedding>("rotary_embedding"),
  };
  return kRows;
}

}  // namespace qgen::reference
