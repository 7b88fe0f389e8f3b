// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// permute, slice, expand, pad, gather and gather_elements on every kernel, bit-exact.
#include <cmath>
#include <limits>

#include "operators.h"
#include "strided_copy.h"
#include "tests/kernels/in_place.h"
#include "tests/support/expected_text.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using generated::words::PadMode;
using List = std::vector<int64_t>;
using testing::Random;

constexpr DType kDTypes[] = {DType::f32, DType::f16, DType::i8, DType::u8, DType::i32};

HostTensor numbers_of(DType dtype, const Shape& shape) {
  return is_real(dtype) ? Random(1).reals(dtype, shape, -9, 9) : Random(1).integers(dtype, shape, 0, 127);
}

using Attributes = std::map<std::string, AttributeValue, std::less<>>;
struct MoveCase {
  std::string_view op;
  Shape shape;
  Attributes attributes;
};

constexpr int64_t kFar = std::numeric_limits<int64_t>::max(), kFarBack = std::numeric_limits<int64_t>::min();

const MoveCase kMoves[] = {
    {"permute", {}, {}},
    {"permute", {5}, {}},
    {"permute", {3, 7}, {}},
    {"permute", {8, 16}, {}},
    {"permute", {2, 3, 5, 8}, {{"permutation", List{0, 2, 3, 1}}}},
    {"permute", {2, 4, 5, 8}, {{"permutation", List{0, 2, 1, 3}}}},
    {"permute", {2, 4, 5, 8}, {{"permutation", List{1, 0, 2, 3}}}},
    {"permute", {2, 3, 1, 2, 3, 1, 2, 3}, {{"permutation", List{7, 0, 6, 1, 5, 2, 4, 3}}}},
    {"permute", {2, 0, 3}, {}},
    {"permute", {257, 130}, {}},
    {"slice", {9}, {{"starts", List{2}}, {"ends", List{8}}}},
    {"slice", {9}, {{"starts", List{-1}}, {"ends", List{kFarBack}}, {"steps", List{-2}}}},
    {"slice", {9}, {{"starts", List{kFarBack}}, {"ends", List{kFar}}, {"steps", List{kFar}}}},
    {"slice", {4, 8}, {{"starts", List{1, 4}}, {"ends", List{kFar, 8}}}},
    {"slice", {4, 8}, {{"starts", List{3, 5}}, {"ends", List{3, 8}}}},
    {"slice", {3, 4, 5}, {{"starts", List{-2, 3, 0}}, {"ends", List{3, -5, 5}}, {"steps", List{1, -1, 3}}}},
    {"slice", {0, 3}, {{"starts", List{0, 0}}, {"ends", List{5, 2}}}},
    {"slice", {}, {{"starts", List{}}, {"ends", List{}}}},
    {"expand", {3, 1}, {{"sizes", List{2, 1, 4}}}},
    {"expand", {}, {{"sizes", List{2, 3}}}},
    {"expand", {1, 5, 1, 8}, {{"sizes", List{3, 5, 2, 1}}}},
    {"expand", {2, 1}, {{"sizes", List{1, 0}}}},
    {"expand", {1, 2, 1, 2, 1, 1, 1, 3}, {{"sizes", List{2, 1, 3, 1, 1, 2, 2, 1}}}},
    {"expand", {2, 3, 4}, {}},
    {"pad", {5}, {{"before", List{2}}, {"after", List{3}}, {"value", 7.0}}},
    {"pad", {4, 8}, {{"before", List{0, 0}}, {"after", List{0, 0}}}},
    {"pad", {2, 3, 4, 5}, {{"before", List{0, 0, 1, 2}}, {"after", List{0, 0, 2, 1}}, {"value", -1.5}}},
    {"pad", {2, 3, 4}, {{"before", List{-1, 1, 0}}, {"after", List{0, -2, -3}}, {"value", 300.0}}},
    {"pad", {2, 3, 4}, {{"before", List{-1, -1, -1}}, {"after", List{0, -1, -3}}}},
    {"pad", {3}, {{"before", List{5}}, {"after", List{-4}}, {"value", 3.0}}},
    {"pad", {3}, {{"before", List{-3}}, {"after", List{1}}, {"value", 3.0}}},
    {"pad", {0}, {{"before", List{1}}, {"after", List{0}}, {"value", 3.0}}},
    {"pad", {0, 2}, {{"before", List{1, 0}}, {"after", List{2, 0}}, {"value", 3.0}}},
    {"pad", {4, 3}, {{"before", List{2, 5}}, {"after", List{3, 1}}, {"mode", std::string("edge")}}},
    {"pad", {4, 3}, {{"before", List{3, 2}}, {"after", List{3, 0}}, {"mode", std::string("reflect")}}},
    {"pad", {1, 4, 1}, {{"before", List{0, -1, 0}}, {"after", List{0, 2, 0}}, {"mode", std::string("reflect")}}},
    {"pad",
     {1, 2, 1, 2, 1, 2, 1, 2},
     {{"before", List{1, 0, 1, 0, 1, 0, 1, 0}}, {"after", List{0, 1, 0, 1, 0, 1, 0, 1}}, {"value", 1.0}}},
};

