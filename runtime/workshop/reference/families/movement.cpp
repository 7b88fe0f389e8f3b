// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// docs/movement.md as plain loops: for each element of the output, its coordinate, and the input's element there.
#include <algorithm>
#include <functional>

#include "runtime/engine/calls/attributes.h"
#include "runtime/workshop/reference/affine.h"
#include "runtime/workshop/reference/cache_slots.h"
#include "runtime/workshop/reference/rows.h"
#include "words.h"

namespace qgen::reference {
namespace {

using generated::words::PadMode;
using Coordinate = std::vector<int64_t>;  // outermost first

Coordinate coordinate_of(int64_t index, const Shape& shape) {
  Coordinate at(shape.size());
  for (size_t d = shape.size(); d-- > 0; index /= shape[d]) at[d] = index % shape[d];
  return at;
}

int64_t index_of(const Coordinate& at, const Shape& shape) {
  int64_t index = 0;
  for (size_t d = 0; d < shape.size(); ++d) index = index * shape[d] + at[d];
  return index;
}

void move_element(HostTensor& output, int64_t to, const HostTensor& input, int64_t from) {  // bits, of NaN too
  const auto bytes_each = static_cast<ptrdiff_t>(bytes(input.dtype));
  const auto begin = input.data.begin() + from * bytes_each;
  std::copy(begin, begin + bytes_each, output.data.begin() + to * bytes_each);
}

// What `source` makes of a coordinate of the output: one of the input, or none where an element is `value`.
using Source = std::function<std::optional<Coordinate>(Coordinate)>;
Tensors moved(const HostTensor& input, const Shape& shape, const Source& source, double value = 0) {
  HostTensor output = zeros(input.dtype, shape);
  for (int64_t i = 0; i < element_count(shape); ++i) {
    set_element(output, i, value);
    if (const auto from = source(coordinate_of(i, shape))) move_element(output, i, input, index_of(*from, input.shape));
  }
  return {{"output", std::move(output)}};
}

using List = std::vector<int64_t>;

Tensors permute(const Request& request) {
  const HostTensor& input = request.inputs.at("input");
  List permutation;
  for (size_t d = input.shape.size(); d-- > 0;) permutation.push_back(static_cast<int64_t>(d));
  permutation = find_attribute<List>(request, "permutation").value_or(permutation);
  Shape shape;
  for (const int64_t d : permutation) shape.push_back(input.shape[static_cast<size_t>(d)]);
  return moved(input, shape, [&](const Coordinate& at) {
    Coordinate from(at.size());
    for (size_t d = 0; d < at.size(); ++d) from[static_cast<size_t>(permutation[d])] = at[d];
    return from;
  });
}

// The places that a slice of one dimension has, one by one.
List places_of(int64_t side, int64_t start, int64_t end, int64_t step) {
  const auto from_the_beginning = [&](int64_t place) { return place < 0 ? place + side : place; };
  List places;
  const int64_t least = step > 0 ? 0 : -1, most = step > 0 ? side : side - 1;
  const int64_t from = std::clamp(from_the_beginning(start), least, most);
  const int64_t to = std::clamp(from_the_beginning(end), least, most);
  for (int64_t place = from; step > 0 ? place < to : place > to; place += step) places.push_back(place);
  return places;
}

Tensors slice(const Request& request) {
  const HostTensor& input = request.inputs.at("input");
  const List starts = attribute<List>(request, "starts"), ends = attribute<List>(request, "ends");
  const List steps = find_attribute<List>(request, "steps").value_or(List(starts.size(), 1));
  std::vector<List> places;
  Shape shape;
  for (size_t d = 0; d < input.shape.size(); ++d) {
    places.push_back(places_of(input.shape[d], starts[d], ends[d], steps[d]));
    shape.push_back(static_cast<int64_t>(places[d].size()));
  }
  return moved(input, shape, [&](Coordinate at) {
    for (size_t d = 0; d < at.size(); ++d) at[d] = places[d][static_cast<size_t>(at[d])];
    return at;
  });
}

Tensors expand(const Request& request) {
  const HostTensor& input = request.inputs.at("input");
  Shape shape = find_attribute<List>(request, "sizes").value_or(List());
  if (shape.size() < input.shape.size()) shape.insert(shape.begin(), input.shape.size() - shape.size(), 1);
  const size_t missing = shape.size() - input.shape.size();
  for (size_t d = 0; d < input.shape.size(); ++d) {
    if (shape[missing + d] == 1) shape[missing + d] = input.shape[d];
  }
  return moved(input, shape, [&](const Coordinate& at) {
    Coordinate from(at.begin() + static_cast<ptrdiff_t>(missing), at.end());
    for (size_t d = 0; d < from.size(); ++d) {
      if (input.shape[d] == 1) from[d] = 0;
    }
    return from;
  });
}

Tensors pad(const Request& request) {
  const HostTensor& input = request.inputs.at("input");
  const List before = attribute<List>(request, "before"), after = attribute<List>(request, "after");
  const auto mode = word_attribute<PadMode>(request, "mode", generated::words::kPadMode);
  Shape shape = input.shape;
  for (size_t d = 0; d < shape.size(); ++d) shape[d] += before[d] + after[d];
  const Source source = [&](Coordinate at) -> std::optional<Coordinate> {
    for (size_t d = 0; d < at.size(); ++d) {
      const int64_t last = input.shape[d] - 1;
      at[d] -= before[d];
      if (at[d] >= 0 && at[d] <= last) continue;
      if (mode == PadMode::constant) return std::nullopt;
      if (mode == PadMode::edge) at[d] = at[d] < 0 ? 0 : last;
      else at[d] = at[d] < 0 ? -at[d] : 2 * last - at[d];
    }
    return at;
  };
  return moved(input, shape, source, attribute<double>(request, "value"));
}

// Of inputs input_1, input_2, ...: the first that still has a place along the axis, once those before it are passed.
Tensors concat(const Request& request) {
  const HostTensor& first = request.inputs.at("input_1");
  const auto axis = attribute<int64_t>(request, "axis");
  const auto d = static_cast<size_t>(axis < 0 ? axis + std::ssize(first.shape) : axis);
  Shape shape = first.shape;
  shape[d] = 0;
  for (const auto& [name, input] : request.inputs) shape[d] += input.shape[d];
  HostTensor output = zeros(first.dtype, shape);
  for (int64_t i = 0; i < element_count(shape); ++i) {
    Coordinate at = coordinate_of(i, shape);
    auto part = request.inputs.begin();
    for (; at[d] >= part->second.shape[d]; ++part) at[d] -= part->second.shape[d];
    move_element(output, i, part->second, index_of(at, part->second.shape));
  }
  return {{"output", std::move(output)}};
}

// Of an index outside of the dimension: zero.
void move_gathered(HostTensor& output, int64_t to, const HostTensor& input, Coordinate from, size_t axis,
                   double index) {
  const int64_t side = input.shape[axis];
  from[axis] = static_cast<int64_t>(index) + (index < 0 ? side : 0);
  if (from[axis] >= 0 && from[axis] < side) move_element(output, to, input, index_of(from, input.shape));
}

size_t gathered_axis(const Request& request, const HostTensor& input) {
  const auto axis = attribute<int64_t>(request, "axis");
  return static_cast<size_t>(axis < 0 ? axis + std::ssize(input.shape) : axis);
}

Tensors gather(const Request& request) {
  const HostTensor &input = request.inputs.at("input"), &indices = request.inputs.at("indices");
  const size_t axis = gathered_axis(request, input);
  const auto before = input.shape.begin() + static_cast<ptrdiff_t>(axis);
  Shape shape(input.shape.begin(), before);
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), before + 1, input.shape.end());
  HostTensor output = zeros(input.dtype, shape);
  for (int64_t i = 0; i < element_count(shape); ++i) {
    const Coordinate at = coordinate_of(i, shape);
    const auto middle = at.begin() + static_cast<ptrdiff_t>(axis);
    const auto behind = middle + std::ssize(indices.shape);
    Coordinate from(at.begin(), middle);
    from.push_back(0);
    from.insert(from.end(), behind, at.end());
    move_gathered(output, i, input, from, axis, element(indices, index_of({middle, behind}, indices.shape)));
  }
  return {{"output", std::move(output)}};
}

