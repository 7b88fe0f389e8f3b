// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/dims.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace qgen::onnx {

Dims dims_of(const Shape& shape) {
  Dims dims;
  for (const int64_t side : shape) dims.push_back({side});
  return dims;
}

std::optional<Shape> known_shape(const Dims& dims) {
  Shape shape;
  for (const Number& side : dims) {
    if (side.is_symbol) return std::nullopt;
    shape.push_back(side.value);
  }
  return shape;
}

std::string to_text(const Number& number) { return number.is_symbol ? "?" : std::to_string(number.value); }

std::string to_text(const Dims& dims) {
  std::vector<std::string> sides;
  for (const Number& side : dims) sides.push_back(to_text(side));
  return fmt::format("[{}]", fmt::join(sides, ", "));
}

Number Symbols::windowed(const Number& side, int64_t change, int64_t stride) {
  if (stride == 1 && change == -1) return side;
  const auto [found, is_new] = of_windows.emplace(std::tuple(side.value, change, stride), next);
  next += is_new ? 1 : 0;
  return {found->second, true};
}

std::optional<size_t> dimension_at(int64_t axis, size_t rank) {
  const int64_t dimension = axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
  if (dimension < 0 || dimension >= static_cast<int64_t>(rank)) return std::nullopt;
  return static_cast<size_t>(dimension);
}

Error no_axis(int64_t axis, size_t rank) {
  return refused(fmt::format("it names axis {}, and its input has rank {}", axis, rank));
}

bool is_one(const Number& number) { return !number.is_symbol && number.value == 1; }

Expected<Dims> broadcast(const Dims& a, const Dims& b) {
  Dims output(std::max(a.size(), b.size()), Number{1});
  for (size_t i = 0; i < output.size(); ++i) {
    const Number x = i < a.size() ? a[a.size() - 1 - i] : Number{1}, y = i < b.size() ? b[b.size() - 1 - i] : Number{1};
    const bool are_known = !x.is_symbol && !y.is_symbol;
    if (are_known && !is_one(x) && !is_one(y) && !(x == y))
      return refused(fmt::format("shapes {} and {} cannot be broadcast", to_text(a), to_text(b)));
    const bool is_other = is_one(x) || (x.is_symbol && !y.is_symbol && !is_one(y));
    output[output.size() - 1 - i] = is_other ? y : x;
  }
  return output;
}

Expected<Dims> joined(const Dims& a, const Dims& b, size_t axis, int64_t& next_symbol) {
  const auto refuse = [&] {
    return refused(fmt::format("{} and {} cannot be concatenated along axis {}", to_text(a), to_text(b), axis));
  };
  if (a.size() != b.size() || axis >= a.size()) return refuse();
  Dims output = a;
  for (size_t d = 0; d < a.size(); ++d) {
    const bool is_known = !a[d].is_symbol && !b[d].is_symbol;
    if (d == axis && is_known) {
      if (__builtin_add_overflow(a[d].value, b[d].value, &output[d].value)) return refuse();
    } else if (d == axis) {
      output[d] = {next_symbol++, true};
    } else if (is_known && !(a[d] == b[d])) {
      return refuse();
    } else if (a[d].is_symbol) {
      output[d] = b[d];
    }
  }
  return output;
}

// ---- reshaping ------------------------------------------------------------------------------------------------------

namespace {

// A product of numbers and symbols; a number that does not fit is negative.
struct Factors {
  int64_t number = 1;
  std::vector<int64_t> symbols = {};

  void multiply(const Number& side) {
    if (side.is_symbol) symbols.push_back(side.value);
    else if (__builtin_mul_overflow(number, side.value, &number)) number = -1;
  }
};

Factors factors_of(const Dims& dims) {
  Factors product;
  for (const Number& side : dims) product.multiply(side);
  std::ranges::sort(product.symbols);
  return product;
}

}  // namespace

