// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A row for each check. The host computes what the kernel computes, from the same inputs. Where Vulkan leaves a result
// open (rounding to f16, subnormal numbers), the row has a judge of its own that says what the device does.
#include "runtime/engine/self_test/checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <set>

namespace qgen::self_test {
namespace {

using Words = std::vector<uint32_t>;
using View = std::span<const uint32_t>;

constexpr uint32_t kWorkgroup = 64;

float as_float(uint32_t word) { return std::bit_cast<float>(word); }
uint32_t word_of(float value) { return std::bit_cast<uint32_t>(value); }
int32_t as_int(uint32_t word) { return std::bit_cast<int32_t>(word); }
uint32_t word_of(int32_t value) { return std::bit_cast<uint32_t>(value); }
float half_value(uint32_t half) { return f16_to_f32(static_cast<uint16_t>(half)); }
uint32_t half_of(float value) { return f32_to_f16(value); }
uint32_t pair_of(uint32_t low, uint32_t high) { return low | high << 16U; }

struct Row {
  std::string_view name;
  std::string_view kernel;
  DType dtype;
  FeatureMask features;    // that are wrong if the results are
  size_t inputs, outputs;  // of an item
  Words (*input)();
  Words (*ideal)(View input, uint32_t subgroup_size);
  Judgement (*judge)(const Row& row, View input, View output, const DeviceProfile& profile);
};

// ---- judging --------------------------------------------------------------------------------------------------------

std::string hexadecimal(View words) {
  std::vector<std::string> texts;
  for (const uint32_t word : words) texts.push_back(fmt::format("{:#x}", word));
  return fmt::format("{}", fmt::join(texts, ", "));
}

// "0x80808080, 0x7f7f7f7f: result 1 is 0xfe00, not 0xffff0200"
std::string fault_at(const Row& row, View input, size_t index, uint32_t got, uint32_t wanted) {
  const size_t item = index / row.outputs;
  const std::string of = row.outputs > 1 ? fmt::format("result {}", index % row.outputs + 1) : "the result";
  return fmt::format("{}: {} is {:#x}, not {:#x}", hexadecimal(input.subspan(item * row.inputs, row.inputs)), of, got,
                     wanted);
}

Judgement is_exact(const Row& row, View input, View output, const DeviceProfile& profile) {
  const Words wanted = row.ideal(input, static_cast<uint32_t>(profile.numbers.subgroup_size));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (output[i] != wanted[i]) return {fault_at(row, input, i, output[i], wanted[i])};
  }
  return {};
}

// ---- integers and floats --------------------------------------------------------------------------------------------

constexpr uint32_t kWords[] = {0,          1,          2,          3,          0x7f,       0x80,       0xff,
                               0x100,      0x7fff,     0x8000,     0xffff,     0x10000,    0x00ff00ff, 0x12345678,
                               0x7f80ff01, 0x80808080, 0x7f7f7f7f, 0x7fffffff, 0x80000000, 0x80000001, 0xedcba987,
                               0xff800001, 0xffff0000, 0xfffffffe, 0xffffffff};

Words pairs_of_words() {
  Words pairs;
  for (const uint32_t a : kWords) {
    for (const uint32_t b : kWords) pairs.insert(pairs.end(), {a, b});
  }
  return pairs;
}

Words ideal_integers(View input, uint32_t) {
  Words output;
  for (size_t i = 0; i < input.size(); i += 2) {
    const uint32_t a = input[i], b = input[i + 1], divisor = (b & 0xffffU) + 2;
    const uint32_t msb = a == 0 ? 0xffffffffU : static_cast<uint32_t>(std::bit_width(a) - 1);
    const auto byte = static_cast<int8_t>(a >> 8U);
    output.insert(output.end(),
                  {a * b, static_cast<uint32_t>(uint64_t{a} * b >> 32U), word_of(as_int(a) / as_int(divisor)),
                   word_of(as_int(a) >> (b & 31U)), word_of(int32_t{byte}), msb, a % divisor});
  }
  return output;
}

// Their sums and products are exact.
Words pairs_of_floats() {
  constexpr float kFloats[] = {1, -1, 0.5F, 1.5F, 2.5F, -2.5F, -0.5F, 3, 127.5F, -128.5F, 4095, -69632, 0.0078125F};
  Words pairs;
  for (const float a : kFloats) {
    for (const float b : kFloats) pairs.insert(pairs.end(), {word_of(a), word_of(b)});
  }
  return pairs;
}

Words ideal_floats(View input, uint32_t) {
  Words output;
  for (size_t i = 0; i < input.size(); i += 2) {
    const float a = as_float(input[i]), b = as_float(input[i + 1]);
    const auto whole = static_cast<int32_t>(a);
    output.insert(output.end(),
                  {word_of(a * b), word_of(a + b), word_of(std::floor(a)), word_of(std::nearbyint(a)), word_of(whole),
                   word_of(static_cast<float>(whole)), word_of(std::clamp(a, -128.0F, 127.0F))});
  }
  return output;
}

// -0 and 0 are one: Vulkan need not keep the sign.
Judgement are_floats(const Row& row, View input, View output, const DeviceProfile&) {
  const Words wanted = ideal_floats(input, 0);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const bool is_float = i % row.outputs != 4;
    const bool are_zeros = is_float && (wanted[i] << 1U) == 0 && (output[i] << 1U) == 0;
    if (output[i] != wanted[i] && !are_zeros) return {fault_at(row, input, i, output[i], wanted[i])};
  }
  return {};
}

