// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/fold.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "runtime/models/onnx/evaluate.h"

namespace qgen::onnx {

namespace {

constexpr size_t kMostNumbers = 4096;  // no shape has more

}  // namespace

std::optional<std::vector<Number>> numbers_of(const Known& known) {
  if (const auto* it = known.as<Numbers>()) return it->numbers;
  const TensorPtr tensor = known.tensor();
  if (!tensor || is_real(tensor->type) || tensor->shape.size() > 1 || tensor->size() > int64_t{kMostNumbers})
    return std::nullopt;
  std::vector<Number> numbers;
  for (int64_t i = 0; i < tensor->size(); ++i) numbers.push_back({tensor->integer(i)});
  return numbers;
}

namespace {

const Known* argument(Arguments arguments, size_t index) {
  return index < arguments.size() ? arguments[index] : nullptr;
}

}  // namespace

std::optional<std::vector<int64_t>> list_at(const Node& node, std::string_view attribute, Arguments arguments,
                                            size_t index) {
  if (node.find(attribute)) return node.integers(attribute);
  const Known* known = argument(arguments, index);
  const auto numbers = known ? numbers_of(*known) : std::nullopt;
  if (!numbers) return std::nullopt;
  std::vector<int64_t> list;
  for (const Number& number : *numbers) {
    if (number.is_symbol) return std::nullopt;
    list.push_back(number.value);
  }
  return list;
}

namespace {

Known known_numbers(std::vector<Number> numbers, bool is_scalar) {
  Dims shape;
  if (!is_scalar) shape.push_back({std::ssize(numbers)});
  return {Numbers{std::move(numbers)}, std::move(shape)};
}

// ---- shapes of views ------------------------------------------------------------------------------------------------

Expected<Dims> squeezed(const Node& node, Arguments arguments, const Dims& input) {
  const auto axes = list_at(node, "axes", arguments, 1);
  const auto rank = static_cast<int64_t>(input.size());
  std::vector<bool> is_dropped(input.size(), false);
  for (size_t d = 0; !axes && d < input.size(); ++d) is_dropped[d] = is_one(input[d]);
  for (int64_t axis : axes.value_or(std::vector<int64_t>{})) {
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank || !is_one(input[static_cast<size_t>(axis)]))
      return refused(fmt::format("it removes axis {} of {}, which is not of size 1", axis, to_text(input)));
    if (is_dropped[static_cast<size_t>(axis)])
      return refused(fmt::format("its axes [{}] name axis {} twice", fmt::join(*axes, ", "), axis));
    is_dropped[static_cast<size_t>(axis)] = true;
  }
  Dims output;
  for (size_t d = 0; d < input.size(); ++d) {
    if (!is_dropped[d]) output.push_back(input[d]);
  }
  return output;
}

Expected<Dims> unsqueezed(const Node& node, Arguments arguments, const Dims& input) {
  const auto axes = list_at(node, "axes", arguments, 1);
  if (!axes) return refused("its axes are not constant");
  const auto rank = std::ssize(input) + std::ssize(*axes);
  std::vector<bool> is_new(static_cast<size_t>(rank), false);
  for (int64_t axis : *axes) {
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank || is_new[static_cast<size_t>(axis)])
      return refused(fmt::format("its axes are [{}], and its result has rank {}", fmt::join(*axes, ", "), rank));
    is_new[static_cast<size_t>(axis)] = true;
  }
  Dims output;
  auto side = input.begin();
  for (const bool is_one_here : is_new) output.push_back(is_one_here ? Number{1} : *side++);
  return output;
}

Expected<Dims> flattened(Builder& builder, const Node& node, const Dims& input) {
  const auto rank = std::ssize(input);
  int64_t axis = node.integer("axis", 1);
  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis > rank) return refused(fmt::format("its axis is {}, and its input is {}", axis, to_text(input)));
  // If only one dimension has a symbol, it is the remaining one.
  const auto middle = input.begin() + axis;
  const Dims first(input.begin(), middle), second(middle, input.end());
  const auto side_of = [&](const Dims& dims) -> std::optional<Number> {
    if (dims.size() == 1) return dims.front();
    const auto shape = known_shape(dims);
    return shape ? std::optional(Number{element_count(*shape)}) : std::nullopt;
  };
  const auto a = side_of(first), b = side_of(second);
  if (!a && !b) return Dims{{builder.symbols.next++, true}, {builder.symbols.next++, true}};
  return reshaped(input, {a.value_or(Number{-1}), b.value_or(Number{-1})}, false, builder.symbols.next);
}