class MovementTest : public testing::KernelTest {};

TEST_F(MovementTest, OfEveryDtype) {
  for (const MoveCase& c : kMoves) {
    for (const DType dtype : kDTypes) {
      SCOPED_TRACE(fmt::format("{} of {} {}", c.op, name(dtype), to_text(c.shape)));
      const Request request{.inputs = {{"input", numbers_of(dtype, c.shape)}}, .attributes = c.attributes};
      expect_reference(c.op, request, dtype == DType::i8 ? kEverythingAsAsked : kEveryVariantAsAsked);
    }
  }
}

// Bits are moved: of NaN with a payload, of subnormals, of zeros with a sign.
TEST_F(MovementTest, OfBits) {
  Context on_device = context();
  constexpr uint32_t kBits[] = {0x7fc12345, 0xff812345, 0x00000001, 0x80000001, 0x80000000, 0x7f800000};
  const HostTensor input = make_tensor<uint32_t>(DType::f32, {2, 3}, kBits);
  const auto uploaded = on_device.executor.upload(input, Storage::buffer);
  ASSERT_TRUE(uploaded);
  const auto turned = generated::operators::permute(on_device, {.input = *uploaded});
  ASSERT_TRUE(turned) << to_text(turned.error());
  const HostTensor got = *on_device.executor.download(*turned);
  const uint32_t expected[] = {kBits[0], kBits[3], kBits[1], kBits[4], kBits[2], kBits[5]};
  EXPECT_TRUE(std::ranges::equal(got.as<uint32_t>(), expected));
}

// The moved tensor is a view.
TEST_F(MovementTest, ReadsViews) {
  Context on_device = context();
  const HostTensor all = numbers_of(DType::f16, {6, 12});
  const auto uploaded = on_device.executor.upload(all, Storage::buffer);
  const View view{{4, 5}, {-12, 2}, 63};
  HostTensor seen = zeros(DType::f16, view.shape);
  for (int64_t i = 0; i < 20; ++i) set_element(seen, i, element(all, 63 - 12 * (i / 5) + 2 * (i % 5)));
  const Request request{.inputs = {{"input", seen}}};
  for (const std::string_view op : {"permute", "expand"}) {
    const Tensors expected = reference::find(op)(*complete(*find_operator(op), request));
    const ViewedDesc viewed(desc_of(*uploaded), view);
    const auto call = op == "permute" ? generated::operators::permute_call({.input = viewed})
                                      : generated::operators::expand_call({.input = viewed});
    ASSERT_TRUE(call) << to_text(call.error());
    const generated::strided_copy::Operands<Argument> arguments{.input = &*uploaded, .output = Argument()};
    expect_outputs({.call = *call, .arguments = arguments}, expected);
  }
}

TEST(MovementCalls, SayWhatTheyCannotDo) {
  using namespace generated::operators;
  const auto said = [](const Expected<Call>& call) { return call ? "accepted" : to_text(call.error()); };
  const TensorDesc x{DType::f32, {2, 3, 4}};
  EXPECT_TEXT(said(permute_call({.input = x}, {.permutation = List{0, 1}})),
              "permutation has 2 numbers, and the input of shape [2, 3, 4] has 3 dimensions");
  EXPECT_TEXT(said(permute_call({.input = x}, {.permutation = List{0, 1, 1}})),
              "permutation is [0, 1, 1], and must have each dimension once");
  EXPECT_TEXT(said(slice_call({.input = x}, {.starts = List{0, 0, 0}, .ends = List{1, 1, 1}, .steps = List{1, 0, 1}})),
              "steps is [1, 0, 1], and no step can be 0");
  EXPECT_TEXT(said(expand_call({.input = x}, {.sizes = List{2, 5, 4}})),
              "shapes [2, 3, 4] and [2, 5, 4] cannot be broadcast: a dimension is 3 in one and 5 in the other\n"
              "  hint: the dimensions must be equal, or one of them 1");
  EXPECT_TEXT(said(pad_call({.input = x}, {.before = List{0, 0, -3}, .after = List{0, 0, -2}})),
              "dimension 2 has 4 elements, and padding of -3 and -2 removes more");
  EXPECT_TEXT(said(pad_call({.input = x}, {.before = List{0, 3, 0}, .after = List{0, 0, 0}, .mode = PadMode::reflect})),
              "dimension 1 has 3 elements, too few for padding of 3 and 0 in mode reflect");
}

