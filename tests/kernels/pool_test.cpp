// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Pools on every kernel, against docs/pool.md's reference.
#include <gmock/gmock.h>

#include "operators.h"
#include "q8ta_pool2d.h"
#include "tests/kernels/kernel_test.h"
#include "tests/kernels/packed_bytes.h"
#include "tests/runtime/engine/operators/h200.h"
#include "tests/support/expected_text.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using namespace generated::operators;
using List = std::vector<int64_t>;
using testing::packed_layouts_of;
using testing::packed_with;
using testing::Random;

constexpr Layout kLayouts[] = {Layout::strided,     Layout::packed_4w,   Layout::packed_4c,
                               Layout::packed_4w4c, Layout::packed_4h4w, Layout::packed_4c1w};

HostTensor bytes_of(const Shape& shape) { return Random(1).integers(DType::i8, shape, -128, 127); }

// Omitted parts have their defaults.
struct Lists {
  List kernel_size, stride, padding, dilation;
  bool ceil_mode = false;
};

Request request_of(const HostTensor& input, const Lists& lists) {
  Request request{.inputs = {{"input", input}}, .attributes = {{"ceil_mode", lists.ceil_mode}}};
  const auto say = [&](const char* name, const List& list) {
    if (!list.empty()) request.attributes[name] = list;
  };
  say("kernel_size", lists.kernel_size);
  say("stride", lists.stride);
  say("padding", lists.padding);
  say("dilation", lists.dilation);
  return request;
}

struct Params {
  double input_scale = 0.04;
  int64_t input_zero_point = -3;
  double output_scale = 0.03;
  int64_t output_zero_point = 5;
};

Request mean_of(Request request, const Params& params = {}) {
  request.attributes.erase("dilation");
  request.attributes["input_scale"] = params.input_scale;
  request.attributes["input_zero_point"] = params.input_zero_point;
  request.attributes["output_scale"] = params.output_scale;
  request.attributes["output_zero_point"] = params.output_zero_point;
  return request;
}

Representation in(Layout layout) { return {Storage::buffer, layout}; }

class PoolTest : public testing::KernelTest {
 protected:
  // The greatest; without dilation the mean too, of the padding and without it.
  void expect_pools(const Request& request, const measure::VerifyOptions& options) {
    expect_reference("q8ta_max_pool2d", request, options);
    if (request.attributes.contains("dilation")) return;
    Request mean = mean_of(request);
    for (const bool counts_padding : {true, false}) {
      mean.attributes["count_include_pad"] = counts_padding;
      expect_reference("q8ta_avg_pool2d", mean, options);
    }
  }
};

// ---- every small window ---------------------------------------------------------------------------------------------

// A side of the image, and the window along it.
struct Side {
  int64_t side, taps, stride, before, after, dilation;
};

bool is_accepted(const Side& side, bool ceil_mode) {
  return static_cast<bool>(q8ta_max_pool2d_call({.input = TensorDesc{DType::i8, {1, 1, side.side}}},
                                                {.kernel_size = List{side.taps},
                                                 .stride = List{side.stride},
                                                 .padding = List{side.before, side.after},
                                                 .dilation = List{side.dilation},
                                                 .ceil_mode = ceil_mode}));
}

// Whether every output position has an element: such windows are accepted.
bool has_elements(const Side& side, bool ceil_mode) {
  const int64_t reach = side.dilation * (side.taps - 1) + 1, padded = side.side + side.before + side.after;
  if (reach > padded) return false;
  for (int64_t begin = 0, end = reach;; begin += side.stride, end += side.stride) {
    const bool is_last = end >= padded;
    const bool begins_behind = begin >= side.side + side.before;
    if (begin > 0 && (ceil_mode ? is_last && begins_behind : end > padded)) return true;
    bool has_element = false;
    for (int64_t tap = begin; tap < end; tap += side.dilation)
      has_element |= tap >= side.before && tap < side.side + side.before;
    if (!has_element) return false;
    if (ceil_mode && is_last) return true;
  }
}