// Dropout passes its input through unless it trains; training_mode is an input since opset 12.
Done check_dropout(Arguments arguments) {
  const Known *ratio = argument(arguments, 1), *mode = argument(arguments, 2);
  if (!mode) return std::monostate{};
  const TensorPtr training = mode->tensor(), share = ratio ? ratio->tensor() : nullptr;
  if (!training || training->size() != 1) return unsupported("its training_mode is not a constant of one element");
  const bool drops_none = share && share->size() == 1 && share->real(0) == 0;
  if (training->integer(0) == 0 || drops_none) return std::monostate{};
  return unsupported("its training_mode is true, and qgen drops no elements",
                     "export the model for inference, where Dropout does nothing");
}

// nullopt: elements change their order.
Expected<std::optional<Dims>> transposed_view(const Node& node, const Dims& input) {
  const std::vector<int64_t> order = permutation_of(node, input.size());
  std::vector<int64_t> sorted = order;
  std::ranges::sort(sorted);
  std::vector<int64_t> all(input.size());
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all)
    return refused(fmt::format("its perm is [{}], and must have each axis of an input {} once", fmt::join(order, ", "),
                               to_text(input)));
  Dims output;
  int64_t last = -1;
  bool is_view = true;
  for (const int64_t d : order) {
    output.push_back(input[static_cast<size_t>(d)]);
    if (is_one(output.back())) continue;
    is_view = is_view && d > last;
    last = d;
  }
  return is_view ? std::optional(output) : std::nullopt;
}

}  // namespace

Expected<std::optional<Dims>> output_shape_of_view(Builder& builder, const Node& node, Arguments arguments) {
  constexpr std::string_view kViews[] = {"Reshape",   "Flatten",  "Squeeze", "Unsqueeze",
                                         "Transpose", "Identity", "Dropout"};
  if (!node.domain.empty() || std::ranges::find(kViews, node.op) == std::end(kViews)) return std::optional<Dims>();
  if (arguments.empty() || !arguments[0]) return refused("it has no input");
  const Dims& input = arguments[0]->shape;
  Expected<Dims> shape = input;
  if (node.op == "Transpose") return transposed_view(node, input);
  if (node.op == "Dropout") {
    if (Done idle = check_dropout(arguments); !idle) return idle.error();
  }
  if (node.op == "Flatten") shape = flattened(builder, node, input);
  if (node.op == "Squeeze") shape = squeezed(node, arguments, input);
  if (node.op == "Unsqueeze") shape = unsqueezed(node, arguments, input);
  if (node.op == "Reshape") {
    const Known* said = argument(arguments, 1);
    const auto target = said ? numbers_of(*said) : std::nullopt;
    if (target) {
      shape = reshaped(input, *target, node.integer("allowzero", 0) == 0, builder.symbols.next);
    } else if (node.find("shape")) {  // until opset 4
      shape = reshaped(input, dims_of(node.integers("shape")), true, builder.symbols.next);
    } else {
      return refused("its shape is computed while the model runs");
    }
  }
  if (!shape) return shape.error();
  if (shape->size() > kMaxRank)
    return refused(
        fmt::format("{} has rank {}, and the highest possible is {}", to_text(*shape), shape->size(), kMaxRank));
  return std::optional(*std::move(shape));
}

// ---- constants ------------------------------------------------------------------------------------------------------

