// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Calls of specs/movement: how each operator changes the input's dimensions. docs/movement.md has the rules.
//
//   permute   strides in another order
//   slice     strides times steps, from another first element
//   expand    strides of 0
//   pad       sides that reach past the input
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "operators.h"
#include "runtime/engine/calls/placement.h"
#include "runtime/engine/operators/broadcast.h"
#include "runtime/engine/operators/divider.h"
#include "strided_copy.h"
#include "vocabulary/integer.h"

namespace qgen::generated::operators {
namespace {

using Numbers = std::vector<int64_t>;

// A dimension of the output, and of the input along it.
struct Along {
  int64_t side;
  int64_t stride;
  int64_t before = 0;  // the coordinate in the output minus the one in the input
  int64_t inside;      // the input's side
  bool is_padded() const { return before != 0 || inside != side; }
};

struct Moved {
  std::vector<Along> dimensions;  // outermost first
  int64_t first;                  // the position of the input's coordinates 0
  PadMode mode = PadMode::constant;
  double value = 0;
};

Moved all_of(const ViewedDesc& input) {
  Moved moved{{}, input.view.offset};
  for (size_t d = 0; d < input.view.shape.size(); ++d)
    moved.dimensions.push_back({input.view.shape[d], input.view.strides[d], 0, input.view.shape[d]});
  return moved;
}

Shape shape_of(const Moved& moved) {
  Shape shape;
  for (const Along& along : moved.dimensions) shape.push_back(along.side);
  return shape;
}

Done check_length(std::string_view name, const Numbers& list, const Shape& shape) {
  if (list.size() == shape.size()) return std::monostate{};
  return refused(fmt::format("{} has {} numbers, and the input of shape {} has {} dimensions", name, list.size(),
                             to_text(shape), shape.size()));
}

// ---- what kernels are told ------------------------------------------------------------------------------------------

// Completely inside the input: then the offset of the coordinates is in the first element.
void fold_offsets(Moved& moved) {
  for (Along& along : moved.dimensions) {
    if (along.before > 0 || along.side - along.before > along.inside) continue;
    moved.first -= along.before * along.stride;
    along.before = 0;
    along.inside = along.side;
  }
}

// Innermost first. Neighbours that are not padded become one where the outer goes on where the inner ends, and sides of
// 1 go.
std::vector<Along> merged(const std::vector<Along>& dimensions) {
  std::vector<Along> result;
  for (size_t d = dimensions.size(); d-- > 0;) {
    const Along& outer = dimensions[d];
    if (outer.side == 1 && !outer.is_padded()) continue;
    const bool goes_on = !result.empty() && !result.back().is_padded() && !outer.is_padded() &&
                         outer.stride == result.back().stride * result.back().side;
    if (goes_on) result.back().side = result.back().inside = result.back().side * outer.side;
    else result.push_back(outer);
  }
  return result;
}

// Whether four neighbours of the output are four of the input, from a multiple of four on.
bool are_quads(const std::vector<Along>& dimensions, int64_t first) {
  if (dimensions.empty() || dimensions[0].stride != 1 || dimensions[0].side % 4 != 0 || first % 4 != 0) return false;
  return std::ranges::none_of(dimensions, &Along::is_padded) &&
         std::all_of(dimensions.begin() + 1, dimensions.end(), [](const Along& a) { return a.stride % 4 == 0; });
}

uint32_t bits_of(DType dtype, double value) {
  HostTensor element = zeros(dtype, {});
  set_element(element, 0, value);
  uint32_t bits = 0;
  std::memcpy(&bits, element.data.data(), element.data.size());
  return bits;
}

int32_t i32(int64_t number) { return static_cast<int32_t>(static_cast<uint32_t>(number)); }

std::array<int32_t, kMaxRank> signed_numbers_of(const std::vector<Along>& dimensions, int64_t Along::*number) {
  std::array<int32_t, kMaxRank> numbers{};
  std::ranges::transform(dimensions, numbers.begin(), [&](const Along& along) { return i32(along.*number); });
  return numbers;
}

Expected<Call> call_of(const ViewedDesc& input, Moved moved) {
  const TensorDesc output{input.tensor.dtype, shape_of(moved)};
  if (Done size = check_size("output", output); !size) return size.error();
  std::vector<Along> dimensions;
  if (element_count(output.shape) > 0) {  // else sides may be past 32 bits
    fold_offsets(moved);
    dimensions = merged(moved.dimensions);
  }
  const strided_copy::Problem fields{
      .numel = u32(element_count(output.shape)),
      .rank = static_cast<uint32_t>(dimensions.size()),
      .strides = signed_numbers_of(dimensions, &Along::stride),
      .first = static_cast<uint32_t>(moved.first),
      .before = signed_numbers_of(dimensions, &Along::before),
      .inside = numbers_of(dimensions, &Along::inside),
      .dividers = dividers_of(dimensions),
      .is_quads = are_quads(dimensions, moved.first) ? 1u : 0u,
      .mode = moved.mode,
      .value = bits_of(output.dtype, moved.value),
  };
  return make_call(fields, {.input = input.tensor, .output = output});
}

// ---- slices ---------------------------------------------------------------------------------------------------------

// A place from the beginning or the end, within [least, most]: as NumPy does.
int64_t clamped(int64_t place, int64_t side, int64_t least, int64_t most) {
  const int64_t from_the_beginning = place < 0 ? (Integer(place) + side).value : place;
  return std::clamp(from_the_beginning, least, most);
}

Along sliced(const Along& along, int64_t start, int64_t end, int64_t step, int64_t& first) {
  const int64_t side = along.side, least = step > 0 ? 0 : -1, most = step > 0 ? side : side - 1;
  const int64_t from = clamped(start, side, least, most), to = clamped(end, side, least, most);
  const int64_t distance = step > 0 ? to - from : from - to;
  const int64_t stride_in_steps = step > 0 ? step : (-Integer(step)).value;
  const int64_t count = distance <= 0 ? 0 : (distance - 1) / stride_in_steps + 1;
  if (count == 0) return {0, 0, 0, 0};
  first += from * along.stride;
  // A single element has no stride, and a step that is so long may not be multiplied with one.
  return {count, count == 1 ? 0 : along.stride * step, 0, count};
}

// ---- pads -----------------------------------------------------------------------------------------------------------

constexpr int64_t kMostPadding = int64_t{1} << 30;  // so that kernels compute coordinates in 32 bits

Expected<Along> padded(size_t dimension, const Along& along, int64_t before, int64_t after, PadMode mode) {
  const auto is_too_far = [](int64_t number) { return number < -kMostPadding || number > kMostPadding; };
  if (is_too_far(before) || is_too_far(after) || is_too_far(along.side)) {
    return refused(fmt::format("dimension {} has {} elements and padding of {} and {}: each can be at most {}",
                               dimension, along.side, before, after, kMostPadding));
  }
  const int64_t side = along.side + before + after;
  if (side < 0) {
    return refused(fmt::format("dimension {} has {} elements, and padding of {} and {} removes more", dimension,
                               along.side, before, after));
  }
  const int64_t most = std::max(before, after), reach = mode == PadMode::reflect ? along.side - 1 : kMostPadding;
  if (side > 0 && mode != PadMode::constant && most > 0 && (along.side == 0 || most > reach)) {
    return refused(fmt::format("dimension {} has {} elements, too few for padding of {} and {} in mode {}", dimension,
                               along.side, before, after, mode == PadMode::edge ? "edge" : "reflect"));
  }
  return Along{side, along.stride, before, along.side};
}

}  // namespace

Expected<Call> infer(const PermuteInputs<Described>& inputs, const PermuteAttributes& attributes) {
  const ViewedDesc& input = inputs.input;
  const Moved all = all_of(input);
  Numbers permutation(all.dimensions.size());
  for (size_t d = 0; d < permutation.size(); ++d) permutation[d] = static_cast<int64_t>(permutation.size() - 1 - d);
  if (attributes.permutation) permutation = *attributes.permutation;
  if (Done length = check_length("permutation", permutation, input.view.shape); !length) return length.error();
  Moved moved{{}, all.first};
  std::vector<bool> is_taken(permutation.size());
  for (const int64_t d : permutation) {
    const auto i = static_cast<size_t>(d);
    if (i >= is_taken.size() || is_taken[i])
      return refused(fmt::format("permutation is {}, and must have each dimension once", to_text(permutation)));
    is_taken[i] = true;
    moved.dimensions.push_back(all.dimensions[i]);
  }
  return call_of(input, std::move(moved));
}

Expected<Call> infer(const SliceInputs<Described>& inputs, const SliceAttributes& attributes) {
  const ViewedDesc& input = inputs.input;
  const Shape& shape = input.view.shape;
  const Numbers &starts = attributes.starts, &ends = attributes.ends;
  const Numbers steps = attributes.steps.value_or(Numbers(shape.size(), 1));
  for (const auto& [name, list] : {std::pair{"starts", &starts}, {"ends", &ends}, {"steps", &steps}}) {
    if (Done length = check_length(name, *list, shape); !length) return length.error();
  }
  Moved moved = all_of(input);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (steps[d] == 0) return refused(fmt::format("steps is {}, and no step can be 0", to_text(steps)));
    moved.dimensions[d] = sliced(moved.dimensions[d], starts[d], ends[d], steps[d], moved.first);
  }
  return call_of(input, std::move(moved));
}