HostTensor indices_of(const Shape& shape, int64_t side) {
  return Random(5).integers(DType::i32, shape, static_cast<int>(-side), static_cast<int>(side) - 1);
}

TEST_F(MovementTest, Gather) {
  for (const DType dtype : kDTypes) {
    for (int64_t axis = -3; axis < 3; ++axis) {
      const int64_t side = Shape{3, 5, 7}[static_cast<size_t>(axis < 0 ? axis + 3 : axis)];
      for (const Shape& shape : {Shape{}, {1}, {4}, {2, 3}, {0}}) {
        expect_reference("gather",
                         {.inputs = {{"input", numbers_of(dtype, {3, 5, 7})}, {"indices", indices_of(shape, side)}},
                          .attributes = {{"axis", axis}}});
      }
      Shape shape{2, 4, 6};
      shape[static_cast<size_t>(axis < 0 ? axis + 3 : axis)] = 9;
      expect_reference("gather_elements",
                       {.inputs = {{"input", numbers_of(dtype, {3, 5, 7})}, {"indices", indices_of(shape, side)}},
                        .attributes = {{"axis", axis}}});
    }
  }
}

TEST_F(MovementTest, GatherOutsideOfTheInput) {
  for (const char* op : {"gather", "gather_elements"})
    expect_reference(op, {.inputs = {{"input", numbers_of(DType::f32, {5})},
                                     {"indices", testing::tensor_of(DType::i32, {6}, {0, 4, 5, -5, -6, 2147483647})}}});
}

TEST(GatherCalls, SayWhatTheyCannotDo) {
  using namespace generated::operators;
  const auto said = [](const Expected<Call>& call) { return call ? "accepted" : to_text(call.error()); };
  const TensorDesc x{DType::f32, {2, 3}}, indices{DType::i32, {3, 3}};
  EXPECT_TEXT(said(gather_call({.input = x, .indices = indices}, {.axis = 2})),
              "axis is 2, and input of shape [2, 3] has 2 dimensions");
  EXPECT_TEXT(said(gather_elements_call({.input = x, .indices = indices}, {.axis = 1})),
              "indices has shape [3, 3], and input [2, 3]: they must have as many dimensions, and indices no larger "
              "ones, except along axis 1");
}

// ---- cache_write ----------------------------------------------------------------------------------------------------

struct CacheCase {
  int64_t batches, heads, capacity, rows, width, value_width;
  std::vector<int32_t> last;
};

const CacheCase kCaches[] = {
    {1, 1, 1, 1, 1, 1, {0}},
    {1, 2, 5, 1, 8, 8, {3}},
    {2, 3, 7, 1, 5, 3, {0, 6}},                        // odd sides: neighbours share a word
    {3, 2, 9, 4, 16, 16, {3, 8, 1}},                   // from 0, up to the end, and a padded prompt
    {2, 2, 6, 6, 4, 8, {5, 2}},                        // the whole cache
    {3, 1, 4, 2, 4, 4, {4, 2147483647, -2147483648}},  // half outside, outside, and from 0
    {2, 2, 4, 0, 4, 4, {2, 3}},                        // no rows
    {0, 2, 4, 1, 4, 4, {}},
    {2, 0, 4, 1, 4, 4, {1, 2}},
    {2, 2, 4, 1, 0, 4, {1, 2}},
    {1, 2, 130, 67, 64, 32, {120}},
};

Request cache_request(const CacheCase& it, DType dtype) {
  return {
      .inputs = {{"key_cache", Random(1).reals(dtype, {it.batches, it.heads, it.capacity, it.width}, -9, 9)},
                 {"value_cache", Random(2).reals(dtype, {it.batches, it.heads, it.capacity, it.value_width}, -9, 9)},
                 {"key", Random(3).reals(dtype, {it.batches, it.rows, it.heads, it.width}, -9, 9)},
                 {"value", Random(4).reals(dtype, {it.batches, it.rows, it.heads, it.value_width}, -9, 9)},
                 {"last", make_tensor<int32_t>(DType::i32, {it.batches}, it.last)}}};
}