Words rounds_of_values() {
  Words values(8 * kWorkgroup);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint32_t>(i * 2654435761U);
  return values;
}

Words ideal_shared_memory(View input, uint32_t) {
  Words output(input.size());
  for (size_t i = 0; i < input.size(); ++i) {
    output[i] = input[i / kWorkgroup * kWorkgroup + (kWorkgroup - 1 - i % kWorkgroup)];
  }
  return output;
}

Words subnormal_pairs() {
  Words pairs;
  for (const uint32_t a : {1U, 0x1234U, 0x400000U, 0x7fffffU}) {
    for (const uint32_t b : {0U, 1U, 0x3fffffU}) pairs.insert(pairs.end(), {a, b});
  }
  return pairs;
}

Words ideal_float_denormals(View input, uint32_t) {
  Words output;
  for (size_t i = 0; i < input.size(); i += 2) output.push_back(input[i] + input[i + 1]);
  return output;
}

// Both are allowed: sums that are kept, and zeros. A sum may be normal though its operands are not.
Judgement keeps_or_flushes(const Row& row, View input, View output, const DeviceProfile&) {
  const Words wanted = ideal_float_denormals(input, 0);
  bool keeps = true;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (output[i] == wanted[i]) continue;
    keeps = false;
    if (output[i] << 1U != 0) return {fault_at(row, input, i, output[i], wanted[i])};
  }
  return {"", keeps ? "kept" : "flushed to zero"};
}

// ---- halves ---------------------------------------------------------------------------------------------------------

Words all_halves() {
  Words words;
  for (uint32_t half = 0; half < 0x10000; half += 2) words.push_back(pair_of(half, half + 1));
  return words;
}

bool is_nan(uint32_t half) { return (half & 0x7fffU) > 0x7c00U; }
bool is_subnormal(uint32_t half) { return (half & 0x7c00U) == 0 && (half & 0x3ffU) != 0; }

Words ideal_halves(View input, uint32_t) {
  Words output;
  for (const uint32_t word : input) {
    output.insert(output.end(), {word_of(half_value(word & 0xffffU)), word_of(half_value(word >> 16U)), word});
  }
  return output;
}