std::vector<Side> small_sides(int64_t dilation, bool ceil_mode) {
  std::vector<Side> all;
  for (int64_t n = 0; n < 5 * 3 * 3 * 3 * 3; ++n) {
    int64_t rest = n;
    const auto next = [&](int64_t choices) { return std::exchange(rest, rest / choices) % choices; };
    const Side side{next(5) + 1, next(3) + 1, next(3) + 1, next(3), next(3), dilation};
    EXPECT_EQ(is_accepted(side, ceil_mode), has_elements(side, ceil_mode))
        << fmt::format("{} of {}, stride {}, padding {} and {}, dilation {}", side.taps, side.side, side.stride,
                       side.before, side.after, dilation);
    if (has_elements(side, ceil_mode)) all.push_back(side);
  }
  return all;
}

// Width and height each have every length up to 5 with every window up to 3, combined with three of the other's, and
// the layouts take turns.
TEST_F(PoolTest, EverySmallWindow) {
  size_t turn = 0;
  for (const auto& [dilation, ceil_mode] : {std::pair{1, false}, {1, true}, {2, false}, {3, true}}) {
    const std::vector<Side> sides = small_sides(dilation, ceil_mode);
    EXPECT_GT(sides.size(), 90u);
    for (size_t i = 0; i < 3 * sides.size(); ++i, ++turn) {
      const Side &width = sides[i / 3], &height = sides[(i * 7 + 3) % sides.size()];
      Lists lists{.kernel_size = {height.taps, width.taps},
                  .stride = {height.stride, width.stride},
                  .padding = {height.before, width.before, height.after, width.after},
                  .ceil_mode = ceil_mode};
      if (dilation > 1) lists.dilation = {dilation};
      Request request = request_of(bytes_of({1, 5, height.side, width.side}), lists);
      request.representations = {{"input", in(kLayouts[turn % 6])}, {"output", in(kLayouts[turn / 6 % 6])}};
      expect_pools(request, kEveryVariantAsAsked);
    }
  }
}

// The same windows in floating point, in plain layouts; some values are special ones.
TEST_F(PoolTest, OfReals) {
  for (const auto& [dilation, ceil_mode] : {std::pair{1, false}, {1, true}, {2, false}, {3, true}}) {
    const std::vector<Side> sides = small_sides(dilation, ceil_mode);
    for (size_t i = 0; i < sides.size(); ++i) {
      const Side &width = sides[i], &height = sides[(i * 7 + 3) % sides.size()];
      Lists lists{.kernel_size = {height.taps, width.taps},
                  .stride = {height.stride, width.stride},
                  .padding = {height.before, width.before, height.after, width.after},
                  .ceil_mode = ceil_mode};
      if (dilation > 1) lists.dilation = {dilation};
      const DType dtype = i % 2 == 0 ? DType::f32 : DType::f16;
      HostTensor input = Random(7).reals(dtype, {1, 3, height.side, width.side}, -9, 9);
      if (i % 5 == 0) {
        int64_t next = 0;
        for (const double special : {kNan, kInfinity, -kInfinity, 1e-40, -0.0, 3e38, 3e38})
          set_element(input, next++ * 3 % element_count(input.shape), special);
      }
      Request request = request_of(input, lists);
      expect_reference("max_pool2d", request, kEverythingAsAsked);
      if (dilation > 1) continue;
      for (const bool counts_padding : {true, false}) {
        request.attributes["count_include_pad"] = counts_padding;
        Request mean = request;
        expect_reference("avg_pool2d", mean, kEverythingAsAsked);
        mean.attributes["divisor_override"] = int64_t{5};
        expect_reference("avg_pool2d", mean, kEverythingAsAsked);
      }
      request.attributes.erase("count_include_pad");
    }
  }
  for (const Shape& shape : {Shape{2, 70, 5}, {1, 5, 56, 57}, {0, 4, 3, 3}}) {
    const Request request = request_of(Random(8).reals(DType::f32, shape, -9, 9), {});
    expect_reference("max_pool2d", request, kEverythingAsAsked);
    expect_reference("avg_pool2d", request, kEverythingAsAsked);
  }
}