Expected<Call> infer(const ExpandInputs<Described>& inputs, const ExpandAttributes& attributes) {
  const ViewedDesc& input = inputs.input;
  const Numbers sizes = attributes.sizes.value_or(Numbers());
  if (const Done sane = check_shape(sizes); !sane) return sane.error();
  const auto shape = common_shape(input.view.shape, sizes);
  if (!shape) return shape.error();
  Moved moved = all_of(input);
  moved.dimensions.insert(moved.dimensions.begin(), shape->size() - moved.dimensions.size(), {1, 0, 0, 1});
  for (size_t d = 0; d < shape->size(); ++d) {
    Along& along = moved.dimensions[d];
    if (along.side != (*shape)[d]) along = {(*shape)[d], 0, 0, (*shape)[d]};
  }
  return call_of(input, std::move(moved));
}

Expected<Call> infer(const PadInputs<Described>& inputs, const PadAttributes& attributes) {
  const ViewedDesc& input = inputs.input;
  const Numbers &before = attributes.before, &after = attributes.after;
  for (const auto& [name, list] : {std::pair{"before", &before}, {"after", &after}}) {
    if (Done length = check_length(name, *list, input.view.shape); !length) return length.error();
  }
  Moved moved = all_of(input);
  moved.mode = attributes.mode;
  moved.value = attributes.value;
  for (size_t d = 0; d < before.size(); ++d) {
    const auto along = padded(d, moved.dimensions[d], before[d], after[d], attributes.mode);
    if (!along) return along.error();
    moved.dimensions[d] = *along;
  }
  return call_of(input, std::move(moved));
}

}  // namespace qgen::generated::operators