// Of a half: whether its f32, with a zero of any sign, is right, or a zero for a subnormal one.
enum class Conversion : uint8_t { exact, flushed, wrong };
Conversion conversion_of(uint32_t half, uint32_t converted) {
  if (is_nan(half)) return std::isnan(as_float(converted)) ? Conversion::exact : Conversion::wrong;
  const bool are_zeros = (half & 0x7fffU) == 0 && converted << 1U == 0;
  if (are_zeros || converted == word_of(half_value(half))) return Conversion::exact;
  return is_subnormal(half) && converted << 1U == 0 ? Conversion::flushed : Conversion::wrong;
}
// The same of a half that went through f32 and back.
Conversion conversion_back(uint32_t half, uint32_t back) {
  if (is_nan(half)) return is_nan(back) ? Conversion::exact : Conversion::wrong;
  const bool are_zeros = (half & 0x7fffU) == 0 && (back & 0x7fffU) == 0;
  if (are_zeros || back == half) return Conversion::exact;
  return is_subnormal(half) && (back & 0x7fffU) == 0 ? Conversion::flushed : Conversion::wrong;
}

Judgement are_halves(const Row& row, View input, View output, const DeviceProfile&) {
  bool flushes = false;
  const Words wanted = ideal_halves(input, 0);
  for (size_t i = 0; i < input.size(); ++i) {
    const uint32_t low = input[i] & 0xffffU, high = input[i] >> 16U;
    const uint32_t* const results = &output[3 * i];
    const Conversion found[] = {
        conversion_of(low, results[0]), conversion_of(high, results[1]),
        std::max(conversion_back(low, results[2] & 0xffffU), conversion_back(high, results[2] >> 16U))};
    for (size_t r = 0; r < 3; ++r) {
      if (found[r] == Conversion::wrong) return {fault_at(row, input, 3 * i + r, results[r], wanted[3 * i + r])};
      flushes |= found[r] == Conversion::flushed;
    }
  }
  return {"", flushes ? "flushes subnormal halves" : "keeps subnormal halves"};
}

Words ideal_float16_denormals(View input, uint32_t) {
  Words output;
  for (const uint32_t word : input) {
    output.insert(output.end(), {word_of(half_value(word & 0xffffU)), word_of(half_value(word >> 16U))});
  }
  return output;
}

// Kernels need them exact, subnormal ones too.
Judgement are_exact_halves(const Row& row, View input, View output, const DeviceProfile&) {
  const Words wanted = ideal_float16_denormals(input, 0);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const uint32_t half = i % 2 == 0 ? input[i / 2] & 0xffffU : input[i / 2] >> 16U;
    if (conversion_of(half, output[i]) != Conversion::exact) return {fault_at(row, input, i, output[i], wanted[i])};
  }
  return {};
}

// Between neighbours of f16: ties, and values nearer to one of them.
Words pairs_to_round() {
  Words values;
  for (const uint32_t half : {0x3c00U, 0x3c01U, 0x0400U, 0x7bfeU, 0x5640U, 0x2e66U}) {
    const float low = half_value(half), high = half_value(half + 1);
    for (const float part : {0.25F, 0.5F, 0.75F}) {
      const float between = low + (high - low) * part;  // exact: f32 has 13 bits more
      values.insert(values.end(), {word_of(between), word_of(-between)});
    }
  }
  return values;
}

Words ideal_half_rounding(View input, uint32_t) {
  Words output;
  for (size_t i = 0; i < input.size(); i += 2) {
    output.push_back(pair_of(half_of(as_float(input[i])), half_of(as_float(input[i + 1]))));
  }
  return output;
}

// Vulkan allows both neighbours.
Judgement are_neighbours(const Row& row, View input, View output, const DeviceProfile&) {
  const Words wanted = ideal_half_rounding(input, 0);
  bool is_even = true, is_toward_zero = true;
  for (size_t i = 0; i < input.size(); ++i) {
    const float value = as_float(input[i]);
    const uint32_t got = i % 2 == 0 ? output[i / 2] & 0xffffU : output[i / 2] >> 16U;
    const uint32_t nearest = half_of(value);
    const float rounded = half_value(got);
    const float step = std::abs(half_value((nearest & 0x7fffU) + 1) - half_value(nearest & 0x7fffU));
    if (std::isnan(rounded) || std::abs(rounded - value) >= step) {
      return {fault_at(row, input, i / 2, output[i / 2], wanted[i / 2])};
    }
    is_even &= got == nearest;
    is_toward_zero &= std::abs(rounded) < std::abs(value);
  }
  return {"", is_even ? "to nearest, ties to even" : is_toward_zero ? "toward zero" : "in no one way"};
}