TEST_F(MovementTest, CacheWrite) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const CacheCase& it : kCaches) {
      SCOPED_TRACE(
          fmt::format("{} {} of {} rows, {} and {} wide", name(dtype), it.rows, it.capacity, it.width, it.value_width));
      expect_reference("cache_write", cache_request(it, dtype), kEverythingAsAsked);
    }
  }
}

// The int8 caches of a request, with scales.
Request quantized_caches(Request request) {
  for (const char* cache : {"key_cache", "value_cache"}) {
    HostTensor& tensor = request.inputs.at(cache);
    tensor = Random(5).integers(DType::i8, tensor.shape, -127, 127);
  }
  Shape scales = request.inputs.at("key_cache").shape;
  scales.back() = 2;
  request.inputs["scale_cache"] = Random(6).reals(DType::f32, scales, 0, 2);
  return request;
}

// With caches in blocks of `size`. Without `table` no batches share a block.
Request paged_request(const CacheCase& it, DType dtype, int64_t size, const std::vector<double>& table = {}) {
  Request request = cache_request(it, dtype);
  const int64_t per_row = (it.capacity + size - 1) / size, count = it.batches * per_row + 1;
  request.inputs["key_cache"] = Random(1).reals(dtype, {count, it.heads, size, it.width}, -9, 9);
  request.inputs["value_cache"] = Random(2).reals(dtype, {count, it.heads, size, it.value_width}, -9, 9);
  HostTensor& blocks = request.inputs["blocks"] = zeros(DType::i32, {it.batches, per_row});
  for (int64_t i = 0; i + 1 < count; ++i)
    set_element(blocks, i, table.empty() ? static_cast<double>(count - 1 - i) : table[static_cast<size_t>(i)]);
  return request;
}

TEST_F(MovementTest, PagedCacheWrite) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const CacheCase& it : kCaches) {
      for (const int64_t size : {1, 2, 16, 256}) {
        SCOPED_TRACE(fmt::format("{} {} of {} rows, {} and {} wide, blocks of {}", name(dtype), it.rows, it.capacity,
                                 it.width, it.value_width, size));
        const Request request = paged_request(it, dtype, size);
        expect_reference("cache_write_paged", request, kEverythingAsAsked);
        expect_reference("cache_write_paged_q8rs", quantized_caches(request), kEverythingAsAsked);
      }
    }
  }
}

// Blocks that several rows share, of which the last new row stays; and entries that are no blocks, whose rows are not
// stored.
TEST_F(MovementTest, PagedCacheWriteOfAnyTable) {
  const CacheCase it{2, 2, 16, 16, 3, 5, {15, 15}};
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const std::vector<double>& table : {std::vector<double>{1, 2, 3, 0, 3, 3, 1, 8},
                                             {0, 0, 0, 0, 0, 0, 0, 0},
                                             {-1, 9, 2147483647, -2147483648.0, 1, -2, 10, 3},
                                             {9, 9, 9, 9, 9, 9, 9, 9}}) {
      const Request request = paged_request(it, dtype, 4, table);
      expect_reference("cache_write_paged", request, kEverythingAsAsked);
      expect_reference("cache_write_paged_q8rs", quantized_caches(request), kEverythingAsAsked);
    }
  }
}

// With only_new, in the memory of the caches: the same, and other rows are not touched.
TEST_F(MovementTest, CacheWriteInPlace) {
  const testing::OperandPairs pairs{{"keys", "key_cache"}, {"values", "value_cache"}};
  testing::OperandPairs with_scales = pairs;
  with_scales["scales"] = "scale_cache";
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const CacheCase& it : kCaches) {
      SCOPED_TRACE(
          fmt::format("{} {} of {} rows, {} and {} wide", name(dtype), it.rows, it.capacity, it.width, it.value_width));
      const Request whole = cache_request(it, dtype), paged = paged_request(it, dtype, 4);
      testing::expect_in_place(context(), "cache_write", whole, pairs);
      testing::expect_in_place(context(), "cache_write_q8rs", quantized_caches(whole), with_scales);
      testing::expect_in_place(context(), "cache_write_paged", paged, pairs);
      testing::expect_in_place(context(), "cache_write_paged_q8rs", quantized_caches(paged), with_scales);
    }
    // Entries that are no blocks.
    const CacheCase far{2, 2, 16, 16, 3, 5, {15, 15}};
    const Request request = paged_request(far, dtype, 4, {-1, 9, 2147483647, -2147483648.0, 1, -2, 10, 3});
    testing::expect_in_place(context(), "cache_write_paged", request, pairs);
    testing::expect_in_place(context(), "cache_write_paged_q8rs", quantized_caches(request), with_scales);
  }
}