Expected<Dims> reshaped(const Dims& input, const Dims& target, bool zero_copies, int64_t& next_symbol) {
  const auto refuse = [&] {
    return refused(fmt::format("{} cannot be reshaped to {}", to_text(input), to_text(target)));
  };
  Dims output = target, known;
  std::optional<size_t> rest;
  for (size_t i = 0; i < output.size(); ++i) {
    Number& side = output[i];
    if (!side.is_symbol && side.value == 0 && zero_copies) {
      if (i >= input.size()) return refuse();
      side = input[i];
    }
    if (!side.is_symbol && side.value < 0) {
      if (rest || side.value != -1) return refuse();
      rest = i;
    } else {
      known.push_back(side);
    }
  }
  const Factors all = factors_of(input), said = factors_of(known);
  if (all.number < 0 || said.number < 0) return refuse();
  std::vector<int64_t> left;
  std::ranges::set_difference(all.symbols, said.symbols, std::back_inserter(left));
  const bool symbols_fit = std::ranges::includes(all.symbols, said.symbols);
  if (rest) {
    if (symbols_fit && left.empty()) {
      if (said.number == 0 || all.number % said.number != 0) return refuse();
      output[*rest] = {all.number / said.number};
    } else if (symbols_fit && left.size() == 1 && all.number == said.number) {
      output[*rest] = {left.front(), true};
    } else {
      output[*rest] = {next_symbol++, true};
    }
  } else if (symbols_fit && left.empty() && all.number != said.number) {
    return refuse();
  }
  return output;
}

std::optional<std::vector<int64_t>> reshape_list(const Dims& input, const Dims& output) {
  std::vector<int64_t> list;
  bool has_rest = false;
  for (size_t i = 0; i < output.size(); ++i) {
    if (!output[i].is_symbol && output[i].value != 0) {
      list.push_back(output[i].value);
    } else if (i < input.size() && input[i] == output[i]) {
      list.push_back(0);  // keeps it
    } else if (!has_rest) {
      has_rest = true;
      list.push_back(-1);
    } else {
      return std::nullopt;
    }
  }
  return list;
}

// ---- windows --------------------------------------------------------------------------------------------------------

std::vector<int64_t> Window::padding() const {
  std::vector<int64_t> list = before;
  list.insert(list.end(), after.begin(), after.end());
  return list;
}

namespace {

constexpr int64_t kMostInWindow = int64_t{1} << 30;  // as operators have it

Expected<std::vector<int64_t>> list_of(const Node& node, std::string_view attribute, size_t count, int64_t otherwise) {
  std::vector<int64_t> list = node.integers(attribute);
  if (!node.find(attribute)) list.assign(count, otherwise);
  const bool fits = list.size() == count &&
                    std::ranges::all_of(list, [&](int64_t n) { return n >= otherwise && n <= kMostInWindow; });
  if (!fits)
    return refused(fmt::format("{} is [{}], and has {} numbers from {} to 2^30", attribute, fmt::join(list, ", "),
                               count, otherwise));
  return list;
}

int64_t reach(const Window& window, size_t axis) { return window.dilations[axis] * (window.kernel[axis] - 1) + 1; }

// SAME: as many places as the stride makes of the side alone.
Done pad_to_same(Window& window, const Dims& input, bool at_end) {
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const Number side = input[i + 2];
    if (side.is_symbol) return refused("auto_pad depends on an unknown dimension", kHowToNumberSides);
    const int64_t stride = window.strides[i], count = (side.value + stride - 1) / stride;
    const int64_t total = std::max<int64_t>((count - 1) * stride + reach(window, i) - side.value, 0);
    window.before[i] = at_end ? total / 2 : total - total / 2;
    window.after[i] = total - window.before[i];
  }
  return std::monostate{};
}

}  // namespace

Expected<Window> window_of(const Node& node, std::vector<int64_t> kernel, const Dims& input) {
  const size_t axes = kernel.size();
  if (input.size() != axes + 2)
    return refused(fmt::format("an input of shape {} cannot have a window of rank {}", to_text(input), axes));
  for (const Number& side : input) {
    if (!side.is_symbol && side.value > kMostInWindow)
      return refused(fmt::format("an input {} has a dimension of more than 2^30", to_text(input)));
  }
  if (const auto said = node.integers("kernel_shape"); node.find("kernel_shape") && said != kernel)
    return refused(fmt::format("its kernel_shape is [{}], and its weight has a window of [{}]", fmt::join(said, ", "),
                               fmt::join(kernel, ", ")));
  if (std::ranges::any_of(kernel, [](int64_t side) { return side < 1 || side > kMostInWindow; }))
    return refused(fmt::format("its window is [{}], and each number can be 1 to 2^30", fmt::join(kernel, ", ")));
  Window window{.kernel = std::move(kernel), .ceil = node.integer("ceil_mode", 0) != 0};
  auto strides = list_of(node, "strides", axes, 1);
  auto dilations = list_of(node, "dilations", axes, 1);
  auto pads = list_of(node, "pads", 2 * axes, 0);
  for (const auto* list : {&strides, &dilations, &pads}) {
    if (!*list) return list->error();
  }
  window.strides = *std::move(strides);
  window.dilations = *std::move(dilations);
  const auto middle = pads->begin() + static_cast<std::ptrdiff_t>(axes);
  window.before.assign(pads->begin(), middle);
  window.after.assign(middle, pads->end());
  const std::string_view way = node.word("auto_pad", "NOTSET");
  if (way == "SAME_UPPER" || way == "SAME_LOWER") {
    if (Done padded = pad_to_same(window, input, way == "SAME_UPPER"); !padded) return padded.error();
  } else if (way == "VALID") {
    window.before.assign(axes, 0);
    window.after.assign(axes, 0);
  } else if (way != "NOTSET") {
    return refused(fmt::format("its auto_pad is '{}'", way));
  }
  return window;
}