namespace {

using Folded = Expected<std::optional<Known>>;

Folded constant_node(const Node& node) {
  const AttributeData* value = node.find("value");
  if (value && std::get_if<TensorPtr>(value)) {
    const auto& tensor = std::get<TensorPtr>(*value);
    return std::optional(Known{tensor, dims_of(tensor->shape)});
  }
  const auto known = [&](Tensor tensor) {
    tensor.name = node.name;
    const Dims shape = dims_of(tensor.shape);
    return std::optional(Known{TensorPtr(std::make_shared<const Tensor>(std::move(tensor))), shape});
  };
  for (const auto& [name, data] : node.attributes) {
    if (const auto* i = std::get_if<int64_t>(&data)) return known(tensor_of<int64_t>(ElementType::i64, {}, {i, 1}));
    if (const auto* f = std::get_if<float>(&data)) return known(tensor_of<float>(ElementType::f32, {}, {f, 1}));
    if (const auto* is = std::get_if<std::vector<int64_t>>(&data))
      return known(tensor_of<int64_t>(ElementType::i64, {std::ssize(*is)}, *is));
    if (const auto* fs = std::get_if<std::vector<float>>(&data))
      return known(tensor_of<float>(ElementType::f32, {std::ssize(*fs)}, *fs));
  }
  return refused("its value has a kind that qgen does not know");
}

Folded shape_node(const Node& node, const Known& input) {
  const auto rank = std::ssize(input.shape);
  const auto place = [&](std::string_view attribute, int64_t otherwise) {
    const int64_t said = node.integer(attribute, otherwise);
    return std::clamp<int64_t>(said < 0 ? said + rank : said, 0, rank);
  };
  const int64_t start = place("start", 0), end = std::max(start, place("end", rank));
  return std::optional(known_numbers({input.shape.begin() + start, input.shape.begin() + end}, false));
}

Folded size_node(const Known& input) {
  const auto shape = known_shape(input.shape);
  if (!shape) return unsupported("its input has a side that is not known before the model runs", kHowToNumberSides);
  return std::optional(known_numbers({Number{element_count(*shape)}}, true));
}

Folded gather(const Node& node, Arguments arguments) {
  const auto data = numbers_of(*arguments[0]), indices = numbers_of(*arguments[1]);
  if (!data || !indices || arguments[0]->shape.size() != 1 || node.integer("axis", 0) != 0)
    return std::optional<Known>();
  std::vector<Number> taken;
  for (const Number& index : *indices) {
    const int64_t i = index.value < 0 ? index.value + std::ssize(*data) : index.value;
    if (index.is_symbol || i < 0 || i >= std::ssize(*data))
      return refused(fmt::format("its index is {}, and its input has {} numbers", index.value, data->size()));
    taken.push_back((*data)[static_cast<size_t>(i)]);
  }
  return std::optional(known_numbers(std::move(taken), arguments[1]->shape.empty()));
}

Folded concat(Arguments arguments) {
  std::vector<Number> all;
  for (const Known* part : arguments) {
    const auto numbers = part ? numbers_of(*part) : std::nullopt;
    if (!numbers) return std::optional<Known>();
    all.insert(all.end(), numbers->begin(), numbers->end());
    if (all.size() > kMostNumbers)
      return refused(fmt::format("it would join more than {} numbers of a shape", kMostNumbers));
  }
  return std::optional(known_numbers(std::move(all), false));
}

Folded slice(const Node& node, Arguments arguments) {
  const auto data = numbers_of(*arguments[0]);
  const auto starts = list_at(node, "starts", arguments, 1), ends = list_at(node, "ends", arguments, 2);
  if (!data || arguments[0]->shape.size() != 1 || !starts || !ends || starts->size() != 1 || ends->size() != 1)
    return std::optional<Known>();
  const auto axes = list_at(node, "axes", arguments, 3);
  const bool is_first = !axes || (axes->size() == 1 && (axes->front() == 0 || axes->front() == -1));
  if (!is_first) return std::optional<Known>();
  const Known* steps = argument(arguments, 4);
  const auto step = steps ? numbers_of(*steps) : std::nullopt;
  if (steps && (!step || step->size() != 1 || !is_one(step->front()))) return std::optional<Known>();
  const auto place = [&](int64_t said) {
    const auto count = std::ssize(*data);
    return std::clamp<int64_t>(said < 0 ? std::max<int64_t>(said, -count) + count : said, 0, count);
  };
  const int64_t start = place(starts->front()), end = std::max(start, place(ends->front()));
  return std::optional(known_numbers({data->begin() + start, data->begin() + end}, false));
}

bool is_perhaps_negative(const Builder& builder, const Number& number) {
  return number.is_symbol ? builder.symbols.perhaps_negative.contains(number.value) : number.value < 0;
}

// nullopt: nobody knows yet.
std::optional<bool> are_equal(const Builder& builder, const Number& x, const Number& y) {
  if (x == y) return true;
  if (!x.is_symbol && !y.is_symbol) return false;
  const bool x_is_below = !x.is_symbol && x.value < 0, y_is_below = !y.is_symbol && y.value < 0;
  const bool differs =
      (x_is_below && !is_perhaps_negative(builder, y)) || (y_is_below && !is_perhaps_negative(builder, x));
  return differs ? std::optional(false) : std::nullopt;
}

// Of shapes' numbers. PyTorch's exporters compare each dimension of a shape with -1, which stands for another one.
Folded equality(const Builder& builder, Arguments arguments) {
  const auto a = numbers_of(*arguments[0]), b = numbers_of(*arguments[1]);
  if (!a || !b || arguments[0]->shape != arguments[1]->shape || arguments[0]->shape.size() != 1)
    return std::optional<Known>();
  std::vector<uint8_t> results;
  for (size_t i = 0; i < a->size(); ++i) {
    const auto result = are_equal(builder, (*a)[i], (*b)[i]);
    if (!result) return std::optional<Known>();
    results.push_back(*result ? 1 : 0);
  }
  const auto tensor =
      std::make_shared<const Tensor>(tensor_of<uint8_t>(ElementType::boolean, {std::ssize(results)}, results));
  return std::optional(Known{tensor, arguments[0]->shape});
}

Folded choice(Arguments arguments) {
  const TensorPtr condition = arguments[0]->tensor();
  if (!condition || condition->type != ElementType::boolean || !argument(arguments, 1) || !argument(arguments, 2))
    return std::optional<Known>();
  const auto a = numbers_of(*arguments[1]), b = numbers_of(*arguments[2]);
  const bool are_alike = arguments[0]->shape.size() == 1 && arguments[1]->shape == arguments[0]->shape &&
                         arguments[2]->shape == arguments[0]->shape;
  if (!a || !b || !are_alike) return std::optional<Known>();
  std::vector<Number> chosen;
  for (size_t i = 0; i < a->size(); ++i)
    chosen.push_back(condition->integer(static_cast<int64_t>(i)) != 0 ? (*a)[i] : (*b)[i]);
  return std::optional(known_numbers(std::move(chosen), false));
}

// Sums and products of shapes' numbers; with a symbol the result is one that nobody knows, unless nothing is done.
Folded arithmetic(Builder& builder, const Node& node, Arguments arguments) {
  const auto a = numbers_of(*arguments[0]), b = numbers_of(*arguments[1]);
  if (!a || !b || a->empty() || b->empty()) return std::optional<Known>();
  if (a->size() != b->size() && a->size() != 1 && b->size() != 1)
    return refused(fmt::format("lists of {} and {} numbers cannot be broadcast", a->size(), b->size()));
  std::vector<Number> results;
  for (size_t i = 0; i < std::max(a->size(), b->size()); ++i) {
    const Number x = (*a)[a->size() == 1 ? 0 : i], y = (*b)[b->size() == 1 ? 0 : i];
    const int64_t neutral = node.op == "Add" || node.op == "Sub" ? 0 : 1;
    Number result;
    if (!y.is_symbol && y.value == neutral) {
      result = x;
    } else if (x.is_symbol || y.is_symbol) {
      result = {builder.symbols.next++, true};
      if (node.op == "Sub" || is_perhaps_negative(builder, x) || is_perhaps_negative(builder, y))
        builder.symbols.perhaps_negative.insert(result.value);
    } else if (node.op == "Div") {
      if (y.value == 0 || y.value == -1) return refused(fmt::format("it divides {} by {}", x.value, y.value));
      result.value = x.value / y.value;
    } else {
      const bool overflows = node.op == "Add"   ? __builtin_add_overflow(x.value, y.value, &result.value)
                             : node.op == "Sub" ? __builtin_sub_overflow(x.value, y.value, &result.value)
                                                : __builtin_mul_overflow(x.value, y.value, &result.value);
      if (overflows) return refused(fmt::format("its result of {} and {} exceeds 64 bits", x.value, y.value));
    }
    results.push_back(result);
  }
  return std::optional(known_numbers(std::move(results), arguments[0]->shape.empty() && arguments[1]->shape.empty()));
}

Folded turned_constant(Builder& builder, const Node& node, Arguments arguments) {
  const Known& input = *arguments[0];
  const bool is_constant = input.tensor() || input.as<QuantizedConstant>();
  if (!is_constant && !input.as<Numbers>()) return std::optional<Known>();
  const TensorPtr elements = is_constant && !input.tensor() ? input.as<QuantizedConstant>()->codes : input.tensor();
  if (elements) {
    if (Done spent = builder.spend(elements->size()); !spent) return spent.error();
  }
  const auto shape = output_shape_of_view(builder, node, arguments);
  if (!shape) return shape.error();
  if (const auto* numbers = input.as<Numbers>()) {
    if (!*shape || (*shape)->size() > 1) return std::optional<Known>();
    return std::optional(Known{*numbers, **shape});
  }
  if (!*shape) {  // a Transpose that moves elements
    const std::vector<int64_t> order = permutation_of(node, input.shape.size());
    Known result;
    if (const TensorPtr tensor = input.tensor())
      result.what = std::make_shared<const Tensor>(transposed(*tensor, order));
    else result.what = transposed(*input.as<QuantizedConstant>(), order);
    for (const int64_t d : order) result.shape.push_back(input.shape[static_cast<size_t>(d)]);
    return std::optional(std::move(result));
  }
  const auto sides = known_shape(**shape);
  if (!sides) return refused("a constant would have an unknown shape");
  if (const auto* constant = input.as<QuantizedConstant>()) {
    auto result = reshaped(*constant, *sides);
    if (!result) return result.error();
    return std::optional(Known{*std::move(result), **shape});
  }
  Tensor tensor = *input.tensor();
  tensor.shape = *sides;
  return std::optional(Known{TensorPtr(std::make_shared<const Tensor>(std::move(tensor))), **shape});
}

// Of inputs that are all constants, or numbers of shapes that are all known.
Folded evaluated(Builder& builder, const Node& node, Arguments arguments) {
  std::vector<TensorPtr> inputs;
  int64_t elements = 0;
  for (const Known* argument : arguments) {
    inputs.push_back(argument ? constant_of(*argument) : nullptr);
    if (argument && !inputs.back()) return std::optional<Known>();
    elements += argument ? inputs.back()->size() : 0;
  }
  if (Done spent = builder.spend(elements); !spent) return spent.error();
  auto result = evaluate(node, inputs, builder.opset, builder.budget);
  if (!result) return result.error();
  if (!*result) return std::optional<Known>();
  if (Done spent = builder.spend((*result)->size()); !spent) return spent.error();
  const Dims shape = dims_of((*result)->shape);
  return std::optional(Known{std::make_shared<const Tensor>(**std::move(result)), shape});
}

}  // namespace

