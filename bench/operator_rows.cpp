// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "bench/operator_rows.h"

#include <fmt/format.h>

#include <iterator>

#include "q8ta_unary.h"
#include "runtime/library/signature_info.h"

namespace qgen::bench {
namespace {

using Texts = std::vector<std::string>;

// The sizes that ExecuTorch's own benchmarks of int8 operators have, and one that fills a large device.
constexpr std::string_view kImages[] = {"1x64x128x128", "1x32x64x64", "1x128x56x56", "1x128x128x128", "8x256x128x128"};

struct Size {
  int m, k, n;
};
std::string text(const Size& size) { return fmt::format("{}x{}x{}", size.m, size.k, size.n); }
double operations(const Size& size) { return 2.0 * size.m * size.k * size.n; }

// ---- affine ---------------------------------------------------------------------------------------------------------

struct Blocks {
  std::string_view name, scale, block_size;
};
constexpr Blocks kBlocks[] = {{"tensor", "1x1", "8192,8192"},
                              {"rows", "8192x1", "1,8192"},
                              {"columns", "1x8192", "8192,1"},
                              {"groups_of_128", "8192x64", "1,128"}};

void add_affine(std::vector<Row>& rows) {
  for (const Blocks& blocks : kBlocks) {
    const std::string scale = fmt::format("scale={}:f32=0.05", blocks.scale);
    for (const std::string_view real : {"f32", "f16"}) {
      const Way quantize{{.shapes = {fmt::format("input=8192x8192:{}", real), scale}}};
      rows.push_back({"quantize_affine", fmt::format("8192x8192.{}.{}", real, blocks.name), quantize,
                      Way{quantize.request, ".vec1"}});
    }
    const Way dequantize{{.shapes = {"input=8192x8192:i8", scale}}};
    rows.push_back(
        {"dequantize_affine", fmt::format("8192x8192.{}", blocks.name), dequantize, Way{dequantize.request, ".vec1"}});
    const Way choose{
        {.shapes = {"input=8192x8192:f32"}, .attributes = {fmt::format("block_size={}", blocks.block_size)}}};
    // One team would take more steps over a whole tensor than the plain kernel makes: there it has partial results.
    const std::string_view plain = blocks.name == "tensor" ? "partial" : "affine";
    rows.push_back({"choose_qparams_affine", fmt::format("8192x8192.{}", blocks.name), choose,
                    Way{choose.request, fmt::format("choose_qparams_{}.f32.buffer.shared.vec1", plain)}});
  }
  for (const auto& [m, k] : {std::pair{256, 1024}, {512, 2048}, {1, 2048}, {1, 8096}}) {
    const Way choose{
        {.shapes = {fmt::format("input={}x{}:f32", m, k)}, .attributes = {fmt::format("block_size=1,{}", k)}}};
    rows.push_back({"choose_qparams_affine", fmt::format("{}x{}.rows", m, k), choose,
                    Way{choose.request, "choose_qparams_affine.f32.buffer.shared.vec1"}});
  }
}

// ---- int8 tensors in packed layouts ---------------------------------------------------------------------------------

const Texts kInput = {"input_scale=0.04", "input_zero_point=-3"};
const Texts kOther = {"other_scale=0.02", "other_zero_point=7"};
const Texts kOutput = {"output_scale=0.05", "output_zero_point=5"};

Texts joined(Texts first, const Texts& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// In these layouts; beside it all tensors in plain buffers, on the kernel of that name.
Row in_layouts(std::string op, std::string_view size, Texts shapes, Texts attributes, const Texts& layouts,
               std::string plain_kernel = {}) {
  const runner::RequestText request{.shapes = std::move(shapes), .attributes = std::move(attributes)};
  Row row{std::move(op), std::string(size), {request}, Way{request, std::move(plain_kernel)}};
  for (const std::string& layout : layouts) row.size += "." + layout.substr(layout.find('=') + 1);
  row.chosen.request.layouts = layouts;
  return row;
}

constexpr std::string_view kPackedLayouts[] = {"packed_4w", "packed_4c", "packed_4w4c", "packed_4h4w", "packed_4c1w"};

void add_clone(std::vector<Row>& rows, std::string_view image, std::string_view from, std::string_view to) {
  rows.push_back(in_layouts("q8ta_clone", image, {fmt::format("input={}:i8", image)}, {},
                            {fmt::format("input={}", from), fmt::format("output={}", to)}));
}

// From reals in a buffer or in a texture to each layout, and back; from each to plain bytes.
void add_moves(std::vector<Row>& rows, std::string_view image) {
  const Texts reals = {fmt::format("input={}:f32", image)}, bytes = {fmt::format("input={}:i8", image)};
  for (const std::string_view layout : kPackedLayouts) {
    const std::string in = fmt::format("input={}", layout), out = fmt::format("output={}", layout);
    rows.push_back(in_layouts("q8ta_quantize", image, reals, kOutput, {out}));
    rows.push_back(in_layouts("q8ta_quantize", image, reals, kOutput, {"input=channels_packed", out}));
    rows.push_back(in_layouts("q8ta_dequantize", image, bytes, kInput, {in}));
    rows.push_back(in_layouts("q8ta_dequantize", image, bytes, kInput, {in, "output=channels_packed"}));
    add_clone(rows, image, layout, "strided");
  }
  add_clone(rows, image, "packed_4w4c", "packed_4c1w");
}

void add_clones_of_all_pairs(std::vector<Row>& rows) {
  for (const std::string_view from : kPackedLayouts) {
    for (const std::string_view to : kPackedLayouts) add_clone(rows, "1x16x256x256", from, to);
  }
}

void add_elementwise(std::vector<Row>& rows, std::string_view image) {
  const Texts one = {fmt::format("input={}:i8", image)}, two = joined(one, {fmt::format("other={}:i8", image)});
  for (const SignatureInfo& op : generated::q8ta_unary::signatures) {
    rows.push_back(in_layouts(std::string(op.name), image, one, joined(kInput, kOutput),
                              {"input=packed_4w4c", "output=packed_4w4c"}, ".flat0"));
  }
  rows.push_back(in_layouts("q8ta_relu", image, one, joined(kInput, kOutput), {"input=packed_4w4c", "output=packed_4w"},
                            ".flat0"));
  for (const std::string op : {"q8ta_add", "q8ta_sub", "q8ta_mul"}) {
    rows.push_back(in_layouts(op, image, two, joined(joined(kInput, kOther), kOutput),
                              {"input=packed_4w4c", "other=packed_4w4c", "output=packed_4w4c"}, ".flat0"));
  }
  rows.push_back(in_layouts("q8ta_add", image, two, joined(joined(kInput, kOther), kOutput),
                            {"input=packed_4w4c", "other=packed_4c1w", "output=packed_4c1w"}, ".flat0"));
}

void add_packed(std::vector<Row>& rows) {
  for (const std::string_view image : kImages) {
    add_moves(rows, image);
    add_elementwise(rows, image);
  }
  add_clones_of_all_pairs(rows);
  for (const std::string_view image : {"1x96x16x9", "1x96x32x18", "1x96x64x36", "1x96x128x72"}) {
    rows.push_back(in_layouts("q8ta_pixel_shuffle", image, {fmt::format("input={}:i8", image)}, joined(kInput, kOutput),
                              {"input=packed_4w4c", "output=packed_4w4c"}));
  }
}

// Of four branches of a network, and of two whose channels fill no block.
void add_concats(std::vector<Row>& rows) {
  const Texts two = {"input_1_scale=0.04", "input_2_scale=0.02", "output_scale=0.05"};
  const Texts four = joined(two, {"input_3_scale=0.03", "input_4_scale=0.05"});
  for (const std::string_view layout : {"packed_4c", "packed_4w4c"}) {
    const auto in = [&](std::initializer_list<const char*> operands) {
      Texts layouts;
      for (const char* operand : operands) layouts.push_back(fmt::format("{}={}", operand, layout));
      return layouts;
    };
    rows.push_back(in_layouts(
        "q8ta_concat", "8x64_128_32_32x64x64",
        {"input_1=8x64x64x64:i8", "input_2=8x128x64x64:i8", "input_3=8x32x64x64:i8", "input_4=8x32x64x64:i8"}, four,
        in({"input_1", "input_2", "input_3", "input_4", "output"})));
    rows.push_back(in_layouts("q8ta_concat", "8x126_130x128x128",
                              {"input_1=8x126x128x128:i8", "input_2=8x130x128x128:i8"}, two,
                              in({"input_1", "input_2", "output"})));
  }
}

// ---- elements that are moved ----------------------------------------------------------------------------------------

void add_movement(std::vector<Row>& rows) {
  const auto add = [&](std::string op, std::string size, std::string_view input, Texts attributes) {
    rows.push_back({std::move(op),
                    std::move(size),
                    Way{{.shapes = {fmt::format("input={}", input)}, .attributes = std::move(attributes)}},
                    {}});
  };
  for (const std::string_view dtype : {"f32", "f16", "i8"}) {
    add("permute", fmt::format("8192x8192.{}", dtype), fmt::format("8192x8192:{}", dtype), {});
    add("permute", fmt::format("8x512x32x128.heads.{}", dtype), fmt::format("8x512x32x128:{}", dtype),
        {"permutation=0,2,1,3"});
  }
  add("slice", "8192x8192.half.f16", "8192x8192:f16", {"starts=0,4096", "ends=8192,8192"});
  add("expand", "8192x1.f16", "8192x1:f16", {"sizes=8192,8192"});
  add("pad", "8x64x224x224.1.f16", "8x64x224x224:f16", {"before=0,0,1,1", "after=0,0,1,1"});
}

// ---- rows -----------------------------------------------------------------------------------------------------------

// Scores of attention, and the tokens of a large model.
void add_normalization(std::vector<Row>& rows) {
  for (const std::string_view real : {"f32", "f16"}) {
    const Way softmax{{.shapes = {fmt::format("input=32x512x512:{}", real)}}};
    rows.push_back({"softmax", fmt::format("32x512x512.{}", real), softmax, Way{softmax.request, ".shared"}});
    const Way norm{{.shapes = {fmt::format("input=2048x4096:{}", real), fmt::format("weight=4096:{}", real),
                               fmt::format("bias=4096:{}", real)}}};
    rows.push_back({"layer_norm", fmt::format("2048x4096.{}", real), norm, Way{norm.request, ".shared"}});
  }
}

// ---- windows over images --------------------------------------------------------------------------------------------

struct Pool {
  std::string_view op, image, window;
  Texts attributes;
};

// The first pools and the last ones of networks for images, those of pyramids, and one that fills a large device.
const Pool kPools[] = {
    {"q8ta_max_pool2d", "1x64x112x112", "3x3s2", {"kernel_size=3", "stride=2", "padding=1"}},
    {"q8ta_max_pool2d", "1x64x224x224", "2x2s2", {"kernel_size=2"}},
    {"q8ta_max_pool2d", "1x256x40x40", "13x13s1", {"kernel_size=13", "stride=1", "padding=6"}},
    {"q8ta_max_pool2d", "8x256x128x128", "3x3s1", {"kernel_size=3", "stride=1", "padding=1"}},
    {"q8ta_avg_pool2d", "1x128x56x56", "2x2s2", {"kernel_size=2"}},
    {"q8ta_avg_pool2d", "1x288x35x35", "3x3s1", {"kernel_size=3", "stride=1", "padding=1"}},
    {"q8ta_avg_pool2d", "8x256x128x128", "3x3s1", {"kernel_size=3", "stride=1", "padding=1"}},
    {"q8ta_avg_pool2d", "1x2048x7x7", "global", {}},
    {"q8ta_avg_pool2d", "8x256x128x128", "global", {}},
};

void add_pools(std::vector<Row>& rows) {
  for (const Pool& pool : kPools) {
    Texts attributes = pool.attributes;
    if (pool.op == "q8ta_avg_pool2d") attributes = joined(joined(kInput, kOutput), attributes);
    for (const std::string_view layout : {"strided", "packed_4c", "packed_4w4c"}) {
      rows.push_back(in_layouts(std::string(pool.op), fmt::format("{}.{}", pool.image, pool.window),
                                {fmt::format("input={}:i8", pool.image)}, attributes,
                                {fmt::format("input={}", layout), fmt::format("output={}", layout)},
                                ".plain.strided.strided/team1."));
    }
  }
}

// The same pools of reals, and images twice as large: of pyramids, and of networks that draw.
void add_real_images(std::vector<Row>& rows) {
  for (const Pool& pool : kPools) {
    for (const std::string_view real : {"f32", "f16"}) {
      const Way way{{.shapes = {fmt::format("input={}:{}", pool.image, real)}, .attributes = pool.attributes}};
      rows.push_back({std::string(pool.op.substr(5)), fmt::format("{}.{}.{}", pool.image, pool.window, real), way, {}});
    }
  }
  const Texts twice = {"sizes=128,128"};
  for (const std::string mode : {"nearest", "linear"}) {
    rows.push_back({"resize2d",
                    fmt::format("8x256x64x64.{}.f16", mode),
                    Way{{.shapes = {"input=8x256x64x64:f16"}, .attributes = joined(twice, {"mode=" + mode})}},
                    {}});
  }
  for (const std::string_view layout : {"packed_4c", "packed_4w4c"}) {
    rows.push_back(in_layouts("q8ta_resize2d", "8x256x64x64", {"input=8x256x64x64:i8"}, twice,
                              {fmt::format("input={}", layout), fmt::format("output={}", layout)}));
  }
}

// ---- convolutions ---------------------------------------------------------------------------------------------------

// Windows are square, and padding lies on all sides; what a transposed one adds at the end is in `output_padding`.
struct Convolution {
  int images, channels, outputs, height, width, taps, stride, padding, groups = 1, output_padding = 0;
};

// Those of ExecuTorch's own benchmarks: for images, of one tap, and depthwise.
constexpr Convolution kConvolutions[] = {
    {1, 3, 32, 256, 256, 3, 1, 0},         {1, 32, 64, 128, 128, 3, 1, 1},     {1, 64, 64, 128, 128, 3, 1, 1},
    {1, 64, 64, 128, 128, 3, 1, 1, 2},     {1, 96, 96, 128, 128, 3, 2, 1, 3},  {1, 128, 128, 128, 128, 5, 2, 2, 4},
    {1, 128, 128, 256, 256, 5, 2, 2, 4},   {1, 64, 64, 256, 256, 3, 1, 1, 2},  {1, 512, 512, 7, 7, 3, 1, 1},
    {1, 1024, 2048, 14, 14, 1, 2, 0},      {1, 480, 160, 8, 8, 1, 1, 0},       {1, 48, 22, 256, 256, 1, 1, 0},
    {1, 48, 48, 128, 128, 1, 1, 0},        {1, 128, 128, 128, 128, 1, 1, 0},   {1, 576, 64, 128, 128, 1, 1, 0},
    {1, 128, 128, 128, 128, 3, 1, 1, 128}, {1, 64, 64, 256, 256, 3, 1, 1, 64}, {1, 288, 288, 16, 16, 3, 1, 1, 288},
    {1, 32, 32, 128, 128, 3, 1, 2, 32}};

// Those of networks for images, one at a time and in batches, and one that fills a large device.
constexpr Convolution kLayersOfImages[] = {
    {1, 3, 64, 224, 224, 7, 2, 3},     {1, 64, 64, 56, 56, 3, 1, 1},     {1, 64, 256, 56, 56, 1, 1, 0},
    {1, 256, 128, 56, 56, 1, 1, 0},    {1, 128, 128, 56, 56, 3, 2, 1},   {1, 256, 256, 14, 14, 3, 1, 1},
    {1, 128, 128, 128, 128, 3, 1, 1},  {32, 64, 64, 56, 56, 3, 1, 1},    {32, 256, 256, 14, 14, 3, 1, 1},
    {32, 64, 256, 56, 56, 1, 1, 0},    {8, 256, 256, 128, 128, 3, 1, 1}, {1, 128, 128, 56, 56, 3, 1, 1, 128},
    {1, 64, 64, 128, 128, 3, 1, 1, 64}};

// Those that ExecuTorch tests: small ones, most of which end within tiles.
constexpr Convolution kSmallConvolutions[] = {
    {1, 3, 32, 64, 64, 3, 1, 1},      {1, 3, 32, 64, 64, 3, 2, 1},      {1, 32, 64, 8, 8, 3, 1, 1},
    {1, 32, 64, 64, 64, 3, 1, 1},     {1, 32, 64, 64, 64, 3, 2, 1},     {1, 32, 16, 77, 77, 3, 1, 1},
    {1, 32, 64, 64, 64, 3, 1, 1, 2},  {1, 96, 96, 81, 81, 3, 2, 1, 3},  {1, 96, 96, 64, 64, 5, 2, 2, 4},
    {1, 16, 1, 8, 8, 1, 1, 0},        {1, 16, 2, 8, 8, 1, 1, 0},        {1, 16, 3, 8, 8, 1, 1, 0},
    {1, 3, 32, 64, 64, 1, 1, 0},      {1, 32, 64, 32, 32, 1, 1, 0},     {1, 64, 96, 16, 16, 1, 1, 0},
    {1, 7, 13, 57, 33, 1, 1, 0},      {1, 40, 80, 64, 64, 1, 1, 0},     {1, 32, 32, 64, 64, 3, 1, 1, 32},
    {1, 64, 64, 32, 32, 3, 2, 2, 64}, {1, 64, 64, 32, 32, 3, 2, 1, 64}, {1, 80, 80, 16, 16, 3, 1, 1, 80},
    {1, 16, 16, 57, 33, 3, 1, 1, 16}, {1, 32, 32, 64, 64, 5, 1, 2, 32}, {1, 96, 96, 64, 64, 5, 2, 2, 96}};

constexpr Convolution kTransposed[] = {{1, 128, 64, 32, 32, 3, 2, 1, 1, 1}, {1, 256, 128, 16, 16, 4, 2, 1},
                                       {1, 32, 16, 8, 8, 3, 2, 1, 1, 1},    {1, 64, 32, 4, 4, 3, 2, 1, 1, 1},
                                       {1, 32, 16, 8, 8, 4, 2, 1},          {1, 16, 16, 8, 8, 3, 1, 1},
                                       {1, 64, 32, 8, 8, 3, 2, 1, 2, 1},    {1, 128, 64, 16, 16, 4, 2, 1}};

// As 1x64x128x128.64.3x3s1p1, and of groups .g64 behind it.
std::string text(const Convolution& c) {
  const std::string groups = c.groups > 1 ? fmt::format(".g{}", c.groups) : "";
  return fmt::format("{}x{}x{}x{}.{}.{}x{}s{}p{}{}", c.images, c.channels, c.height, c.width, c.outputs, c.taps, c.taps,
                     c.stride, c.padding, groups);
}

Texts attributes_of(const Convolution& c, Texts attributes) {
  for (const auto& [name, value] : {std::pair{"stride", c.stride}, {"padding", c.padding}, {"groups", c.groups}})
    attributes.push_back(fmt::format("{}={}", name, value));
  if (c.output_padding > 0) attributes.push_back(fmt::format("output_padding={}", c.output_padding));
  return attributes;
}

// A weight is [rows, columns, taps, taps]; each is used at so many places of the window.
Row convolution(std::string op, const Convolution& c, int rows, int columns, double places, std::string_view layout) {
  const Texts shapes = {fmt::format("input={}x{}x{}x{}:i8", c.images, c.channels, c.height, c.width),
                        fmt::format("weight={}x{}x{}x{}:i8", rows, columns, c.taps, c.taps),
                        fmt::format("weight_scales={}:f32=0.01", c.outputs), fmt::format("bias={}:f32", c.outputs)};
  Row row = in_layouts(std::move(op), text(c), shapes, attributes_of(c, joined(kInput, kOutput)),
                       {fmt::format("input={}", layout), fmt::format("output={}", layout)}, ".plain(");
  row.operations = 2.0 * rows * columns * c.taps * c.taps * places;
  return row;
}

double places_of(const Convolution& c) {
  const auto along = [&](int side) { return (side + 2 * c.padding - c.taps) / c.stride + 1; };
  return 1.0 * c.images * along(c.height) * along(c.width);
}

void add_forward(std::vector<Row>& rows, const Convolution& c, std::string_view layout) {
  rows.push_back(convolution("q8ta_conv2d", c, c.outputs, c.channels / c.groups, places_of(c), layout));
}

// Of reals: computed in int8, and with a weight of int8 alone.
void add_forward_of_reals(std::vector<Row>& rows, const Convolution& c, std::string_view dtype) {
  const int columns = c.channels / c.groups;
  for (const std::string op : {"conv2d_q8ta_q8csw", "conv2d_q8csw"}) {
    const runner::RequestText request{
        .shapes = {fmt::format("input={}x{}x{}x{}:{}", c.images, c.channels, c.height, c.width, dtype),
                   fmt::format("weight={}x{}x{}x{}:i8", c.outputs, columns, c.taps, c.taps),
                   fmt::format("weight_scales={}:f32=0.01", c.outputs), fmt::format("bias={}:f32", c.outputs)},
        .attributes = attributes_of(c, op == "conv2d_q8csw" ? Texts{} : kInput)};
    rows.push_back({op,
                    fmt::format("{}.{}", text(c), dtype),
                    {request},
                    Way{request, ".plain("},
                    2.0 * c.outputs * columns * c.taps * c.taps * places_of(c)});
  }
}

// The last layers of blocks of residual networks, with what q8ta_add would add behind them.
constexpr Convolution kResidualLayers[] = {
    {1, 64, 64, 56, 56, 3, 1, 1}, {1, 64, 256, 56, 56, 1, 1, 0}, {32, 64, 256, 56, 56, 1, 1, 0}};

void add_residual(Row& row, const Convolution& c) {
  row.size += ".residual";
  for (Way* way : {&row.chosen, &*row.plain}) {
    way->request.shapes.push_back(fmt::format("residual={}x{}x{}x{}:i8", c.images, c.outputs, c.height, c.width));
    way->request.attributes = joined(std::move(way->request.attributes), {"result_scale=0.05", "residual_scale=0.04"});
  }
  row.chosen.request.layouts.push_back("residual=packed_4c");
}

void add_transposed(std::vector<Row>& rows, const Convolution& c, std::string_view layout) {
  const double places = 1.0 * c.images * c.height * c.width;
  rows.push_back(convolution("q8ta_conv2d_transposed", c, c.channels, c.outputs / c.groups, places, layout));
}

void add_convolutions(std::vector<Row>& rows) {
  for (const std::string_view layout : {"packed_4c", "packed_4w4c", "packed_4c1w"}) {
    for (const Convolution& c : kConvolutions) add_forward(rows, c, layout);
    for (const Convolution& c : kTransposed) add_transposed(rows, c, layout);
  }
  for (const Convolution& c : kLayersOfImages) {
    add_forward(rows, c, "packed_4c");
    for (const std::string_view dtype : {"f32", "f16"}) add_forward_of_reals(rows, c, dtype);
  }
  for (const Convolution& c : kSmallConvolutions) add_forward(rows, c, "packed_4c");
  for (const Convolution& c : kResidualLayers) {
    add_forward(rows, c, "packed_4c");
    add_residual(rows.back(), c);
  }
}

// ---- operands that are real or quantized ----------------------------------------------------------------------------

// Beside it the same kernel on four elements an invocation.
Row fused(const std::string& op, const std::string& dtypes, const runner::RequestText& request) {
  return {op, "8192x8192." + dtypes, {request}, Way{request, ".items1"}};
}

void add_fused(std::vector<Row>& rows) {
  const std::string reals = "input=8192x8192:f32", bytes = "input=8192x8192:i8", words = "input=8192x8192:i16";
  const std::string scale = "input_scale=1x1:f32=0.04", output_scale = "output_scale=1x1:f32=0.05";
  const std::string other = "other=8192x8192:f32";
  for (const std::string op : {"fused_relu", "fused_hardswish", "fused_sigmoid", "fused_clip"}) {
    rows.push_back(fused(op, "f32.i8", {.shapes = {reals, output_scale}}));
    rows.push_back(fused(op, "i8.f32", {.shapes = {bytes, scale}}));
  }
  for (const std::string op : {"fused_add", "fused_mul"}) {
    const Texts all_bytes = {bytes, scale, "other=8192x8192:i8", "other_scale=1x1:f32=0.02", output_scale};
    rows.push_back(fused(op, "i8.f32.f32", {.shapes = {bytes, scale, other}}));
    rows.push_back(fused(op, "i8.i8.i8", {.shapes = all_bytes}));
    rows.push_back(fused(op, "i16.f32.i16",
                         {.shapes = {words, scale, other, output_scale}, .attributes = {"output_dtype=int16"}}));
  }
  rows.push_back(fused("requantize", "i8.i8", {.shapes = {bytes, scale, output_scale}}));
}

// Attention of 32 heads: scores, what they weigh, and both for one token.
constexpr Size kProducts[] = {{512, 128, 512}, {512, 512, 128}, {1, 128, 2048}, {1, 2048, 128}};
constexpr int kHeads = 32;

void add_products(std::vector<Row>& rows) {
  for (const Size& size : kProducts) {
    const auto shape = [](std::string_view operand, int m, int n, std::string_view dtype) {
      return fmt::format("{}={}x{}x{}:{}", operand, kHeads, m, n, dtype);
    };
    const Texts other = {shape("other", size.k, size.n, "i8"), "other_scale=1x1x1:f32=0.02"};
    const Texts bytes = joined({shape("input", size.m, size.k, "i8"), "input_scale=1x1x1:f32=0.04"}, other);
    const Texts reals = joined({shape("input", size.m, size.k, "f32")}, other);
    const Way to_bytes{{.shapes = joined(bytes, {"output_scale=1x1x1:f32=0.5"})}}, to_reals{{.shapes = bytes}};
    const Way of_unsigned{
        {.shapes = joined({shape("input", size.m, size.k, "u8"), "input_scale=1x1x1:f32=0.004"}, other)}};
    const std::string name = fmt::format("{}x{}", kHeads, text(size));
    const double work = kHeads * operations(size);
    rows.push_back({"bmm", name + ".i8.i8.i8", to_bytes, Way{to_bytes.request, ".plain("}, work});
    rows.push_back({"bmm", name + ".i8.i8.f32", to_reals, Way{to_reals.request, ".plain("}, work});
    rows.push_back({"bmm", name + ".u8.i8.f32", of_unsigned, Way{of_unsigned.request, ".plain("}, work});
    rows.push_back({"fused_bmm", name + ".f32.i8.f32", {{.shapes = reals}}, {}, work});
  }
}

// ---- linear layers --------------------------------------------------------------------------------------------------

// m, k, n of language models, for one token and for many, and two that end within tiles. Weights of four bits have a
// scale for each 128 along k.
constexpr Size kSizes[] = {{1, 512, 512},       {1, 1024, 1024},    {1, 1024, 2048},    {1, 1024, 3072},
                           {1, 3072, 1024},     {1, 2048, 512},     {31, 128, 12},      {33, 128, 20},
                           {1, 2048, 2048},     {1, 2048, 8192},    {1, 8192, 2048},    {1, 512, 9059},
                           {1, 4096, 14336},    {1, 14336, 4096},   {4, 4096, 4096},    {32, 1024, 2048},
                           {128, 1024, 2048},   {256, 1024, 2048},  {32, 4096, 4096},   {128, 4096, 4096},
                           {256, 4096, 4096},   {128, 2048, 2048},  {256, 2048, 2048},  {512, 2048, 2048},
                           {1024, 2048, 2048},  {1024, 4096, 1024}, {1024, 4096, 4096}, {1024, 4096, 14336},
                           {1024, 14336, 4096}, {512, 4096, 14336}, {512, 14336, 4096}, {4096, 4096, 4096}};

Row linear(std::string op, const Size& size, std::string_view real, std::string_view values, const std::string& scales,
           Texts attributes = {}) {
  const Way chosen{{.shapes = {fmt::format("input={}x{}:{}", size.m, size.k, real),
                               fmt::format("weight={}x{}:i8={}", size.n, size.k, values),
                               fmt::format("weight_scales={}:f32=0.01", scales)},
                    .attributes = std::move(attributes)}};
  return {std::move(op), fmt::format("{}.{}", text(size), real), chosen, Way{chosen.request, ".plain("},
          operations(size)};
}

// On activations that lie plainly, and as the kernels of few and of many rows like them.
void add_q8ta_linear(std::vector<Row>& rows, const Size& size) {
  const Texts shapes = {fmt::format("input={}x{}:i8", size.m, size.k), fmt::format("weight={}x{}:i8", size.n, size.k),
                        fmt::format("weight_scales={}:f32=0.01", size.n)};
  for (const std::string_view layout : {"strided", size.m < 4 ? "packed_4w" : "packed_4h4w"}) {
    Row row = in_layouts("q8ta_linear", text(size), shapes, joined(kInput, kOutput),
                         {fmt::format("input={}", layout), fmt::format("output={}", layout)}, ".plain(");
    row.operations = operations(size);
    rows.push_back(std::move(row));
  }
}

void add_linear(std::vector<Row>& rows) {
  constexpr int kGroup = 128;
  for (const Size& size : kSizes) {
    add_q8ta_linear(rows, size);
    const std::string one_a_row = fmt::format("{}", size.n),
                      one_a_group = fmt::format("{}x{}", size.n, size.k / kGroup);
    for (const std::string_view real : {"f32", "f16"}) {
      rows.push_back(linear("linear_q8csw", size, real, "-128..127", one_a_row));
      rows.push_back(linear("linear_q8ta_q8csw", size, real, "-128..127", one_a_row, {"input_scale=0.01"}));
      rows.push_back(linear("linear_dq8ca_q8csw", size, real, "-128..127", one_a_row));
      rows.push_back(linear("linear_q4gsw", size, real, "-8..7", one_a_group));
      rows.push_back(linear("linear_dq8ca_q4gsw", size, real, "-8..7", one_a_group));
    }
  }
}

// The same of training around a weight that stays: many rows, and for comparison one.
constexpr Size kBackwardSizes[] = {{1, 4096, 4096},     {32, 4096, 4096},    {256, 4096, 4096}, {1024, 4096, 4096},
                                   {1024, 4096, 14336}, {1024, 14336, 4096}, {4096, 4096, 4096}};

void add_backward(std::vector<Row>& rows) {
  constexpr int kGroup = 128;
  for (const Size& size : kBackwardSizes) {
    for (const std::string_view real : {"f32", "f16"}) {
      const Way chosen{{.shapes = {fmt::format("d_output={}x{}:{}", size.m, size.n, real),
                                   fmt::format("weight={}x{}:i8=-8..7", size.n, size.k),
                                   fmt::format("weight_scales={}x{}:f32=0.01", size.n, size.k / kGroup)}}};
      rows.push_back({"linear_q4gsw_backward", fmt::format("{}.{}", text(size), real), chosen,
                      Way{chosen.request, ".plain("}, operations(size)});
    }
  }
}

void add_packing(std::vector<Row>& rows) {
  for (const std::string_view form :
       {"weight_q8_4k4n", "weight_q8_rows", "weight_q8_panels", "weight_q4_8n4k", "weight_q4_4k8n", "weight_q4_rows"}) {
    const std::string values = form.starts_with("weight_q4") ? "-8..7" : "-128..127";
    rows.push_back(
        {"pack_weight",
         fmt::format("14336x4096.{}", form),
         {{.shapes = {fmt::format("source=14336x4096:i8={}", values)}, .attributes = {fmt::format("form={}", form)}}},
         {}});
  }
}

void add_quantizing(std::vector<Row>& rows) {
  for (const std::string_view real : {"f32", "f16"}) {
    const Way chosen{{.shapes = {fmt::format("input=14336x4096:{}", real), "weight_scales=14336x32:f32=0.1"}}};
    rows.push_back({"quantize_q4gsw", fmt::format("14336x4096.{}", real), chosen, Way{chosen.request, ".vec1"}});
  }
}

// ---- embedding ------------------------------------------------------------------------------------------------------

void add_embedding(std::vector<Row>& rows) {
  constexpr double kRows = 2047, kColumns = 2048, kScales = 64;
  for (const auto& [real, bytes] : {std::pair{"float32", 4}, {"float16", 2}}) {
    const Way chosen{
        {.shapes = {"indices=1x2047:i32=0..128255", "weight=128256x2048:i8=-8..7", "weight_scales=128256x64:f32=0.01"},
         .attributes = {fmt::format("output_dtype={}", real)}}};
    rows.push_back({.op = "embedding_q4gsw",
                    .size = fmt::format("128256x2048.2047_rows.{}", real),
                    .chosen = chosen,
                    .plain = Way{chosen.request, ".vec1"},
                    .bytes = kRows * (4 + kColumns * (0.5 + bytes) + kScales * 4)});
  }
}

}  // namespace

std::vector<Row> operator_rows() {
  std::vector<Row> rows;
  for (const auto add : {add_affine, add_packed, add_concats, add_movement, add_normalization, add_pools,
                         add_real_images, add_convolutions, add_fused, add_products, add_linear, add_backward,
                         add_packing, add_quantizing, add_embedding}) {
    add(rows);
  }
  return rows;
}

}  // namespace qgen::bench