int64_t TransposedWindow::made(size_t axis, int64_t side) const {
  return (side - 1) * strides[axis] + reach(*this, axis) + more[axis] - before[axis] - after[axis];
}

namespace {

// How many pixels a transposed convolution removes from both ends of an axis to get the model's size.
void trim(Window& window, size_t axis, int64_t pixels, int64_t wanted, bool more_at_end) {
  const int64_t total = std::max<int64_t>(pixels - wanted, 0);
  window.before[axis] = more_at_end ? total / 2 : total - total / 2;
  window.after[axis] = total - window.before[axis];
}

}  // namespace

// auto_pad and output_shape say the number of pixels instead of the padding.
Expected<TransposedWindow> transposed_window_of(const Node& node, std::vector<int64_t> kernel, const Dims& input,
                                                int64_t opset) {
  Node explicit_node = node;
  const std::string_view way = node.word("auto_pad", "NOTSET");
  const bool is_same = way == "SAME_UPPER" || way == "SAME_LOWER";
  if (is_same) explicit_node.attributes.erase("auto_pad");
  auto plain = window_of(explicit_node, std::move(kernel), input);
  if (!plain) return plain.error();
  TransposedWindow window{*std::move(plain), node.integers("output_padding")};
  const std::vector<int64_t> pixels = node.integers("output_shape");
  // Where output_shape leaves an odd pixel over, SAME_UPPER alone has it at the end; until opset 10 it alone has not.
  const bool more_at_end = (way == "SAME_UPPER") == (opset >= 11);
  std::vector<int64_t>& more = window.more;
  if (!node.find("output_padding")) more.assign(window.kernel.size(), 0);
  const auto is_sound = [](int64_t n) { return n >= 0 && n <= kMostInWindow; };
  if (!std::ranges::all_of(more, is_sound) || !std::ranges::all_of(pixels, is_sound))
    return refused("output_padding or output_shape has a number below 0 or above 2^30");
  if (more.size() != window.kernel.size() || (node.find("output_shape") && pixels.size() != more.size()))
    return refused("output_padding or output_shape has not one number for each dimension of the window");
  for (size_t i = 0; i < more.size(); ++i) {
    const Number side = input[i + 2];
    const bool says_pixels = !pixels.empty() || is_same;
    if (side.is_symbol && says_pixels)
      return unsupported("its padding depends on an unknown dimension", kHowToNumberSides);
    if (side.is_symbol) continue;
    if (says_pixels) {
      const int64_t wanted = pixels.empty() ? side.value * window.strides[i] : pixels[i];
      window.before[i] = window.after[i] = 0;
      // More than there are is as though output_padding had said it.
      more[i] += std::max<int64_t>(wanted - window.made(i, side.value), 0);
      trim(window, i, window.made(i, side.value), wanted, pixels.empty() ? way == "SAME_UPPER" : more_at_end);
    }
    if (const int64_t left = window.made(i, side.value); left < 1)
      return refused(fmt::format("its output would have {} pixels along a dimension", left));
  }
  return window;
}

Expected<Dims> places(const Window& window, const Dims& input, Symbols& symbols) {
  Dims output(input.begin(), input.begin() + 2);
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const int64_t stride = window.strides[i], change = window.before[i] + window.after[i] - reach(window, i);
    if (input[i + 2].is_symbol) {
      const bool is_rounded_up = window.ceil && stride != 1;
      output.push_back(is_rounded_up ? symbols.fresh() : symbols.windowed(input[i + 2], change, stride));
      continue;
    }
    const int64_t side = input[i + 2].value, room = side + change;
    if (room < 0) return refused(fmt::format("a window of {} does not fit into {}", window.kernel[i], to_text(input)));
    int64_t count = room / stride + 1;
    // A last window that would begin past the image and its padding before it is left out.
    if (window.ceil && room % stride != 0) ++count;
    if (window.ceil && (count - 1) * stride >= side + window.before[i]) --count;
    output.push_back({count});
  }
  return output;
}

}  // namespace qgen::onnx