constexpr float kSmallFloats[] = {0, 1, -1, 0.5F, -2.5F, 3, 12, -7, 31, 0.25F};

// Sums, products and multiply-adds of these are exact in f16.
Words pairs_of_half_pairs() {
  Words pairs;
  for (const float a : kSmallFloats) {
    for (const float b : kSmallFloats) {
      pairs.insert(pairs.end(), {pair_of(half_of(a), half_of(b)), pair_of(half_of(b), half_of(-a))});
    }
  }
  return pairs;
}

Words ideal_float16(View input, uint32_t) {
  Words output;
  for (size_t i = 0; i < input.size(); i += 2) {
    const float ax = half_value(input[i] & 0xffffU), ay = half_value(input[i] >> 16U);
    const float bx = half_value(input[i + 1] & 0xffffU), by = half_value(input[i + 1] >> 16U);
    const auto pair = [](float x, float y) { return pair_of(half_of(x), half_of(y)); };
    output.insert(output.end(),
                  {pair(ax + bx, ay + by), pair(ax * bx, ay * by), pair(ax * bx + ax, ay * by + ay), word_of(ax + ay)});
  }
  return output;
}

// Zeros of both signs are one.
uint32_t without_negative_zeros(uint32_t pair) {
  const auto half = [](uint32_t bits) { return bits == 0x8000U ? 0U : bits; };
  return pair_of(half(pair & 0xffffU), half(pair >> 16U));
}

Judgement are_small_halves(const Row& row, View input, View output, const DeviceProfile&) {
  const Words wanted = ideal_float16(input, 0);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const bool is_float = i % row.outputs == 3;
    const bool is_right = is_float ? as_float(output[i]) == as_float(wanted[i])
                                   : without_negative_zeros(output[i]) == without_negative_zeros(wanted[i]);
    if (!is_right) return {fault_at(row, input, i, output[i], wanted[i])};
  }
  return {};
}

// ---- narrow and wide integers ---------------------------------------------------------------------------------------

int32_t byte_of(uint32_t word, size_t lane) { return static_cast<int8_t>(word >> (8 * lane)); }

Words ideal_dot_products(View input, uint32_t) {
  Words output;
  for (size_t i = 0; i < input.size(); i += 2) {
    int32_t sum = 0;
    for (size_t lane = 0; lane < 4; ++lane) sum += byte_of(input[i], lane) * byte_of(input[i + 1], lane);
    output.push_back(word_of(sum));
  }
  return output;
}

Words single_words() { return {std::begin(kWords), std::end(kWords)}; }

Words ideal_int8(View input, uint32_t) {
  Words output;
  for (const uint32_t word : input) {
    for (size_t lane = 0; lane < 4; ++lane) output.push_back(word_of(byte_of(word, lane)));
    output.push_back(word >> 24U | (word >> 8U & 0xff00U) | (word << 8U & 0xff0000U) | word << 24U);
  }
  return output;
}

Words ideal_int16(View input, uint32_t) {
  Words output;
  for (const uint32_t word : input) {
    const int32_t low = static_cast<int16_t>(word), high = static_cast<int16_t>(word >> 16U);
    output.insert(output.end(), {word_of(low), word_of(high),
                                 word_of(int32_t{static_cast<int16_t>(static_cast<uint32_t>(low * high))})});
  }
  return output;
}

Words ideal_int64(View input, uint32_t) {
  Words output;
  for (size_t i = 0; i < input.size(); i += 2) {
    const uint64_t a = uint64_t{input[i]} << 32U | input[i + 1], b = uint64_t{input[i + 1]} << 32U | input[i];
    const auto shifted = static_cast<uint64_t>(static_cast<int64_t>(a) >> 13);
    for (const uint64_t value : {a * b, a + b, shifted}) {
      output.insert(output.end(), {static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32U)});
    }
  }
  return output;
}