Tensors gather_elements(const Request& request) {
  const HostTensor &input = request.inputs.at("input"), &indices = request.inputs.at("indices");
  const size_t axis = gathered_axis(request, input);
  HostTensor output = zeros(input.dtype, indices.shape);
  for (int64_t i = 0; i < element_count(indices.shape); ++i)
    move_gathered(output, i, input, coordinate_of(i, indices.shape), axis, element(indices, i));
  return {{"output", std::move(output)}};
}

// The cache `name` with the new rows [B, S, M, D] of `rows` in it, from `first` on in each batch.
HostTensor with_rows(const Request& request, const char* name, const HostTensor& rows, const List& firsts) {
  HostTensor cache = request.inputs.at(name);
  for (int64_t i = 0; i < element_count(rows.shape); ++i) {
    const Coordinate at = coordinate_of(i, rows.shape);
    const auto slot = slot_of(request, cache.shape, at[0], firsts[static_cast<size_t>(at[0])] + at[1]);
    if (slot) move_element(cache, index_of({slot->matrix, at[2], slot->row, at[3]}, cache.shape), rows, i);
  }
  return cache;
}

// Where the new rows begin in each batch, and how many keys there are then.
struct Placement {
  List firsts;
  HostTensor lengths;
};
Placement placement_of(const Request& request) {
  const HostTensor& cache = request.inputs.at("key_cache");
  const int64_t batches = request.inputs.at("key").shape[0], rows = request.inputs.at("key").shape[1];
  Placement placement{{}, zeros(DType::i32, {batches})};
  for (int64_t batch = 0; batch < batches; ++batch) {
    const auto last = static_cast<int64_t>(element(request.inputs.at("last"), batch));
    placement.firsts.push_back(std::max<int64_t>(last, std::max<int64_t>(rows - 1, 0)) - (rows - 1));
    set_element(placement.lengths, batch,
                static_cast<double>(std::min(placement.firsts.back() + rows, capacity_of(request, cache.shape))));
  }
  return placement;
}

