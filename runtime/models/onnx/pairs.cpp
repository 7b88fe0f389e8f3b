// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// TopK and Scatter, by comparing elements in pairs. Each compares all elements along an axis with all others, and
// reduces the results. So the order of execution has no influence, and equal elements keep their order. This takes the
// square of the elements along the axis, so they may be some thousand.
#include <fmt/format.h>

#include <numeric>

#include "runtime/models/onnx/fold.h"
#include "runtime/models/onnx/written_out.h"

namespace qgen::onnx {
namespace {

constexpr int64_t kMostPairs = int64_t{1} << 25;  // i32 each: 128 MiB

// 0, 1, 2 ..., `count` of them along dimension `at` of `rank`.
Known counted(const std::string& name, int64_t count, size_t at, size_t rank) {
  std::vector<int32_t> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  Shape shape(rank, 1);
  shape[at] = count;
  return Known{std::make_shared<const Tensor>(tensor_of<int32_t>(ElementType::i32, shape, values, name)),
               dims_of(shape)};
}

// The shape with one more dimension of one element.
Dims with_one(Dims shape, size_t at) {
  shape.insert(shape.begin() + static_cast<ptrdiff_t>(at), Number{1});
  return shape;
}

Done check_pairs(int64_t elements, int64_t others) {
  if (others == 0 || elements <= kMostPairs / others) return std::monostate{};
  return unsupported(
      fmt::format("it compares {} elements with {} each, and can compare {} pairs", elements, others, kMostPairs));
}

// What a TopK takes: the first k elements along an axis of `side` elements.
struct Firsts {
  size_t axis;
  int64_t side, k;
};

Expected<Firsts> firsts_of(const Node& node, Arguments arguments) {
  const size_t rank = arguments[0]->shape.size();
  const auto sides = known_shape(arguments[0]->shape);
  if (!sides) return unsupported("a side of its input is unknown", kHowToNumberSides);
  const auto axis = dimension_at(node.integer("axis", -1), rank);
  if (!axis) return no_axis(node.integer("axis", -1), rank);
  // Up to opset 9 an attribute.
  const auto said =
      node.find("k") ? std::optional(std::vector<int64_t>{node.integer("k", 0)}) : list_at(node, "k", arguments, 1);
  if (!said || said->size() != 1) return unsupported("its k is not constant");
  const int64_t side = (*sides)[*axis], k = said->front();
  if (k < 0 || k > side) return refused(fmt::format("its k is {}, and there are {} elements along its axis", k, side));
  if (k == 0 || element_count(*sides) == 0) return unsupported("its result is empty");
  if (rank + 1 > kMaxRank) return unsupported(fmt::format("its input has rank {}", rank));
  if (Done fits = check_pairs(element_count(*sides), side); !fits) return fits.error();
  return Firsts{*axis, side, k};
}

// [side, side]: whether element j is to the left of element i.
Known left_of(std::string name, int64_t side) {
  Tensor left{std::move(name), ElementType::boolean, {side, side}, {}};
  for (int64_t i = 0; i < side; ++i)
    for (int64_t j = 0; j < side; ++j) left.data.push_back(std::byte{j < i});
  return {std::make_shared<const Tensor>(std::move(left)), dims_of({side, side})};
}

}  // namespace

// The rank of an element is the number of those that come before it: the greater ones, and equal ones to the left.
Done Importer::top_k(const Node& node) {
  const auto arguments = arguments_of(node);
  if (!arguments) return arguments.error();
  if (arguments->empty() || !arguments->front()) return refused("it has no input");
  const auto firsts = firsts_of(node, *arguments);
  if (!firsts) return firsts.error();
  const auto [axis, side, k] = *firsts;
  const size_t rank = arguments->front()->shape.size();

  // The axis is the last one.
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[axis], order.back());
  const bool turns = axis != rank - 1;
  const auto turned = [&](const Known& known) {
    return turns ? written(node, "Transpose", {known}, {{"perm", order}}) : Expected<Known>(known);
  };
  auto x = computed(*arguments->front());
  if (x) x = turned(*x);
  if (!x) return x.error();
  const auto others = seen_as(node, *x, with_one(x->shape, rank - 1)),
             ones = seen_as(node, *x, with_one(x->shape, rank));
  if (!others || !ones) return others ? ones.error() : others.error();
  auto before = computed(node, node.integer("largest", 1) != 0 ? "Greater" : "Less", {*others, *ones});
  auto equal = computed(node, "Equal", {*others, *ones});
  if (equal) equal = computed(node, "And", {*equal, left_of(node.name + " left", side)});
  if (before && equal) before = computed(node, "Or", {*before, *equal});
  if (before && equal) before = as_type(node, *before, ElementType::i32);
  if (!before || !equal) return before ? equal.error() : before.error();
  const auto ranks = reduced(node, "sum", *before, {static_cast<int64_t>(rank)}, false);
  if (!ranks) return ranks.error();