// ---- layouts and specializations ------------------------------------------------------------------------------------

struct PoolCase {
  Shape shape;
  Lists lists;
};

// clang-format off
const PoolCase kCases[] = {
    {{2, 6, 9, 7}, {.kernel_size = {3}, .stride = {2}, .padding = {1}}},
    {{1, 5, 7, 13}, {.kernel_size = {3}, .stride = {1}, .padding = {1}}},
    {{1, 9, 6, 11}, {.kernel_size = {2}, .ceil_mode = true}},
    {{2, 4, 8, 8}, {.kernel_size = {5, 3}, .stride = {3, 1}, .padding = {2, 0, 1, 1}}},
    {{3, 13, 7, 7}, {}},
    {{1, 3, 10, 10}, {.kernel_size = {3, 2}, .stride = {1, 2}, .padding = {4, 2}, .dilation = {4, 3}}},
    {{1, 1, 1, 1}, {.padding = {0}}},
};
// clang-format on

TEST_F(PoolTest, BetweenAllLayouts) {
  for (const PoolCase& c : kCases) {
    SCOPED_TRACE(to_text(c.shape));
    expect_pools(request_of(bytes_of(c.shape), c.lists), kEveryVariant);
  }
}

TEST_F(PoolTest, OnEverySpecialization) {
  for (const PoolCase& c : kCases) {
    for (const Layout layout : kLayouts) {
      SCOPED_TRACE(fmt::format("{} in {}", to_text(c.shape), name(layout)));
      Request request = request_of(bytes_of(c.shape), c.lists);
      request.representations = {{"input", in(layout)}, {"output", in(layout)}};
      expect_pools(request, kEverythingAsAsked);
    }
  }
}

TEST_F(PoolTest, OfRows) {
  expect_pools(request_of(bytes_of({2, 3, 17}), {.kernel_size = {3}, .padding = {1, 0}, .ceil_mode = true}),
               kEveryVariantAsAsked);
  expect_pools(request_of(bytes_of({1, 2, 9}), {.kernel_size = {3}, .stride = {1}, .dilation = {4}}),
               kEveryVariantAsAsked);
  expect_pools(request_of(bytes_of({2, 70, 5}), {}), kEverythingAsAsked);
}

TEST_F(PoolTest, OfNoImages) {
  for (const Shape& shape : {Shape{0, 4, 3, 3}, {2, 0, 3, 3}, {0, 3, 5}}) {
    expect_pools(request_of(zeros(DType::i8, shape), {.kernel_size = {2}}), kEveryVariantAsAsked);
  }
}

// More taps than a loop of llvmpipe takes, and sums past 2^24.
TEST_F(PoolTest, OfAWholeLargeImage) {
  HostTensor input = zeros(DType::i8, {1, 2, 300, 301});
  std::ranges::fill(input.data, std::byte{0x7e});
  input.data[5] = std::byte{0x7f};
  for (const Layout layout : {Layout::strided, Layout::packed_4w4c}) {
    Request request = request_of(input, {});
    request.representations = {{"input", in(layout)}, {"output", in(layout)}};
    expect_reference("q8ta_max_pool2d", request, kEverythingAsAsked);
    request.representations["output"] = in(Layout::strided);
    expect_reference("q8ta_avg_pool2d", mean_of(request, {0.5, -128, 0.5, -128}), kEverythingAsAsked);
  }
}

// Nearly the most taps possible, each of which adds 255.
TEST_F(PoolTest, OfTheLargestWindow) {
  HostTensor input = zeros(DType::i8, {1, 1, 1200, 6990});
  std::ranges::fill(input.data, std::byte{0x7f});
  expect_reference("q8ta_avg_pool2d", mean_of(request_of(input, {}), {0.5, -128, 0.5, -128}), kEveryVariantAsAsked);
}