// A prime number of them, so that rows of bytes end inside a word.
template <uint32_t kMask>
Words narrow_elements() {
  Words elements(1021);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<uint32_t>(i * 40503U + 7) & kMask;
  return elements;
}

Words ideal_reversed(View input, uint32_t) { return {input.rbegin(), input.rend()}; }

Judgement is_reversed(const Row&, View input, View output, const DeviceProfile&) {
  for (size_t i = 0; i < input.size(); ++i) {
    const uint32_t wanted = input[input.size() - 1 - i];
    if (output[i] != wanted) return {fmt::format("element {} is {:#x}, not {:#x}", i, output[i], wanted)};
  }
  return {};
}

// ---- subgroups ------------------------------------------------------------------------------------------------------

// None is 0, which stands for an invocation that is not elected.
Words values_of_invocations() {
  Words values(kWorkgroup);
  for (uint32_t i = 0; i < kWorkgroup; ++i) values[i] = word_of(static_cast<int32_t>(i * 37 % 101) * 2 - 101);
  return values;
}

Words ideal_subgroups(View input, uint32_t size) {
  Words output;
  for (uint32_t i = 0; i < kWorkgroup; ++i) {
    output.insert(output.end(),
                  {size, (kWorkgroup + size - 1) / size, i / size, i % size, i % size == 0 ? input[i] : 0U});
  }
  return output;
}

// It may deal invocations out to subgroups as it likes.
Judgement are_subgroups(const Row&, View input, View output, const DeviceProfile& profile) {
  std::set<std::pair<uint32_t, uint32_t>> places;
  std::map<uint32_t, uint32_t> elected;
  const uint32_t least = profile.min_subgroup_size ? profile.min_subgroup_size : 1;
  const uint32_t most = profile.max_subgroup_size ? profile.max_subgroup_size : 128;
  for (uint32_t i = 0; i < kWorkgroup; ++i) {
    const View own = output.subspan(size_t{5} * i, 5);
    const uint32_t size = own[0], count = own[1], subgroup = own[2], place = own[3];
    if (size < least || size > most) {
      return {fmt::format("a subgroup has {} invocations, and the device says {} to {}", size, least, most)};
    }
    if (subgroup >= count) return {fmt::format("an invocation is in subgroup {} of {}", subgroup, count)};
    if (place >= size) return {fmt::format("an invocation has place {} in a subgroup of {}", place, size)};
    if (!places.emplace(subgroup, place).second) {
      return {fmt::format("two invocations have place {} in subgroup {}", place, subgroup)};
    }
    elected[subgroup] += own[4] == input[i];
  }
  for (uint32_t i = 0; i < kWorkgroup; ++i) {
    const uint32_t count = output[size_t{5} * i + 1];
    if (count != elected.size()) return {fmt::format("there are {} subgroups, not {}", elected.size(), count)};
  }
  for (const auto& [subgroup, count] : elected) {
    if (count != 1) return {fmt::format("{} invocations of subgroup {} are elected", count, subgroup)};
  }
  return {"", fmt::format("of {}", output[0])};
}

struct Sums {
  uint32_t sum = 0;
  int32_t greatest = INT32_MIN;
  void add(uint32_t value) {
    sum += value;
    greatest = std::max(greatest, as_int(value));
  }
  std::array<uint32_t, 3> results() const { return {sum, word_of(greatest), word_of(static_cast<float>(as_int(sum)))}; }
};

// `subgroup_of`: of each invocation.
Words subgroup_sums(View input, View subgroup_of) {
  std::map<uint32_t, Sums> all, some;
  for (uint32_t i = 0; i < kWorkgroup; ++i) {
    all[subgroup_of[i]].add(input[i]);
    if (i % 3 != 0) some[subgroup_of[i]].add(input[i]);
  }
  Words output;
  for (uint32_t i = 0; i < kWorkgroup; ++i) {
    output.push_back(subgroup_of[i]);
    const auto of_all = all[subgroup_of[i]].results();
    output.insert(output.end(), of_all.begin(), of_all.end());
    const auto of_some = i % 3 != 0 ? some[subgroup_of[i]].results() : std::array<uint32_t, 3>{};
    output.insert(output.end(), of_some.begin(), of_some.end());
  }
  return output;
}