TensorPtr constant_of(const Known& known) {
  if (const TensorPtr tensor = known.tensor()) return tensor;
  const auto* it = known.as<Numbers>();
  if (!it) return nullptr;
  std::vector<int64_t> values;
  for (const Number& number : it->numbers) {
    if (number.is_symbol) return nullptr;
    values.push_back(number.value);
  }
  const auto shape = known_shape(known.shape);
  return shape ? std::make_shared<const Tensor>(tensor_of<int64_t>(ElementType::i64, *shape, values)) : nullptr;
}

Expected<std::optional<Known>> fold(Builder& builder, const Node& node, Arguments arguments) {
  if (!node.domain.empty()) return std::optional<Known>();
  if (node.op == "Constant") return constant_node(node);
  if (!arguments.empty() && is_evaluated(node.op)) {
    auto known = evaluated(builder, node, arguments);
    if (!known || *known) return known;
  }
  if (node.op == "Concat") return concat(arguments);
  if (arguments.empty() || !arguments[0]) return std::optional<Known>();
  if (node.op == "Shape") return shape_node(node, *arguments[0]);
  if (node.op == "Size") return size_node(*arguments[0]);
  if (node.op == "Slice") return slice(node, arguments);
  if (node.op == "Cast") {
    // Integers of shapes keep their values in every type that shapes have.
    if (const auto numbers = numbers_of(*arguments[0]);
        numbers && (node.integer("to", 0) == 6 || node.integer("to", 0) == 7))
      return std::optional(known_numbers(*numbers, arguments[0]->shape.empty()));
    return std::optional<Known>();
  }
  const bool has_two = argument(arguments, 1) != nullptr;
  if (node.op == "Gather" && has_two) return gather(node, arguments);
  if (node.op == "Equal" && has_two) return equality(builder, arguments);
  if (node.op == "Where" && has_two) return choice(arguments);
  if (has_two && (node.op == "Add" || node.op == "Sub" || node.op == "Mul" || node.op == "Div"))
    return arithmetic(builder, node, arguments);
  constexpr std::string_view kTurning[] = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Identity"};
  if (std::ranges::find(kTurning, node.op) != std::end(kTurning)) return turned_constant(builder, node, arguments);
  return std::optional<Known>();
}

}  // namespace qgen::onnx