// llvmpipe ends loops, so that a kernel with longer ones says that it is not for it.
TEST_F(PoolTest, OfLongLoopsSideBySide) {
  HostTensor input = zeros(DType::i8, {1, 1, 1000, 4000});
  std::ranges::fill(input.data, std::byte{0x7f});
  const Request request = request_of(input, {.kernel_size = {1000, 3997}, .stride = {1}});
  expect_reference("q8ta_avg_pool2d", mean_of(request, {0.5, -128, 0.5, -128}), kEverythingAsAsked);
}

// ---- means ----------------------------------------------------------------------------------------------------------

TEST_F(PoolTest, MeansWithScalesAtTheirEnds) {
  const Request request = request_of(bytes_of({1, 4, 9, 9}), {.kernel_size = {3}, .stride = {1}, .padding = {1}});
  constexpr double kScales[] = {0x1p-125, 1.0 / 3, 0x1p119};
  for (const double from : kScales) {
    for (const double to : kScales) {
      for (const int64_t zero_point : {-128, 0, 127}) {
        expect_reference("q8ta_avg_pool2d", mean_of(request, {from, zero_point, to, -zero_point / 2}),
                         kEveryVariantAsAsked);
      }
    }
  }
}

TEST_F(PoolTest, MeansByADivisorOfTheCallers) {
  for (const int64_t divisor : {1, 3, 100, 1 << 23}) {
    Request request = mean_of(request_of(bytes_of({1, 4, 5, 6}), {.kernel_size = {2, 3}, .padding = {1}}));
    request.attributes["divisor_override"] = divisor;
    expect_reference("q8ta_avg_pool2d", request, kEveryVariantAsAsked);
  }
}

// A row of 1 to 5 under a window of 3 with padding: by hand, as PyTorch counts.
TEST_F(PoolTest, CountWhatPyTorchCounts) {
  Context on_device = context();
  const auto input =
      on_device.executor.upload(testing::tensor_of(DType::i8, {1, 1, 5}, {12, 24, 36, 48, 60}), Storage::buffer);
  const auto bytes = [&](const Expected<DeviceTensor>& made) {
    EXPECT_TRUE(made) << to_text(made.error());
    const HostTensor host = *on_device.executor.download(*made);
    const auto span = host.as<int8_t>();
    return std::vector<int>(span.begin(), span.end());
  };
  const auto mean = [&](bool ceil_mode, bool counts_padding, std::optional<int64_t> divisor = {}) {
    return bytes(q8ta_avg_pool2d(on_device, {.input = *input},
                                 {.kernel_size = List{3},
                                  .stride = List{3},
                                  .padding = List{1},
                                  .ceil_mode = ceil_mode,
                                  .count_include_pad = counts_padding,
                                  .divisor_override = divisor,
                                  .input_scale = 1,
                                  .output_scale = 1}));
  };
  using Bytes = std::vector<int>;
  EXPECT_EQ(mean(false, true), (Bytes{12, 48}));   // 0 + 12 + 24, 36 + 48 + 60
  EXPECT_EQ(mean(false, false), (Bytes{18, 48}));  // the first of two
  EXPECT_EQ(mean(false, true, 2), (Bytes{18, 72}));
  const auto next =
      on_device.executor.upload(testing::tensor_of(DType::i8, {1, 1, 6}, {12, 24, 36, 48, 60, 72}), Storage::buffer);
  const auto last = [&](bool counts_padding) {
    return bytes(q8ta_avg_pool2d(on_device, {.input = *next},
                                 {.kernel_size = List{3},
                                  .padding = List{1},
                                  .ceil_mode = true,
                                  .count_include_pad = counts_padding,
                                  .input_scale = 1,
                                  .output_scale = 1}));
  };
  EXPECT_EQ(last(true), (Bytes{12, 48, 36}));  // the last window has 72 and one element of padding; the rest is cut
  EXPECT_EQ(last(false), (Bytes{18, 48, 72}));
  EXPECT_EQ(bytes(q8ta_max_pool2d(on_device, {.input = *next}, {.kernel_size = List{3}, .padding = List{1}})),
            (Bytes{24, 60}));
}

