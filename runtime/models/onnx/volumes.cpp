// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Convolutions and pools of volumes [N, C, D, H, W], as convolutions and pools of images, and means of dilated windows.
// A pool of a volume is one of its images, and then one along its depth. A convolution has the images of a window as
// channels of one image:
//
//   x [N, C, D, H, W] -> for each place along depth the kD images of its window: [N * D', C * kD, H, W] -> Conv
//
// A transposed convolution is the same along depth, with zeros between the images of the input, and with the taps in
// reverse order; then a ConvTranspose of images.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runtime/models/onnx/fold.h"
#include "runtime/models/onnx/written_out.h"

namespace qgen::onnx {
namespace {

using Sides = std::vector<int64_t>;
using Attributes64 = std::map<std::string, AttributeData, std::less<>>;

bool is_volume(Arguments arguments) { return !arguments.empty() && arguments[0] && arguments[0]->shape.size() == 5; }

// The attributes of a window along the axes [begin, end). Along an axis of no window, a window of one element follows.
Attributes64 attributes_of(const Window& window, size_t begin, size_t end, bool has_other_axis) {
  const auto part = [&](const Sides& all, int64_t other) {
    Sides kept(all.begin() + static_cast<ptrdiff_t>(begin), all.begin() + static_cast<ptrdiff_t>(end));
    if (has_other_axis) kept.push_back(other);
    return kept;
  };
  Sides pads = part(window.before, 0), after = part(window.after, 0);
  pads.insert(pads.end(), after.begin(), after.end());
  return {{"kernel_shape", part(window.kernel, 1)},
          {"strides", part(window.strides, 1)},
          {"dilations", part(window.dilations, 1)},
          {"pads", pads}};
}

int64_t reach(const Window& window, size_t axis) { return (window.kernel[axis] - 1) * window.dilations[axis] + 1; }

// For a constant of this shape, which may have more elements than an integer counts.
Done spend_constant(Builder& builder, const Shape& shape) {
  int64_t elements = 1;
  for (const int64_t side : shape) {
    if (__builtin_mul_overflow(elements, side, &elements)) elements = std::numeric_limits<int64_t>::max();
  }
  return builder.spend(elements);
}

}  // namespace

Rewritten Importer::pool_of_volumes(const Node& node, Arguments arguments) {
  if (!is_volume(arguments) || node.integers("kernel_shape").size() != 3) return std::optional<Known>();
  const auto window = window_of(node, node.integers("kernel_shape"), arguments[0]->shape);
  if (!window) return window.error();
  Attributes64 images = attributes_of(*window, 1, 3, false);
  // Along depth: images with one row for each depth, and all pixels as columns.
  Attributes64 depth = attributes_of(*window, 0, 1, true);
  for (const char* name : {"ceil_mode", "count_include_pad"}) {
    const AttributeData* data = node.find(name);
    if (!data || (node.op != "AveragePool" && std::string_view(name) == "count_include_pad")) continue;
    images[name] = *data;
    depth[name] = *data;
  }
  const auto sides = known_shape(arguments[0]->shape);
  if (!sides) return unsupported("a side of its volume is unknown", kHowToNumberSides);
  const auto [n, c, d, h, w] = std::array{(*sides)[0], (*sides)[1], (*sides)[2], (*sides)[3], (*sides)[4]};
  auto result = viewed(node, *arguments[0], {{n}, {c * d}, {h}, {w}});
  if (result) result = computed(node, node.op, {*result}, images);
  if (!result) return result.error();
  const int64_t rows = result->shape[2].value, columns = result->shape[3].value;
  result = viewed(node, *result, {{n}, {c}, {d}, {rows * columns}});
  if (result) result = computed(node, node.op, {*result}, depth);
  if (!result) return result.error();
  return as_other(viewed(node, *result, {{n}, {c}, {result->shape[2].value}, {rows}, {columns}}));
}

// A convolution of each channel with ones adds the pixels of a window. Their number divides the sum.
Rewritten Importer::average_pool(const Node& node, Arguments arguments) {
  const std::vector<int64_t> kernel = node.integers("kernel_shape");
  const Dims input = arguments[0]->shape;
  if (kernel.size() > 2 || input.size() != kernel.size() + 2) return pool_of_volumes(node, arguments);
  auto window = window_of(node, kernel, input);
  if (!window) return window.error();
  if (std::ranges::all_of(window->dilations, [](int64_t d) { return d == 1; })) return std::optional<Known>();
  const bool with_padding = node.integer("count_include_pad", 0) != 0;
  const bool is_whole = !window->ceil && (with_padding || window->padding() == Sides(2 * kernel.size(), 0));
  const auto output = places(*window, input, builder_.symbols);
  if (!output) return output.error();
  const auto sides = known_shape({input.begin() + 2, input.end()});
  if (input[1].is_symbol || (!is_whole && !sides))
    return unsupported("its windows are dilated, and a side of its input is unknown", kHowToNumberSides);
  const auto divisors = pixels_of_windows(node, *window, is_whole ? Shape() : *sides, *output, with_padding);
  if (!divisors) return divisors.error();
  for (size_t axis = 0; window->ceil && axis < kernel.size(); ++axis) {
    const int64_t end = ((*output)[axis + 2].value - 1) * window->strides[axis] + reach(*window, axis);
    window->after[axis] = std::max<int64_t>(end - window->before[axis] - (*sides)[axis], 0);
  }
  Shape ones = {input[1].value, 1};
  ones.insert(ones.end(), kernel.begin(), kernel.end());
  if (Done spent = spend_constant(builder_, ones); !spent) return spent.error();
  const std::vector<float> taps(static_cast<size_t>(element_count(ones)), 1.0f);
  Attributes64 attributes = attributes_of(*window, 0, kernel.size(), false);
  attributes["group"] = input[1].value;
  const auto sum = computed(node, "Conv", {*arguments[0], constant_of(node.name + " ones", ones, taps)}, attributes);
  return sum ? as_other(written(node, "Div", {*sum, *divisors})) : Rewritten(sum.error());
}

Expected<Known> Importer::pixels_of_windows(const Node& node, const Window& window, const Shape& sides,
                                            const Dims& output, bool with_padding) {
  Shape shape(2, 1);
  for (size_t axis = 0; axis < window.kernel.size(); ++axis)
    shape.push_back(sides.empty() ? 1 : output[axis + 2].value);
  if (Done spent = spend_constant(builder_, shape); !spent) return spent.error();
  std::vector<float> pixels{1.0f};  // along the axes so far
  for (size_t axis = 0; axis < window.kernel.size(); ++axis) {
    const int64_t taps = window.kernel[axis], dilation = window.dilations[axis];
    const int64_t begin = with_padding ? -window.before[axis] : 0;
    const int64_t end = sides.empty() ? 0 : sides[axis] + (with_padding ? window.after[axis] : 0);
    std::vector<float> products;
    for (const float before : pixels) {
      for (int64_t place = 0; place < shape[axis + 2]; ++place) {
        const int64_t first = place * window.strides[axis] - window.before[axis];
        // The first tap that is not before `limit`.
        const auto tap_at = [&](int64_t limit) {
          return std::clamp<int64_t>((limit - first + dilation - 1) / dilation, 0, taps);
        };
        const int64_t count = sides.empty() ? taps : tap_at(end) - tap_at(begin);
        products.push_back(before * static_cast<float>(count));
      }
    }
    pixels = std::move(products);
  }
  return constant_of(node.name + " pixels", shape, pixels);
}

Rewritten Importer::convolution_of_volumes(const Node& node, Arguments arguments) {
  if (!is_volume(arguments) || arguments.size() < 2 || !arguments[1]) return std::optional<Known>();
  const auto sides = known_shape(arguments[0]->shape), kernel = known_shape(arguments[1]->shape);
  if (!sides || !kernel || kernel->size() != 5)
    return unsupported("a side of its volume or its weight is unknown", kHowToNumberSides);
  const auto window = window_of(node, {kernel->begin() + 2, kernel->end()}, arguments[0]->shape);
  if (!window) return window.error();
  const int64_t taps = window->kernel[0], stride = window->strides[0], dilation = window->dilations[0];
  const int64_t front = window->before[0], back = window->after[0], depth_reach = reach(*window, 0);
  if ((*sides)[2] + front + back < depth_reach)
    return refused(
        fmt::format("a window of {} with dilation {} does not fit into a depth of {}", taps, dilation, (*sides)[2]));
  const int64_t places = ((*sides)[2] + front + back - depth_reach) / stride + 1;
  const auto list = [&](const char* name, const Sides& values) {
    return constant_of(fmt::format("{} {}", node.name, name), {std::ssize(values)}, values);
  };
  auto x = computed(*arguments[0]);
  if (x && (front > 0 || back > 0)) x = written(node, "Pad", {*x, list("pads", {0, 0, front, 0, 0, 0, 0, back, 0, 0})});
  if (x) x = written(node, "Transpose", {*x}, {{"perm", Sides{0, 2, 1, 3, 4}}});
  if (!x) return x.error();
  Sides first(static_cast<size_t>(taps));
  for (int64_t tap = 0; tap < taps; ++tap) first[static_cast<size_t>(tap)] = tap * dilation;
  const auto images = windows_along_depth(node, *x, first, places, stride);
  const auto weight =
      viewed(node, *arguments[1], {{(*kernel)[0]}, {(*kernel)[1] * taps}, {(*kernel)[3]}, {(*kernel)[4]}});
  if (!images || !weight) return images ? weight.error() : images.error();
  Attributes64 attributes = attributes_of(*window, 1, 3, false);
  if (const AttributeData* group = node.find("group")) attributes["group"] = *group;
  std::vector<Known> inputs{*images, *weight};
  if (arguments.size() > 2 && arguments[2]) inputs.push_back(*arguments[2]);
  const auto result = computed(node, "Conv", inputs, attributes);
  if (!result) return result.error();
  return as_other(volume_of(node, *result, places));
}

Expected<Known> Importer::windows_along_depth(const Node& node, const Known& input, const std::vector<int64_t>& first,
                                              int64_t places, int64_t stride) {
  const auto list = [&](const char* name, int64_t value) {
    return constant_of(fmt::format("{} {}", node.name, name), {1}, Sides{value});
  };
  const Dims sides = input.shape;
  std::vector<Known> windows;
  for (const int64_t from : first) {
    auto part = written(node, "Slice",
                        {input, list("from", from), list("to", from + (places - 1) * stride + 1), list("axis", 1),
                         list("step", stride)});
    if (part) part = viewed(node, *part, {sides[0], {places}, sides[2], {1}, sides[3], sides[4]});
    if (!part) return part;
    windows.push_back(*std::move(part));
  }
  const auto images =
      windows.size() == 1 ? Expected<Known>(windows.front()) : written(node, "Concat", windows, {{"axis", int64_t{3}}});
  if (!images) return images;
  const Number rows{sides[0].value * places}, channels{sides[2].value * std::ssize(first)};
  return viewed(node, *images, {rows, channels, sides[3], sides[4]});
}

Expected<Known> Importer::volume_of(const Node& node, const Known& images, int64_t places) {
  const Dims made = images.shape;
  const auto volume = viewed(node, images, {{made[0].value / places}, {places}, made[1], made[2], made[3]});
  return volume ? written(node, "Transpose", {*volume}, {{"perm", Sides{0, 2, 1, 3, 4}}}) : volume;
}

Rewritten Importer::transposed_convolution_of_volumes(const Node& node, Arguments arguments) {
  if (!is_volume(arguments) || arguments.size() < 2 || !arguments[1]) return std::optional<Known>();
  const auto sides = known_shape(arguments[0]->shape), kernel = known_shape(arguments[1]->shape);
  if (!sides || !kernel || kernel->size() != 5)
    return unsupported("a side of its volume or its weight is unknown", kHowToNumberSides);
  const auto window =
      transposed_window_of(node, {kernel->begin() + 2, kernel->end()}, arguments[0]->shape, builder_.opset);
  if (!window) return window.error();
  const int64_t taps = window->kernel[0], stride = window->strides[0], dilation = window->dilations[0];
  const int64_t front = window->before[0], back = window->after[0], more = window->more[0];
  const int64_t depth_reach = reach(*window, 0), depth = (*sides)[2];
  const int64_t before = depth_reach - 1 - front, after = depth_reach - 1 - back + more;
  const int64_t places = window->made(0, depth);
  if (depth < 1 || before < 0 || after < 0)
    return unsupported(
        fmt::format("its pads of {} and {} along depth exceed its window of {}", front, back, depth_reach));
  const auto pads = [&](const char* name, int64_t begin, int64_t end) {
    return constant_of(fmt::format("{} {}", node.name, name), {10}, Sides{0, begin, 0, 0, 0, 0, end, 0, 0, 0});
  };
  // [N, D, C, H, W], then `stride` images for each, then without those after the last.
  auto x = computed(*arguments[0]);
  if (x) x = written(node, "Transpose", {*x}, {{"perm", Sides{0, 2, 1, 3, 4}}});
  if (!x) return x.error();
  const Dims order = x->shape;
  if (stride > 1) {
    const Number all{(*sides)[0] * depth};
    x = viewed(node, *x, {all, {1}, order[2], order[3], order[4]});
    if (x) x = written(node, "Pad", {*x, pads("zeros", 0, stride - 1)});
    if (x) x = viewed(node, *x, {order[0], {depth * stride}, order[2], order[3], order[4]});
    if (!x) return x.error();
  }
  // The zeros after the last image are a part of the padding. Windows do not reach those that are too many.
  x = written(node, "Pad", {*x, pads("pads", before, std::max<int64_t>(after - (stride - 1), 0))});
  if (!x) return x.error();
  Sides first;
  for (int64_t tap = taps; tap-- > 0;) first.push_back(tap * dilation);
  const auto images = windows_along_depth(node, *x, first, places, 1);
  auto weight = written(node, "Transpose", {*arguments[1]}, {{"perm", Sides{0, 2, 1, 3, 4}}});
  if (weight) weight = viewed(node, *weight, {{(*kernel)[0] * taps}, {(*kernel)[1]}, {(*kernel)[3]}, {(*kernel)[4]}});
  if (!images || !weight) return images ? weight.error() : images.error();
  Attributes64 attributes = attributes_of(*window, 1, 3, false);
  if (const AttributeData* group = node.find("group")) attributes["group"] = *group;
  attributes["output_padding"] = Sides{window->more[1], window->more[2]};
  std::vector<Known> inputs{*images, *weight};
  if (arguments.size() > 2 && arguments[2]) inputs.push_back(*arguments[2]);
  const auto result = computed(node, "ConvTranspose", inputs, attributes);
  if (!result) return result.error();
  return as_other(volume_of(node, *result, places));
}

}  // namespace qgen::onnx