// ---- cache_write_q8rs -----------------------------------------------------------------------------------------------

TEST_F(MovementTest, Int8CacheWrite) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const CacheCase& it : kCaches) {
      SCOPED_TRACE(
          fmt::format("{} {} of {} rows, {} and {} wide", name(dtype), it.rows, it.capacity, it.width, it.value_width));
      expect_reference("cache_write_q8rs", quantized_caches(cache_request(it, dtype)), kEverythingAsAsked);
    }
  }
}

// Rows of zeros, of numbers next to the least normal one, with NaN and infinities, and of the largest numbers; ties.
TEST_F(MovementTest, Int8CacheWriteOfSpecialRows) {
  const std::vector<double> rows = {
      0,   -0.0, 0,   0,         1e-45, -1e-40, 1e-39,      0,        1.5e-36, -1.4e-36, 1e-38,  1.2e-38, kNan,   1,
      -2,  3,    1,   kInfinity, -2,    3,      -kInfinity, 0,        0,       0,        3.4e38, -3.4e38, 1.7e38, 1e30,
      127, 0.5,  1.5, -2.5,      254,   -1,     253.0001,   -252.999, 1e-320,  0x1p-24,  -1,     1};
  for (const DType dtype : {DType::f32, DType::f16}) {
    const CacheCase it{1, 1, 10, 10, 4, 4, {9}};
    for (const bool is_paged : {false, true}) {
      Request request = quantized_caches(is_paged ? paged_request(it, dtype, 4) : cache_request(it, dtype));
      request.inputs["key"] = testing::tensor_of(dtype, {1, 10, 1, 4}, rows);
      request.inputs["value"] =
          testing::tensor_of(dtype, {1, 10, 1, 4}, std::vector<double>(rows.rbegin(), rows.rend()));
      expect_reference(is_paged ? "cache_write_paged_q8rs" : "cache_write_q8rs", request, kEverythingAsAsked);
    }
  }
}

// What docs/movement.md says of the distance from a quantized element.
TEST(Int8CacheReference, IsWithinHalfAScale) {
  for (const double size : {1e-37, 1e-30, 1.0, 3e4, 3e38}) {
    Request request = quantized_caches(cache_request({1, 2, 64, 64, 33, 33, {63}}, DType::f32));
    request.inputs["key"] = Random(7).reals(DType::f32, {1, 64, 2, 33}, -size, size);
    const Tensors written = reference::find("cache_write_q8rs")(request);
    for (int64_t row = 0; row < 128; ++row) {
      const int64_t place = row % 2 * 64 + row / 2;
      const double scale = element(written.at("scales"), 2 * place);
      for (int64_t d = 0; d < 33; ++d) {
        const double x = element(request.inputs.at("key"), row * 33 + d);
        const double back = scale * element(written.at("keys"), place * 33 + d);
        const double bound = scale == 0 ? 127 * 0x1p-126 : scale * (0.5 + 0x1p-15) + 0x1p-126;
        EXPECT_LE(std::abs(x - back), bound) << size << " " << row << " " << d;
      }
    }
  }
}

TEST(CacheCalls, SayWhatTheyCannotWrite) {
  using namespace generated::operators;
  const auto said = [](const Expected<Call>& call) { return call ? "a call" : to_text(call.error()); };
  const TensorDesc cache{DType::f32, {2, 3, 4, 8}}, rows{DType::f32, {2, 1, 3, 8}}, last{DType::i32, {2}};
  const auto with = [&](const TensorDesc& value_cache, const TensorDesc& key) {
    return said(
        cache_write_call({.key_cache = cache, .value_cache = value_cache, .key = key, .value = rows, .last = last}));
  };
  EXPECT_TEXT(with({DType::f16, {2, 3, 4, 8}}, rows),
              "value_cache is f16, and key_cache is f32\n"
              "  hint: both must have the same dtype");
  EXPECT_TEXT(said(cache_write_call({.key_cache = cache,
                                     .value_cache = cache,
                                     .key = TensorDesc{DType::f32, {2, 5, 3, 8}},
                                     .value = TensorDesc{DType::f32, {2, 5, 3, 8}},
                                     .last = last})),
              "there are 5 new rows, and the cache has room for 4");
}

}  // namespace
}  // namespace qgen