// A22 of the register of the system that qgen replaces: how a half was rounded was left to the device.
TEST_F(PoolTest, A22_MeansThatAreTiesGoToEven) {
  const HostTensor input = testing::tensor_of(DType::i8, {1, 4, 1, 8}, {0, 1, 1, 2, 2, 3, -1, 0});
  const Request request = mean_of(request_of(input, {.kernel_size = {1, 2}}),
                                  {.input_scale = 1, .input_zero_point = 0, .output_scale = 1, .output_zero_point = 0});
  EXPECT_EQ(reference::find("q8ta_avg_pool2d")(*complete(*find_operator("q8ta_avg_pool2d"), request)).at("output").data,
            testing::tensor_of(DType::i8, {1, 4, 1, 4}, {0, 2, 2, 0}).data);
  expect_reference("q8ta_avg_pool2d", request, kEveryVariant);
}

// ---- padding --------------------------------------------------------------------------------------------------------

// The input's padding may be anything and reaches no element; the output's is defined.
TEST_F(PoolTest, WritesEveryByteOfItsLayout) {
  Context on_device = context();
  const HostTensor host = bytes_of({2, 6, 5, 7});
  const Request request = request_of(host, {.kernel_size = {2}, .stride = {1}});
  const auto expect_bytes = [&](std::string_view op, const Request& asked, const Expected<DeviceTensor>& made,
                                const LayoutInfo& layout, std::byte padding) {
    ASSERT_TRUE(made) << to_text(made.error());
    const HostTensor expected = reference::find(op)(*complete(*find_operator(op), asked))["output"];
    EXPECT_EQ(*on_device.executor.download_stored(*made), packed_with(expected, layout.dims, padding))
        << op << " in " << layout.name;
  };
  for (const LayoutInfo& layout : packed_layouts_of(generated::q8ta_pool2d::op, 1)) {
    auto input = on_device.executor.allocate(DType::i8, host.shape, Storage::buffer, layout.layout);
    ASSERT_TRUE(input && on_device.executor.write_stored(*input, packed_with(host, layout.dims, std::byte{0x7f})));
    expect_bytes("q8ta_max_pool2d", request,
                 q8ta_max_pool2d(on_device, {.input = *input}, {.kernel_size = List{2}, .stride = List{1}},
                                 {.output = in(layout.layout)}),
                 layout, std::byte{0});
    expect_bytes("q8ta_avg_pool2d", mean_of(request),
                 q8ta_avg_pool2d(on_device, {.input = *input},
                                 {.kernel_size = List{2},
                                  .stride = List{1},
                                  .input_scale = 0.04,
                                  .input_zero_point = -3,
                                  .output_scale = 0.03,
                                  .output_zero_point = 5},
                                 {.output = in(layout.layout)}),
                 layout, std::byte{5});
  }
}

// ---- choices --------------------------------------------------------------------------------------------------------

// Untuned, on a large GPU: many members for a whole image, one for a window, and none alone where windows overlap.
TEST(PoolChoices, OfALargeGpu) {
  const auto library = KernelLibrary::open(generated::library());
  const DeviceProfile device = testing::h200();
  const auto chosen = [&](const Shape& shape, const Q8taMaxPool2dAttributes& attributes, Layout layout) {
    const auto call = q8ta_max_pool2d_call({.input = TensorDesc{DType::i8, shape, Storage::buffer, layout}}, attributes,
                                           {.output = in(layout)});
    return std::string(select(call->problem, device, *library).ranked.front().id);
  };
  using ::testing::HasSubstr;
  const Shape image = {1, 64, 112, 112};
  const Q8taMaxPool2dAttributes overlapping{.kernel_size = List{3}, .stride = List{1}, .padding = List{1}};
  EXPECT_THAT(chosen({1, 2048, 7, 7}, {}, Layout::packed_4c), HasSubstr("/team16."));
  EXPECT_THAT(chosen({1, 2048, 7, 7}, {}, Layout::strided), HasSubstr("/team16."));
  EXPECT_THAT(chosen({1, 64, 256, 256}, {}, Layout::packed_4w4c), HasSubstr("/team256."));
  EXPECT_THAT(chosen(image, {.kernel_size = List{2}}, Layout::packed_4c), HasSubstr(".plain.packed_4c.packed_4c/"));
  EXPECT_THAT(chosen(image, {.kernel_size = List{2}}, Layout::packed_4c), HasSubstr("/team1."));
  EXPECT_THAT(chosen(image, overlapping, Layout::packed_4w4c), HasSubstr(".sliding."));
  EXPECT_THAT(chosen(image, overlapping, Layout::strided), HasSubstr(".sliding."));
}