  const auto given = seen_as(node, *ranks, with_one(ranks->shape, rank - 1));
  if (!given) return given.error();
  auto indices = computed(node, "Equal", {*given, counted(node.name + " ranks", k, 0, 2)});
  if (indices) indices = as_type(node, *indices, ElementType::i32);
  if (indices) indices = computed(node, "Mul", {*indices, counted(node.name + " places", side, 0, 1)});
  if (indices) indices = reduced(node, "sum", *indices, {static_cast<int64_t>(rank)}, false);
  if (!indices) return indices.error();
  auto values = written(node, "GatherElements", {*x, *indices}, {{"axis", static_cast<int64_t>(rank - 1)}});
  if (values) values = turned(*values);
  if (!values) return values.error();
  auto places = turned(*indices);
  if (places) places = as_type(node, *places, ElementType::i64);
  if (!places) return places.error();
  known_.insert_or_assign(node.outputs[0], *std::move(values));
  if (node.outputs.size() > 1) known_.insert_or_assign(node.outputs[1], *std::move(places));
  return std::monostate{};
}

// Of each row of `data`, the last update that goes there, or all of them. `places` [m], `data` [n, r], `updates` [m, r].
Expected<Known> Importer::scattered(const Node& node, const Known& data, const Known& places, const Known& updates) {
  const int64_t n = data.shape[0].value, m = places.shape[0].value;
  if (Done fits = check_pairs(n, m); !fits) return fits.error();
  const std::string reduction(node.word("reduction", "none"));
  const auto row = seen_as(node, places, {{1}, {m}});
  if (!row) return row.error();
  const auto goes_there = computed(node, "Equal", {*row, counted(node.name + " rows", n, 0, 2)});
  if (!goes_there) return goes_there.error();
  if (reduction == "none") {
    auto last = computed(node, "Where", {*goes_there, counted(node.name + " updates", m, 1, 2), number(-1)});
    if (last) last = reduced(node, "maximum", *last, {1}, false);
    if (!last) return last.error();
    const Known first = number(0);
    const auto chosen = computed(node, "Max", {*last, first});
    if (!chosen) return chosen.error();
    const auto taken = computed(node, "Gather", {updates, *chosen}, {{"axis", int64_t{0}}});
    auto is_updated = computed(node, "GreaterOrEqual", {*last, first});
    if (is_updated) is_updated = seen_as(node, *is_updated, {{n}, {1}});
    if (!taken || !is_updated) return taken ? is_updated.error() : taken.error();
    return written(node, "Where", {*is_updated, *taken, data});
  }
  if (reduction != "add" && reduction != "mul" && reduction != "max" && reduction != "min")
    return refused(fmt::format("its reduction is '{}'", reduction));
  const int64_t r = data.shape[1].value;
  if (Done fits = check_pairs(n * m, r); !fits) return fits.error();
  const auto mask = seen_as(node, *goes_there, {{n}, {m}, {1}}), of_all = seen_as(node, updates, {{1}, {m}, {r}});
  if (!mask || !of_all) return mask ? of_all.error() : mask.error();
  const bool is_sum = reduction == "add", is_product = reduction == "mul", is_maximum = reduction == "max";
  // Without a scattered value, the neutral one: 0, 1, or the element itself.
  const auto none = is_sum || is_product
                        ? as_type(node, number(node.name + " none", is_product ? 1 : 0), element_type_of(data))
                        : seen_as(node, data, {{n}, {1}, {r}});
  if (!none) return none.error();
  auto all = computed(node, "Where", {*mask, *of_all, *none});
  if (all)
    all = reduced(node, is_sum ? "sum" : is_product ? "product" : is_maximum ? "maximum" : "minimum", *all, {1}, false);
  if (!all) return all.error();
  return written(node, is_sum ? "Add" : is_product ? "Mul" : is_maximum ? "Max" : "Min", {data, *all});
}

