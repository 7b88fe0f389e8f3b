// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Nodes that are several others, as ONNX defines them: losses, triangles, indices as rows of 0 and 1.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/models/onnx/fold.h"
#include "runtime/models/onnx/written_out.h"

namespace qgen::onnx {

// ---- losses ---------------------------------------------------------------------------------------------------------

// -weight[target] * input[n, target, ...], with 0 for the ignored targets; then no reduction, the sum, or the weighted
// mean.
Rewritten Importer::negative_log_likelihood(const Node& node, Arguments arguments) {
  if (arguments.size() < 2 || !arguments[1] || arguments[0]->shape.size() < 2)
    return refused("it has no target, or an input of less than two dimensions");
  const auto input = computed(*arguments[0]);
  if (!input) return input.error();
  const Known target = *arguments[1];
  const std::string reduction(node.word("reduction", "mean"));
  const bool has_weight = arguments.size() > 2 && arguments[2];
  const bool ignores = node.find("ignore_index") != nullptr;
  const Dims shape = target.shape;
  Dims lies = shape;
  lies.insert(lies.begin() + 1, {1});
  const auto seen = target.tensor() ? written(node, "Unsqueeze",
                                              {target, constant_of(node.name + " axes", {1}, std::vector<int64_t>{1})})
                                    : seen_as(node, target, lies);
  if (!seen) return seen.error();
  auto loss = written(node, "GatherElements", {*input, *seen}, {{"axis", int64_t{1}}});
  if (loss) loss = seen_as(node, *loss, shape);
  if (loss) loss = written(node, "Neg", {*loss});
  if (!loss) return loss.error();
  std::optional<Known> weights;
  if (has_weight) {
    const auto of_targets = written(node, "Gather", {*arguments[2], target}, {{"axis", int64_t{0}}});
    if (!of_targets) return of_targets.error();
    weights = *of_targets;
  }
  if (ignores) {
    const auto is_ignored = written(
        node, "Equal", {target, constant_of(node.name + " ignored", {}, std::vector{node.integer("ignore_index", 0)})});
    const Known others = weights ? *weights : number(node.name + " one", 1);
    const auto chosen =
        is_ignored ? written(node, "Where", {*is_ignored, number(node.name + " zero", 0), others}) : is_ignored;
    if (!chosen) return chosen.error();
    weights = *chosen;
  }
  if (weights) loss = written(node, "Mul", {*loss, *weights});
  if (!loss || reduction == "none") return as_other(std::move(loss));
  if (reduction == "mean" && !weights)
    return as_other(written(node, "ReduceMean", {*loss}, {{"keepdims", int64_t{0}}}));
  const auto sum = written(node, "ReduceSum", {*loss}, {{"keepdims", int64_t{0}}});
  if (!sum || reduction == "sum") return as_other(sum);
  const auto weight = written(node, "ReduceSum", {*weights}, {{"keepdims", int64_t{0}}});
  if (!weight) return weight.error();
  return as_other(written(node, "Div", {*sum, *weight}));
}

// The loss above of the logarithm of a softmax along dimension 1.
Rewritten Importer::softmax_cross_entropy(const Node& node, Arguments arguments) {
  const size_t rank = arguments[0]->shape.size();
  if (rank < 2) return refused("its scores have less than two dimensions");
  const auto x = computed(*arguments[0]);
  if (!x) return x.error();
  const auto sum = reduced(node, "log_sum_exp", *x, {1}, true);
  if (!sum) return sum.error();
  const auto inputs = computed(node, "Sub", {*x, *sum});
  if (!inputs) return inputs.error();
  if (node.outputs.size() > 1 && !node.outputs[1].empty()) known_.insert_or_assign(node.outputs[1], *inputs);
  std::vector<const Known*> pointers(arguments.begin(), arguments.end());
  pointers[0] = &*inputs;
  return negative_log_likelihood(node, pointers);
}

Expected<std::optional<std::vector<Known>>> Importer::further_results(const Node& node, Arguments arguments) {
  using Results = std::optional<std::vector<Known>>;
  if (node.op == "SoftmaxCrossEntropyLoss") return Results(std::vector<Known>());  // it knows its own
  if (arguments.empty() || !arguments[0]) return Results();
  if (node.op == "Dropout") {  // the kept part: everything
    const auto shape = known_shape(arguments[0]->shape);
    if (!shape) return Results();
    Tensor kept{node.name + " mask", ElementType::boolean, *shape,
                std::vector<std::byte>(static_cast<size_t>(element_count(*shape)), std::byte{1})};
    return Results({Known{std::make_shared<const Tensor>(std::move(kept)), arguments[0]->shape}});
  }
  if (node.op != "LayerNormalization" || node.integer("stash_type", 1) != 1) return Results();
  const size_t rank = arguments[0]->shape.size();
  const auto axis = dimension_at(node.integer("axis", -1), rank);
  if (!axis) return Results();
  std::vector<int64_t> axes(rank - *axis);
  std::iota(axes.begin(), axes.end(), static_cast<int64_t>(*axis));
  const auto x = computed(*arguments[0]);
  if (!x) return x.error();
  const auto mean = reduced(node, "mean", *x, axes, true);
  if (!mean) return mean.error();
  auto factor = computed(node, "Sub", {*x, *mean});
  if (factor) factor = computed(node, "Mul", {*factor, *factor});
  if (factor) factor = reduced(node, "mean", *factor, axes, true);
  if (factor) factor = computed(node, "Add", {*factor, number(node.name + " epsilon", node.real("epsilon", 1e-5f))});
  if (factor) factor = written(node, "Sqrt", {*factor});
  if (factor) factor = written(node, "Reciprocal", {*factor});
  if (!factor) return factor.error();
  return Results({*mean, *factor});
}

// ---- triangles, rows of 0 and 1 -------------------------------------------------------------------------------------

Rewritten Importer::triangle(const Node& node, Arguments arguments) {
  const Dims& shape = arguments[0]->shape;
  const auto sides = shape.size() >= 2 ? known_shape({shape.end() - 2, shape.end()}) : std::nullopt;
  if (!sides) return unsupported("its last two sides are not known before the model runs", kHowToNumberSides);
  int64_t k = 0;
  if (arguments.size() > 1 && arguments[1]) {
    const auto said = list_at(node, "", arguments, 1);
    if (!said || said->size() != 1) return unsupported("its k is not constant");
    k = said->front();
  }
  const bool is_upper = node.integer("upper", 1) != 0;
  Tensor mask{node.name + " mask", ElementType::boolean, *sides, {}};
  for (int64_t row = 0; row < (*sides)[0]; ++row) {
    for (int64_t column = 0; column < (*sides)[1]; ++column)
      mask.data.push_back(std::byte{is_upper ? column - row >= k : column - row <= k});
  }
  const Known stays{std::make_shared<const Tensor>(std::move(mask)), dims_of(*sides)};
  const auto elements = elements_of(*arguments[0]);
  if (!elements) return elements.error();
  const ElementType type = element_type_of(*arguments[0]);
  Known zero = number(node.name + " zero", 0);
  if (!is_real(type))
    zero.what = std::make_shared<const Tensor>(
        Tensor{node.name + " zero", type, {}, std::vector<std::byte>(static_cast<size_t>(bytes(type)))});
  return as_other(written(node, "Where", {stays, *arguments[0], zero}));
}

// values[1] where a place along the new axis is the index, else values[0].
Rewritten Importer::one_hot(const Node& node, Arguments arguments) {
  if (arguments.size() != 3 || !arguments[1] || !arguments[2]) return refused("it does not have three inputs");
  const auto depth = arguments[1]->tensor();
  if (!depth || depth->size() != 1) return unsupported("its depth is not constant");
  const auto count = is_real(depth->type) ? static_cast<int64_t>(depth->real(0)) : depth->integer(0);
  if (count < 1 || count > 1 << 20) return refused(fmt::format("its depth is {}, and can be 1 to 2^20", count));
  const size_t rank = arguments[0]->shape.size() + 1;
  const int64_t said = node.integer("axis", -1);
  const auto axis = dimension_at(said, rank);
  if (!axis) return no_axis(said, rank);
  const auto whole = as_type(node, *arguments[0], ElementType::i32);
  if (!whole) return whole.error();
  // Below 0, indices count from the end.
  auto index = written(node, "Mod", {*whole, number(count)});
  const auto is_inside = index ? written(node, "Less", {*whole, number(count)}) : index;
  const auto is_above = is_inside ? written(node, "GreaterOrEqual", {*whole, number(-count)}) : is_inside;
  if (!is_above) return is_above.error();
  const auto fits = written(node, "And", {*is_inside, *is_above});
  if (fits) index = written(node, "Where", {*fits, *index, number(-1)});
  if (!fits || !index) return fits ? index.error() : fits.error();
  Dims lies = arguments[0]->shape;
  lies.insert(lies.begin() + static_cast<std::ptrdiff_t>(*axis), {1});
  index = seen_as(node, *index, lies);
  if (!index) return index.error();
  std::vector<int64_t> places(static_cast<size_t>(count));
  std::iota(places.begin(), places.end(), 0);
  Shape along(rank - *axis, 1);
  along[0] = count;
  const auto is_it = written(node, "Equal", {*index, constant_of(node.name + " places", along, places)});
  if (!is_it) return is_it.error();
  std::vector<Known> values;
  for (const int64_t place : {0, 1}) {
    auto value = written(node, "Gather", {*arguments[2], number(place)}, {{"axis", int64_t{0}}});
    if (!value) return value.error();
    values.push_back(*std::move(value));
  }
  return as_other(written(node, "Where", {*is_it, values[1], values[0]}));
}

// A product with a triangle of ones, along the last axis.
Rewritten Importer::cumulative_sum(const Node& node, Arguments arguments) {
  const auto said = arguments.size() > 1 && arguments[1] ? list_at(node, "", arguments, 1) : std::nullopt;
  if (!said || said->size() != 1) return unsupported("its axis is not constant");
  const size_t rank = arguments[0]->shape.size();
  const auto axis = dimension_at(said->front(), rank);
  if (!axis) return no_axis(said->front(), rank);
  const Number side = arguments[0]->shape[*axis];
  if (side.is_symbol) return unsupported("the side along its axis is not known", kHowToNumberSides);
  if (!is_real(element_type_of(*arguments[0]))) return unsupported("its input is of integers");
  constexpr int64_t kMostSide = 4096;
  if (side.value > kMostSide)
    return unsupported(fmt::format("its axis has {} elements, and can have {}", side.value, kMostSide));
  const bool is_exclusive = node.integer("exclusive", 0) != 0, is_reverse = node.integer("reverse", 0) != 0;
  std::vector<float> ones;
  for (int64_t from = 0; from < side.value; ++from) {
    for (int64_t to = 0; to < side.value; ++to) {
      const int64_t ahead = is_reverse ? from - to : to - from;
      ones.push_back(ahead > 0 || (ahead == 0 && !is_exclusive) ? 1 : 0);
    }
  }
  const auto input = computed(*arguments[0]);
  if (!input) return input.error();
  const Known triangle = constant_of(node.name + " triangle", {side.value, side.value}, ones);
  const auto sides = known_shape(input->shape);
  constexpr int64_t kMostTerms = int64_t{1} << 22;  // f32 each: 16 MiB
  if (sides && element_count(*sides) * side.value <= kMostTerms)
    return as_other(sum_of_chosen(node, *input, *axis, triangle));
  builder_.note(node.name, "becomes a product with a triangle of ones, in which an infinity makes other sums NaN");
  return as_other(product_along(node, *input, *axis, triangle));
}

// Of [A, n, 1, B], with a mask [n, n, 1].
Expected<Known> Importer::sum_of_chosen(const Node& node, const Known& input, size_t axis, const Known& matrix) {
  const auto at = input.shape.begin() + static_cast<std::ptrdiff_t>(axis);
  const auto count = [](auto first, auto last) { return Number{element_count(*known_shape({first, last}))}; };
  const auto terms = viewed(node, input, {count(input.shape.begin(), at), *at, {1}, count(at + 1, input.shape.end())});
  if (!terms) return terms;
  Tensor mask{matrix.tensor()->name, ElementType::boolean, {at->value, at->value, 1}, {}};
  for (int64_t i = 0; i < matrix.tensor()->size(); ++i) mask.data.push_back(std::byte{matrix.tensor()->real(i) != 0});
  const Known is_chosen{std::make_shared<const Tensor>(std::move(mask)), {*at, *at, {1}}};
  auto chosen = computed(node, "Where", {is_chosen, *terms, number(node.name + " none", 0)});
  if (chosen) chosen = reduced(node, "sum", *chosen, {1}, false);
  return chosen ? viewed(node, *chosen, input.shape) : chosen;
}

Expected<Known> Importer::row_of_indices(const Node& node, const Known& given, const Shape& sides) {
  const auto indices = as_type(node, given, ElementType::i32);
  if (!indices) return indices.error();
  // A coordinate below 0 counts from the end; then coordinate by coordinate a sum of products.
  std::optional<Known> place;
  int64_t stride = 1;
  for (int64_t d = given.shape.back().value; d-- > 0;) {
    const int64_t side = sides[static_cast<size_t>(d)];
    auto one = written(node, "Gather", {*indices, number(d)}, {{"axis", std::ssize(given.shape) - 1}});
    if (one) one = written(node, "Mod", {*one, number(side)});
    if (one) one = written(node, "Mul", {*one, number(stride)});
    if (one && place) one = written(node, "Add", {*one, *place});
    if (!one) return one.error();
    place = *std::move(one);
    stride *= side;
  }
  return *std::move(place);
}

Rewritten Importer::gather_nd(const Node& node, Arguments arguments) {
  if (arguments.size() != 2 || !arguments[1]) return refused("it has no indices");
  const Dims& shape = arguments[1]->shape;
  if (node.integer("batch_dims", 0) == 0 && !shape.empty() && is_one(shape.back()) && !arguments[0]->shape.empty()) {
    // One coordinate is the number of a row.
    const auto rows = viewed(node, *arguments[1], Dims(shape.begin(), shape.end() - 1));
    if (!rows) return rows.error();
    return as_other(written(node, "Gather", {*arguments[0], *rows}, {{"axis", int64_t{0}}}));
  }
  const auto sides = known_shape(arguments[0]->shape), of_indices = known_shape(shape);
  if (!sides || !of_indices || of_indices->empty())
    return unsupported("its sides are not known before the model runs", kHowToNumberSides);
  const int64_t batches = node.integer("batch_dims", 0), count = of_indices->back();
  if (batches < 0 || count < 1 || batches + count > std::ssize(*sides) || batches >= std::ssize(*of_indices))
    return refused(fmt::format("its batch_dims is {}, an index has {} coordinates, and its data are {}", batches, count,
                               to_text(*sides)));
  if (!std::equal(sides->begin(), sides->begin() + batches, of_indices->begin()))
    return refused(fmt::format("its data are {}, and its indices {}, with a batch_dims of {}", to_text(*sides),
                               to_text(*of_indices), batches));
  const auto coordinates = sides->begin() + batches;
  auto place = row_of_indices(node, *arguments[1], Shape(coordinates, coordinates + count));
  const int64_t rows_of_batch = element_count(Shape(coordinates, coordinates + count));
  const Shape batch(sides->begin(), coordinates);
  if (place && batches > 0) {
    // Each batch has rows of its own.
    Shape along(of_indices->size() - 1, 1);
    std::copy(batch.begin(), batch.end(), along.begin());
    std::vector<int64_t> firsts;
    for (int64_t i = 0; i < element_count(batch); ++i) firsts.push_back(i * rows_of_batch);
    place = written(node, "Add", {*place, constant_of(node.name + " batches", along, firsts)});
  }
  if (!place) return place.error();
  Dims rows = dims_of(Shape(coordinates + count, sides->end()));
  rows.insert(rows.begin(), {element_count(batch) * rows_of_batch});
  const auto table = seen_as(node, *arguments[0], rows);
  if (!table) return table.error();
  return as_other(written(node, "Gather", {*table, *place}, {{"axis", int64_t{0}}}));
}

Rewritten Importer::compressed(const Node& node, Arguments arguments) {
  const TensorPtr condition = tensor_at(arguments, 1);
  if (!condition || condition->shape.size() != 1)
    return unsupported("its condition is computed, so the shape of its output is not known before the model runs");
  const bool has_axis = node.find("axis") != nullptr;
  const auto input =
      has_axis
          ? Expected<Known>(*arguments[0])
          : written(node, "Reshape", {*arguments[0], constant_of(node.name + " shape", {1}, std::vector<int64_t>{-1})});
  if (!input) return input.error();
  const auto axis = dimension_at(node.integer("axis", 0), input->shape.size());
  if (!axis) return no_axis(node.integer("axis", 0), input->shape.size());
  const Number side = input->shape[*axis];
  if (!side.is_symbol && condition->size() > side.value)
    return refused(fmt::format("its condition has {} elements, and its axis {}", condition->size(), side.value));
  std::vector<int64_t> places;
  for (int64_t i = 0; i < condition->size(); ++i) {
    if (condition->integer(i) != 0) places.push_back(i);
  }
  if (places.empty()) return unsupported("its condition is false for all elements, and so its output is empty");
  return as_other(written(node, "Gather", {*input, constant_of(node.name + " places", {std::ssize(places)}, places)},
                          {{"axis", static_cast<int64_t>(*axis)}}));
}

Rewritten Importer::mean_variance(const Node& node, Arguments arguments) {
  const auto x = computed(*arguments[0]);
  if (!x) return x.error();
  const size_t rank = x->shape.size();
  std::vector<int64_t> axes;
  const std::vector<int64_t> said = node.find("axes") ? node.integers("axes") : std::vector<int64_t>{0, 2, 3};
  for (const int64_t one : said) {
    const auto axis = dimension_at(one, rank);
    if (!axis) return no_axis(one, rank);
    axes.push_back(static_cast<int64_t>(*axis));
  }
  const auto mean = reduced(node, "mean", *x, axes, true);
  if (!mean) return mean.error();
  const auto above = computed(node, "Sub", {*x, *mean});
  auto deviation = above ? computed(node, "Mul", {*above, *above}) : above;
  if (deviation) deviation = reduced(node, "mean", *deviation, axes, true);
  if (deviation) deviation = written(node, "Sqrt", {*deviation});
  if (deviation) deviation = computed(node, "Add", {*deviation, number(node.name + " epsilon", 1e-9f)});
  if (!deviation) return deviation.error();
  return as_other(written(node, "Div", {*above, *deviation}));
}

// x / (bias + alpha / size * the sum of squares of neighbouring channels)^beta.
Rewritten Importer::local_response(const Node& node, Arguments arguments) {
  const Dims shape = arguments[0]->shape;
  const int64_t size = node.integer("size", 1);
  if (shape.size() < 3 || shape[1].is_symbol || size < 1)
    return refused(fmt::format("its size is {}, and its input is {}", size, to_text(shape)));
  const auto pixels = known_shape({shape.begin() + 2, shape.end()});
  if (!pixels) return unsupported("its image has an unknown side", kHowToNumberSides);
  const auto x = computed(*arguments[0]);
  if (!x) return x.error();
  auto squares = computed(node, "Mul", {*x, *x});
  if (squares) squares = seen_as(node, *squares, {shape[0], {1}, shape[1], {element_count(*pixels)}});
  const int64_t before = (size - 1) / 2;
  const std::vector<int64_t> pads{before, 0, size - 1 - before, 0};
  if (squares)
    squares =
        written(node, "AveragePool", {*squares},
                {{"kernel_shape", std::vector<int64_t>{size, 1}}, {"pads", pads}, {"count_include_pad", int64_t{1}}});
  if (squares) squares = computed(*squares);
  if (squares) squares = seen_as(node, *squares, shape);
  // The mean of `size` elements is the sum divided by size.
  if (squares) squares = written(node, "Mul", {*squares, number(node.name + " alpha", node.real("alpha", 1e-4f))});
  if (squares) squares = computed(node, "Add", {*squares, number(node.name + " bias", node.real("bias", 1))});
  if (squares) squares = computed(node, "Pow", {*squares, number(node.name + " beta", node.real("beta", 0.75f))});
  if (!squares) return squares.error();
  return as_other(written(node, "Div", {*x, *squares}));
}

// Ones on a diagonal, of the shape of the input, whatever is in it.
Rewritten Importer::rectangle_of_ones(const Node& node, Arguments arguments) {
  const auto sides = known_shape(arguments[0]->shape);
  if (!sides || sides->size() != 2)
    return unsupported("its shape is not known, or has no two sides", kHowToNumberSides);
  const int64_t k = node.integer("k", 0);
  const ElementType type = node.find("dtype") ? element_type(node.integer("dtype", 1)) : element_type_of(*arguments[0]);
  std::vector<float> ones;
  for (int64_t row = 0; row < (*sides)[0]; ++row) {
    for (int64_t column = 0; column < (*sides)[1]; ++column) ones.push_back(column - row == k ? 1 : 0);
  }
  return as_other(as_type(node, constant_of(node.name, *sides, ones), type));
}

// Of each batch the first elements along time, in reverse; a gather of places that are known with the lengths.
Rewritten Importer::batches_in_order(const Node& node, Arguments arguments) {
  const auto lengths = arguments.size() > 1 && arguments[1] ? list_at(node, "", arguments, 1) : std::nullopt;
  const auto sides = known_shape(arguments[0]->shape);
  if (!lengths || !sides || sides->size() < 2) return unsupported("its lengths, or a side, are not known");
  const int64_t batch_axis = node.integer("batch_axis", 1), time_axis = node.integer("time_axis", 0);
  if (batch_axis + time_axis != 1) return refused("its axes are not 0 and 1");
  const int64_t batch = (*sides)[static_cast<size_t>(batch_axis)], time = (*sides)[static_cast<size_t>(time_axis)];
  if (std::ssize(*lengths) != batch) return refused("it has another number of lengths than of batches");
  std::vector<int64_t> places;
  for (int64_t i = 0; i < (*sides)[0]; ++i) {
    for (int64_t j = 0; j < (*sides)[1]; ++j) {
      const int64_t b = batch_axis == 0 ? i : j, t = batch_axis == 0 ? j : i,
                    length = (*lengths)[static_cast<size_t>(b)];
      const int64_t from = t < length ? length - 1 - t : t;
      places.push_back(batch_axis == 0 ? b * time + from : from * batch + b);
    }
  }
  Dims rows = dims_of(Shape(sides->begin() + 2, sides->end()));
  rows.insert(rows.begin(), {batch * time});
  auto table = seen_as(node, *arguments[0], rows);
  if (table)
    table = written(node, "Gather", {*table, constant_of(node.name + " places", {batch * time}, places)},
                    {{"axis", int64_t{0}}});
  if (!table) return table.error();
  return as_other(seen_as(node, *table, arguments[0]->shape));
}

}  // namespace qgen::onnx