// ---- refusals -------------------------------------------------------------------------------------------------------

TEST(PoolCalls, SayWhatTheyCannotDo) {
  const auto refusal = [](const Expected<Call>& call) { return call ? "accepted" : to_text(call.error()); };
  const auto greatest = [&](const Shape& shape, const Q8taMaxPool2dAttributes& attributes,
                            Layout layout = Layout::strided) {
    return refusal(q8ta_max_pool2d_call({.input = TensorDesc{DType::i8, shape, Storage::buffer, layout}}, attributes));
  };
  const Shape image = {1, 2, 4, 5};
  EXPECT_TEXT(greatest({4, 5}, {}), "input has shape [4, 5]\n  hint: it is [N, C, H, W] or [N, C, W]");
  EXPECT_TEXT(greatest(image, {.kernel_size = List{1, 2, 3}}),
              "kernel_size has 3 numbers, and an image has one or [height, width]");
  EXPECT_TEXT(greatest(image, {.kernel_size = List{5}}),
              "a window that extends over 5 elements does not fit into the input's height of 4, padded to 4\n"
              "  hint: pad the input, or use a smaller window");
  EXPECT_TEXT(
      greatest(image, {.kernel_size = List{2}, .padding = List{2}}),
      "an output position has no tap in the input's width of 5, padded by 2 and 2: the window has 2 taps, 1 apart, "
      "and the stride is 2\n"
      "  hint: pad less");
  EXPECT_TEXT(
      greatest(image, {.kernel_size = List{2}, .padding = List{0, 0, 0, 4}}),
      "an output position has no tap in the input's width of 5, padded by 0 and 4: the window has 2 taps, 1 apart, "
      "and the stride is 2\n"
      "  hint: pad less");
  EXPECT_TEXT(
      greatest({1, 1, 1, 1}, {.kernel_size = List{2}, .padding = List{1}, .dilation = List{2}}),
      "an output position has no tap in the input's width of 1, padded by 1 and 1: the window has 2 taps, 2 apart, "
      "and the stride is 2\n"
      "  hint: pad less");

  EXPECT_TEXT(greatest({1, 2, 0, 5}, {}), "images of shape [1, 2, 0, 5] have no pixels");
  EXPECT_TEXT(greatest({1, 1, 4096, 4096}, {}), "kernel_size is 4096 x 4096, and its product can be up to 8388608");
  EXPECT_TEXT(greatest({1, 1, 64, 64}, {.kernel_size = List{1}, .stride = List{1}, .padding = List{1 << 29}}),
              "the input's height is 64, padded to 1073741888, and can be up to 1073741824\n  hint: split the image");
  EXPECT_TEXT(greatest({1, 2, 5}, {}, Layout::packed_4c),
              "input of shape [1, 2, 5] is packed_4c, and rows [N, C, W] must be in plain buffers\n"
              "  hint: give it as an image [N, C, 1, W]");
  const auto mean = [&](const Q8taAvgPool2dAttributes& attributes) {
    return refusal(q8ta_avg_pool2d_call({.input = TensorDesc{DType::i8, {1, 2, 4, 5}}}, attributes));
  };
  EXPECT_TEXT(mean({.divisor_override = 0, .input_scale = 1, .output_scale = 1}),
              "divisor_override is 0, and can be 1 to 8388608");
  EXPECT_TEXT(mean({.divisor_override = 1, .input_scale = 0x1p119, .output_scale = 1}),
              "divisor_override is 1: with an input_scale of 6.64614e+35, the mean of 20 taps could exceed f32");
}

}  // namespace
}  // namespace qgen