// Each position along the axis is a separate row: coordinates of all dimensions, one of which comes from the indices.
Rewritten Importer::scatter_elements(const Node& node, Arguments arguments) {
  if (arguments.size() < 3 || !arguments[1] || !arguments[2]) return refused("it has no indices, or no updates");
  const auto sides = known_shape(arguments[0]->shape), given = known_shape(arguments[1]->shape);
  if (!sides || !given) return unsupported("its sides are not known before the model runs", kHowToNumberSides);
  if (arguments[2]->shape != arguments[1]->shape || given->size() != sides->size() || sides->empty())
    return refused(fmt::format("its indices are {} and its updates {}, and its data {}", to_text(arguments[1]->shape),
                               to_text(arguments[2]->shape), to_text(arguments[0]->shape)));
  const auto axis = dimension_at(node.integer("axis", 0), sides->size());
  if (!axis) return no_axis(node.integer("axis", 0), sides->size());
  std::optional<Known> place;
  int64_t stride = 1;
  for (size_t d = sides->size(); d-- > 0;) {
    auto one =
        d == *axis
            ? as_type(node, *arguments[1], ElementType::i32)
            : Expected<Known>(counted(fmt::format("{} dimension {}", node.name, d), (*given)[d], d, sides->size()));
    if (one && d == *axis) one = computed(node, "Mod", {*one, number((*sides)[d])});
    if (one) one = computed(node, "Mul", {*one, number(stride)});
    if (one && place) one = computed(node, "Add", {*one, *place});
    if (!one) return one.error();
    place = *std::move(one);
    stride *= (*sides)[d];
  }
  return scattered_rows(node, arguments, *place, element_count(*given), stride, 1);
}

Rewritten Importer::scatter_nd(const Node& node, Arguments arguments) {
  if (arguments.size() < 3 || !arguments[1] || !arguments[2]) return refused("it has no indices, or no updates");
  const auto sides = known_shape(arguments[0]->shape), given = known_shape(arguments[1]->shape);
  if (!sides || !given || given->empty())
    return unsupported("its sides are not known before the model runs", kHowToNumberSides);
  const int64_t count = given->back();
  if (count < 1 || count > std::ssize(*sides))
    return refused(fmt::format("an index has {} coordinates, and its data are {}", count, to_text(*sides)));
  auto place = row_of_indices(node, *arguments[1], *sides);
  if (!place) return place.error();
  const int64_t rows = element_count(Shape(sides->begin(), sides->begin() + count));
  const int64_t each = element_count(Shape(sides->begin() + count, sides->end()));
  return scattered_rows(node, arguments, *place, element_count(Shape(given->begin(), given->end() - 1)), rows, each);
}

Rewritten Importer::scattered_rows(const Node& node, Arguments arguments, const Known& places, int64_t updates,
                                   int64_t rows, int64_t each) {
  if (rows == 0 || each == 0) return unsupported("its input is empty");
  if (updates == 0) return std::optional(*arguments[0]);
  const auto input = computed(*arguments[0]), values = computed(*arguments[2]);
  if (!input || !values) return input ? values.error() : input.error();
  const auto data = seen_as(node, *input, {{rows}, {each}}), by = seen_as(node, *values, {{updates}, {each}});
  const auto at = seen_as(node, places, {{updates}});
  if (!data || !by || !at) return !data ? data.error() : !by ? by.error() : at.error();
  auto result = scattered(node, *data, *at, *by);
  return as_other(result ? seen_as(node, *result, arguments[0]->shape) : result);
}

}  // namespace qgen::onnx
