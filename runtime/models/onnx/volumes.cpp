// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Convolutions and pools of volumes [N, C, D, H, W], as convolutions and pools of images. A pool of a volume is one of
// its images, and then one along its depth. A convolution has the images of a window as channels of one image:
//
//   x [N, C, D, H, W] -> for each place along depth the kD images of its window: [N * D', C * kD, H, W] -> Conv
//
// A transposed convolution is the same along depth, with zeros between the images of the input, and with the taps in
// reverse order; then a ConvTranspose of images.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/models/onnx/fold.h"
#include "runtime/models/onnx/written_out.h"

namespace qgen::onnx {
namespace {

using Sides = std::vector<int64_t>;
using Attributes64 = std::map<std::string, AttributeData, std::less<>>;

bool is_volume(Arguments arguments) { return !arguments.empty() && arguments[0] && arguments[0]->shape.size() == 5; }

// Of the three axes: [begin, begin + count) of an attribute of one number each, or two in `pads`.
void keep_axes(const Node& node, size_t begin, size_t count, Attributes64& attributes) {
  for (const char* name : {"kernel_shape", "strides", "dilations"}) {
    const Sides all = node.integers(name);
    if (all.size() == 3)
      attributes[name] =
          Sides(all.begin() + static_cast<ptrdiff_t>(begin), all.begin() + static_cast<ptrdiff_t>(begin + count));
  }
  const Sides pads = node.integers("pads");
  if (pads.size() != 6) return;
  Sides kept;
  for (size_t side = 0; side < 2; ++side) {
    for (size_t d = begin; d < begin + count; ++d) kept.push_back(pads[3 * side + d]);
  }
  attributes["pads"] = kept;
}

int64_t at_or(const Sides& list, size_t i, int64_t otherwise) { return i < list.size() ? list[i] : otherwise; }

}  // namespace

Rewritten Importer::pool_of_volumes(const Node& node, Arguments arguments) {
  if (!is_volume(arguments) || node.integers("kernel_shape").size() != 3) return std::optional<Known>();
  const bool is_mean = node.op == "AveragePool";
  Attributes64 images, depth;
  for (const char* name : {"auto_pad", "ceil_mode", "count_include_pad"}) {
    if (const AttributeData* data = node.find(name);
        data && (is_mean || std::string_view(name) != "count_include_pad")) {
      images[name] = *data;
      depth[name] = *data;
    }
  }
  keep_axes(node, 1, 2, images);
  // Along depth: images with one row for each depth, and all pixels as columns.
  keep_axes(node, 0, 1, depth);
  for (const char* name : {"kernel_shape", "strides", "dilations"}) {
    if (depth.contains(name)) std::get<Sides>(depth[name]).push_back(1);
  }
  if (depth.contains("pads")) {
    const Sides pads = std::get<Sides>(depth["pads"]);
    depth["pads"] = Sides{pads[0], 0, pads[1], 0};
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

Rewritten Importer::convolution_of_volumes(const Node& node, Arguments arguments) {
  if (!is_volume(arguments) || arguments.size() < 2 || !arguments[1]) return std::optional<Known>();
  const auto sides = known_shape(arguments[0]->shape), kernel = known_shape(arguments[1]->shape);
  if (!sides || !kernel || kernel->size() != 5)
    return unsupported("a side of its volume or its weight is unknown", kHowToNumberSides);
  if (node.word("auto_pad", "NOTSET") != "NOTSET" && node.word("auto_pad", "NOTSET") != "VALID")
    return unsupported("it has auto_pad, and volumes");
  const int64_t taps = (*kernel)[2], stride = at_or(node.integers("strides"), 0, 1);
  const int64_t dilation = at_or(node.integers("dilations"), 0, 1);
  const int64_t front = at_or(node.integers("pads"), 0, 0), back = at_or(node.integers("pads"), 3, 0);
  const int64_t reach = (taps - 1) * dilation + 1;
  if (taps < 1 || stride < 1 || dilation < 1 || front < 0 || back < 0 || (*sides)[2] + front + back < reach)
    return refused(
        fmt::format("a window of {} with dilation {} does not fit into a depth of {}", taps, dilation, (*sides)[2]));
  const int64_t places = ((*sides)[2] + front + back - reach) / stride + 1;
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
  Attributes64 attributes;
  keep_axes(node, 1, 2, attributes);
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
  const std::string_view auto_pad = node.word("auto_pad", "NOTSET");
  if ((auto_pad != "NOTSET" && auto_pad != "VALID") || node.find("output_shape"))
    return unsupported("it has auto_pad or output_shape, and volumes");
  const int64_t taps = (*kernel)[2], stride = at_or(node.integers("strides"), 0, 1);
  const int64_t dilation = at_or(node.integers("dilations"), 0, 1), more = at_or(node.integers("output_padding"), 0, 0);
  const int64_t front = at_or(node.integers("pads"), 0, 0), back = at_or(node.integers("pads"), 3, 0);
  const int64_t reach = (taps - 1) * dilation + 1, depth = (*sides)[2];
  if (taps < 1 || stride < 1 || dilation < 1 || front < 0 || back < 0 || more < 0 || depth < 1)
    return refused("its window, stride, dilation or padding along depth is out of range");
  const int64_t before = reach - 1 - front, after = reach - 1 - back + more;
  const int64_t places = (depth - 1) * stride + reach - front - back + more;
  if (before < 0 || after < 0 || places < 1)
    return unsupported(fmt::format("its pads of {} and {} along depth exceed its window of {}", front, back, reach));
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
  Attributes64 attributes;
  keep_axes(node, 1, 2, attributes);
  if (const AttributeData* group = node.find("group")) attributes["group"] = *group;
  if (const Sides out = node.integers("output_padding"); out.size() == 3)
    attributes["output_padding"] = Sides{out[1], out[2]};
  std::vector<Known> inputs{*images, *weight};
  if (arguments.size() > 2 && arguments[2]) inputs.push_back(*arguments[2]);
  const auto result = computed(node, "ConvTranspose", inputs, attributes);
  if (!result) return result.error();
  return as_other(volume_of(node, *result, places));
}

}  // namespace qgen::onnx