Words in_order(uint32_t size) {
  Words subgroups;
  for (uint32_t i = 0; i < kWorkgroup; ++i) subgroups.push_back(i / size);
  return subgroups;
}
Words ideal_subgroup_sums(View input, uint32_t size) { return subgroup_sums(input, in_order(size)); }

Words told_subgroups(View output, size_t stride) {
  Words subgroups;
  for (uint32_t i = 0; i < kWorkgroup; ++i) subgroups.push_back(output[stride * i]);
  return subgroups;
}

Judgement are_subgroup_sums(const Row& row, View input, View output, const DeviceProfile&) {
  const Words wanted = subgroup_sums(input, told_subgroups(output, row.outputs));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (output[i] == wanted[i]) continue;
    constexpr std::string_view kNames[] = {"", "sum", "maximum", "f32 sum", "sum", "maximum", "f32 sum"};
    return {fmt::format("in subgroup {}{}, a {} is {:#x}, not {:#x}", output[i - i % row.outputs],
                        i % row.outputs > 3 ? ", with a third of the invocations inactive" : "",
                        kNames[i % row.outputs], output[i], wanted[i])};
  }
  return {};
}

// Some are not below 7, and all are below 10.
Words values_to_vote_on() {
  Words values(kWorkgroup);
  for (uint32_t i = 0; i < kWorkgroup; ++i) values[i] = i >= 48 ? 9 : i % 16 == 13 ? 7 : i % 7;
  return values;
}

Words subgroup_votes(View input, View subgroup_of) {
  std::map<uint32_t, std::pair<bool, bool>> votes;
  for (uint32_t i = 0; i < kWorkgroup; ++i) {
    auto& [all, any] = votes.try_emplace(subgroup_of[i], true, false).first->second;
    all &= input[i] < 7;
    any |= input[i] < 7;
  }
  Words output;
  for (uint32_t i = 0; i < kWorkgroup; ++i) {
    const auto& vote = votes[subgroup_of[i]];
    output.insert(output.end(), {subgroup_of[i], uint32_t{vote.first}, uint32_t{vote.second}, 1U, 0U});
  }
  return output;
}
Words ideal_subgroup_votes(View input, uint32_t size) { return subgroup_votes(input, in_order(size)); }

Judgement are_subgroup_votes(const Row& row, View input, View output, const DeviceProfile&) {
  const Words wanted = subgroup_votes(input, told_subgroups(output, row.outputs));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (output[i] == wanted[i]) continue;
    return {fmt::format("in subgroup {}, {} is {}, not {}", output[i - i % row.outputs],
                        i % row.outputs % 2 == 1 ? "subgroupAll" : "subgroupAny", output[i], wanted[i])};
  }
  return {};
}

// ---- the table ------------------------------------------------------------------------------------------------------

constexpr FeatureMask kSubgroups =
    bit(Feature::subgroup_basic) | bit(Feature::subgroup_arithmetic) | bit(Feature::subgroup_vote);