Tensors cache_write(const Request& request) {
  auto [firsts, lengths] = placement_of(request);
  return {{"keys", with_rows(request, "key_cache", request.inputs.at("key"), firsts)},
          {"values", with_rows(request, "value_cache", request.inputs.at("value"), firsts)},
          {"lengths", std::move(lengths)}};
}

Tensors cache_write_q8rs(const Request& request) {
  auto [firsts, lengths] = placement_of(request);
  const QuantizedRows keys = quantized_rows(request.inputs.at("key"));
  const QuantizedRows values = quantized_rows(request.inputs.at("value"));
  Shape shape = keys.scales.shape;
  shape.push_back(2);
  HostTensor scales = zeros(DType::f32, shape);
  for (int64_t i = 0; i < element_count(keys.scales.shape); ++i) {
    move_element(scales, 2 * i, keys.scales, i);
    move_element(scales, 2 * i + 1, values.scales, i);
  }
  return {{"keys", with_rows(request, "key_cache", keys.codes, firsts)},
          {"values", with_rows(request, "value_cache", values.codes, firsts)},
          {"scales", with_rows(request, "scale_cache", scales, firsts)},
          {"lengths", std::move(lengths)}};
}

}  // namespace

std::span<const Row> movement_rows() {
  static constexpr Row kRows[] = {
      {"cache_write", cache_write},
      {"cache_write_paged", cache_write},
      {"cache_write_paged_q8rs", cache_write_q8rs},
      {"cache_write_q8rs", cache_write_q8rs},
      {"concat", concat},
      {"gather", gather},
      {"gather_elements", gather_elements},
      {"expand", expand},
      {"pad", pad},
      {"permute", permute},
      {"slice", slice},
  };
  return kRows;
}

}  // namespace qgen::reference