constexpr Row kRows[] = {
    {"integer arithmetic", "integers_u32", DType::u32, 0, 2, 7, pairs_of_words, ideal_integers, is_exact},
    {"f32 arithmetic", "floats_u32", DType::u32, 0, 2, 7, pairs_of_floats, ideal_floats, are_floats},
    {"f32 subnormals", "float_denormals_u32", DType::u32, 0, 2, 1, subnormal_pairs, ideal_float_denormals,
     keeps_or_flushes},
    {"shared memory", "shared_memory_u32", DType::u32, 0, 1, 1, rounds_of_values, ideal_shared_memory, is_exact},
    {"f16 in words", "halves_u32", DType::u32, 0, 1, 3, all_halves, ideal_halves, are_halves},
    {"rounding to f16", "half_rounding_u32", DType::u32, 0, 2, 1, pairs_to_round, ideal_half_rounding, are_neighbours},
    {"shader_int8", "int8_u32", DType::u32, bit(Feature::shader_int8), 1, 5, single_words, ideal_int8, is_exact},
    {"shader_int16", "int16_u32", DType::u32, bit(Feature::shader_int16), 1, 3, single_words, ideal_int16, is_exact},
    {"shader_int64", "int64_u32", DType::u32, bit(Feature::shader_int64), 2, 6, pairs_of_words, ideal_int64, is_exact},
    {"shader_float16", "float16_u32", DType::u32, bit(Feature::shader_float16), 2, 4, pairs_of_half_pairs,
     ideal_float16, are_small_halves},
    {"float16_denormals", "float16_denormals_u32", DType::u32, bit(Feature::float16_denormals), 1, 2, all_halves,
     ideal_float16_denormals, are_exact_halves},
    {"integer_dot_product", "dot_products_u32", DType::u32, bit(Feature::integer_dot_product), 2, 1, pairs_of_words,
     ideal_dot_products, is_exact},
    {"storage_buffer_8bit", "bytes_in_buffers_u8", DType::u8, bit(Feature::storage_buffer_8bit), 1, 1,
     narrow_elements<0xff>, ideal_reversed, is_reversed},
    {"storage_buffer_16bit", "halves_in_buffers_u16", DType::u16, bit(Feature::storage_buffer_16bit), 1, 1,
     narrow_elements<0xffff>, ideal_reversed, is_reversed},
    {"subgroup_basic", "subgroups_u32", DType::u32, kSubgroups, 1, 5, values_of_invocations, ideal_subgroups,
     are_subgroups},
    {"subgroup_arithmetic", "subgroup_sums_u32", DType::u32, bit(Feature::subgroup_arithmetic), 1, 7,
     values_of_invocations, ideal_subgroup_sums, are_subgroup_sums},
    {"subgroup_vote", "subgroup_votes_u32", DType::u32, bit(Feature::subgroup_vote), 1, 5, values_to_vote_on,
     ideal_subgroup_votes, are_subgroup_votes},
};

constexpr std::string_view kFamily = "check_feature.";

Task task_of(const Row& row) {
  Task task{.kernel = std::string(kFamily) + std::string(row.kernel), .dtype = row.dtype, .input = row.input()};
  task.items = static_cast<uint32_t>(task.input.size() / row.inputs);
  task.outputs = task.items * row.outputs;
  return task;
}

}  // namespace

Finding finding_of(std::string name, const Expected<std::vector<uint32_t>>& computed,
                   const std::function<Judgement(std::span<const uint32_t>)>& judge) {
  Finding finding{.name = std::move(name)};
  if (!computed) {
    const bool is_missing = computed.error().kind == Error::Kind::unsupported;
    finding.verdict = is_missing ? Finding::Verdict::missing : Finding::Verdict::wrong;
    finding.text = computed.error().message;
    return finding;
  }
  Judgement judgement = judge(*computed);
  finding.verdict = judgement.wrong.empty() ? Finding::Verdict::works : Finding::Verdict::wrong;
  finding.text = judgement.wrong.empty() ? std::move(judgement.remark) : std::move(judgement.wrong);
  return finding;
}

std::vector<Finding> check_all(const DeviceProfile& profile, const Compute& compute) {
  std::vector<Finding> findings;
  for (const Row& row : kRows) {
    const Task task = task_of(row);
    Finding finding = finding_of(std::string(row.name), compute(task),
                                 [&](View output) { return row.judge(row, task.input, output, profile); });
    if (finding.verdict == Finding::Verdict::wrong) finding.features = row.features;
    findings.push_back(std::move(finding));
  }
  for (Finding& finding : check_matrices(profile, compute)) findings.push_back(std::move(finding));
  return findings;
}

std::vector<uint32_t> ideal(const DeviceProfile& profile, const Task& task) {
  if (task.shape) return ideal_matrices(task);
  const std::string_view kernel = std::string_view(task.kernel).substr(kFamily.size());
  const auto* const row = std::ranges::find(kRows, kernel, &Row::kernel);
  return row->ideal(task.input, static_cast<uint32_t>(profile.numbers.subgroup_size));
}

}  // namespace qgen::self_test
