// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Rewrites nodes as other ONNX nodes: Sum as several Add, ReduceMax as a pool of an image that is a view of the tensor.
// The new nodes are imported in place of the old one, so everything that holds for them (integers, functions, layers)
// also holds here.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "runtime/models/onnx/fold.h"
#include "runtime/models/onnx/written_out.h"

namespace qgen::onnx {
namespace {

using Attribute = std::pair<const std::string, AttributeData>;
const Rewritten kOther = std::optional<Known>();

// For a floating-point constant with one element.
std::optional<float> number_of(const Known* known) {
  if (!known) return std::nullopt;
  if (const TensorPtr tensor = known->tensor(); tensor && tensor->size() == 1) return tensor->real(0);
  const auto* quantized = known->as<QuantizedConstant>();
  if (!quantized || quantized->codes->size() != 1) return std::nullopt;
  return dequantized(*quantized).as<float>()[0];
}

}  // namespace

Expected<Known> Importer::written(const Node& node, std::string_view op, std::vector<Known> inputs,
                                  std::map<std::string, AttributeData, std::less<>> attributes) {
  Node stand_in{.name = node.name, .op = std::string(op), .outputs = node.outputs, .attributes = std::move(attributes)};
  std::vector<const Known*> pointers;
  for (const Known& input : inputs) {
    stand_in.inputs.emplace_back("an input");
    pointers.push_back(&input);
  }
  return result_of(stand_in, pointers);
}

Expected<Known> Importer::computed(const Node& node, std::string_view op, std::vector<Known> inputs,
                                   std::map<std::string, AttributeData, std::less<>> attributes) {
  const auto result = written(node, op, std::move(inputs), std::move(attributes));
  return result ? computed(*result) : result;
}

Expected<Known> Importer::computed(const Known& input) {
  if (!input.as<PendingPtr>()) return input;
  const auto real = builder_.real_of(input);
  if (!real) return real.error();
  return Known{*real, input.shape};
}

// ---- sums and powers ------------------------------------------------------------------------------------------------

Rewritten Importer::sum_of_all(const Node& node, Arguments arguments) {
  if (std::ranges::count(arguments, nullptr) > 0 || arguments.empty()) return refused("an input is left out");
  Expected<Known> sum = *arguments[0];
  for (size_t i = 1; sum && i < arguments.size(); ++i) sum = written(node, "Add", {*sum, *arguments[i]});
  if (sum && node.op == "Mean" && arguments.size() > 1)
    sum = written(node, "Mul", {*sum, number(node.name + " factor", 1 / static_cast<float>(arguments.size()))});
  return as_other(std::move(sum));
}

Rewritten Importer::power(const Node& node, Arguments arguments) {
  const auto exponent = number_of(arguments.size() > 1 ? arguments[1] : nullptr);
  if (!exponent || arguments[1]->shape.size() > arguments[0]->shape.size() || builder_.view_of(*arguments[0]))
    return kOther;
  if (*exponent == 1) return std::optional(*arguments[0]);
  if (*exponent != 2 && *exponent != 3) return kOther;
  const auto x = computed(*arguments[0]);
  if (!x) return x.error();
  auto product = written(node, "Mul", {*x, *x});
  if (product && *exponent == 3) product = written(node, "Mul", {*product, *x});
  return as_other(std::move(product));
}

// ---- the greatest and the least -------------------------------------------------------------------------------------

// Bounds where all but one are numbers.
Rewritten Importer::extreme(const Node& node, Arguments arguments) {
  if (std::ranges::count(arguments, nullptr) > 0 || arguments.empty()) return refused("an input is left out");
  const bool is_max = node.op == "Max";
  std::optional<float> bound;
  std::vector<Known> tensors;
  for (const Known* argument : arguments) {
    const auto value = number_of(argument);
    const bool is_number = value && argument->shape.size() <= 1;
    if (is_number) bound = !bound ? *value : is_max ? std::max(*bound, *value) : std::min(*bound, *value);
    else tensors.push_back(*argument);
  }
  if (tensors.size() != 1) return kOther;
  Expected<Known> result = tensors.front();
  if (result && bound) result = written(node, "Clip", {*result}, {{is_max ? "min" : "max", *bound}});
  return as_other(std::move(result));
}

Expected<Known> Importer::viewed(const Node& node, const Known& input, const Dims& target) {
  const auto shape = reshaped(input.shape, target, false, builder_.symbols.next);
  if (!shape) return shape.error();
  return seen_as(node, input, *shape);
}

// By bounds that the model computes; the upper one wins.
Rewritten Importer::clip_to_data(const Node& node, Arguments arguments) {
  const auto is_data = [&](size_t i) {
    return i < arguments.size() && arguments[i] && !tensor_at(arguments, i) && !arguments[i]->as<Numbers>();
  };
  if (!is_data(1) && !is_data(2)) return kOther;
  Expected<Known> result = *arguments[0];
  constexpr std::string_view kBy[] = {"Max", "Min"};
  for (size_t i = 1; result && i < std::min<size_t>(arguments.size(), 3); ++i) {
    if (!arguments[i]) continue;
    const auto bound = viewed(node, *arguments[i], {});
    result = bound ? computed(node, kBy[i - 1], {*result, *bound}) : bound;
  }
  return as_other(std::move(result));
}

// ---- along axes -----------------------------------------------------------------------------------------------------

namespace {

// In order, from 0; without: all.
Expected<std::vector<int64_t>> reduced_axes(const Node& node, Arguments arguments, size_t rank) {
  std::vector<int64_t> axes;
  if (node.find("axes") || (arguments.size() > 1 && arguments[1])) {
    const auto said = list_at(node, "axes", arguments, 1);
    if (!said) return unsupported("its axes are not constant");
    axes = *said;
  }
  if (axes.empty() && node.integer("noop_with_empty_axes", 0) != 0) return axes;
  if (axes.empty()) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (int64_t& axis : axes) {
    const auto dimension = dimension_at(axis, rank);
    if (!dimension) return no_axis(axis, rank);
    axis = static_cast<int64_t>(*dimension);
  }
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end())
    return refused(fmt::format("its axes [{}] name one twice", fmt::join(axes, ", ")));
  return axes;
}

Dims without_axes(const Dims& shape, const std::vector<int64_t>& axes, bool keeps) {
  Dims result;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool is_reduced = std::ranges::find(axes, static_cast<int64_t>(d)) != axes.end();
    if (!is_reduced) result.push_back(shape[d]);
    else if (keeps) result.push_back({1});
  }
  return result;
}

// All spatial axes of an image, which a global pool takes.
bool are_of_image(const std::vector<int64_t>& axes, size_t rank) {
  if (rank != 3 && rank != 4) return false;
  return axes.size() == rank - 2 && axes.front() == 2;
}

}  // namespace

namespace {

struct ReductionRow {
  std::string_view op, operation;
  bool changes_one = false;  // the reduction of one element is not that element
};
constexpr ReductionRow kReductions[] = {{"ReduceL1", "l1", true},
                                        {"ReduceL2", "l2", true},
                                        {"ReduceLogSum", "log_sum", true},
                                        {"ReduceLogSumExp", "log_sum_exp"},
                                        {"ReduceMax", "maximum"},
                                        {"ReduceMean", "mean"},
                                        {"ReduceMin", "minimum"},
                                        {"ReduceProd", "product"},
                                        {"ReduceSum", "sum"},
                                        {"ReduceSumSquare", "sum_of_squares", true}};

}  // namespace

// For int8 values with a scale, the reduced axes become one, in an image [before, 1, axes, after], and a pool reduces
// its columns. So the result can be quantized at once.
Rewritten Importer::along_axes(const Node& node, Arguments arguments) {
  const size_t rank = arguments[0]->shape.size();
  const auto axes = reduced_axes(node, arguments, rank);
  if (!axes) return axes.error();
  Known input = *arguments[0];
  const auto row = std::ranges::find(kReductions, node.op, &ReductionRow::op);
  if (axes->empty() && !row->changes_one) return std::optional(std::move(input));
  if (axes->empty()) {  // a number, or noop_with_empty_axes: of each element alone
    Dims alone = input.shape;
    alone.push_back({1});
    const auto elements = viewed(node, input, alone);
    if (!elements) return elements.error();
    return as_other(reduced(node, row->operation, *elements, {static_cast<int64_t>(rank)}, false));
  }
  const bool is_mean = node.op == "ReduceMean", is_sum = node.op == "ReduceSum", is_min = node.op == "ReduceMin";
  if (is_mean && are_of_image(*axes, rank)) return kOther;
  const bool keeps = node.integer("keepdims", 1) != 0;
  const Dims output = without_axes(input.shape, *axes, keeps);
  const bool is_of_pools = is_mean || is_sum || is_min || node.op == "ReduceMax";
  if (!is_of_pools || !builder_.fuses || !builder_.view_of(input)) {
    return as_other(reduced(node, row->operation, input, *axes, keeps));
  }
  const bool is_run = axes->back() - axes->front() + 1 == std::ssize(*axes);
  if (!is_run) {
    std::vector<int64_t> order;
    for (int64_t d = 0; d < static_cast<int64_t>(rank); ++d) {
      if (std::ranges::find(*axes, d) == axes->end()) order.push_back(d);
    }
    order.insert(order.end(), axes->begin(), axes->end());
    const auto turned = written(node, "Transpose", {input}, {{"perm", order}});
    if (!turned) return turned.error();
    input = *turned;
  }
  const auto first = static_cast<std::ptrdiff_t>(is_run ? static_cast<size_t>(axes->front()) : rank - axes->size());
  const auto middle = input.shape.begin() + first;
  const auto count = known_shape({middle, middle + std::ssize(*axes)});
  const auto behind = known_shape({middle + std::ssize(*axes), input.shape.end()});
  if (!count || !behind)
    return unsupported("a dimension along its axes, or after them, is not known before the model runs",
                       kHowToNumberSides);
  const int64_t terms = element_count(*count);
  if (terms == 0) return unsupported("it has no elements along its axes");
  const auto negated =
      is_min ? written(node, "Mul", {input, number(node.name + " factor", -1)}) : Expected<Known>(input);
  const auto image = negated ? viewed(node, *negated, {{-1}, {1}, {terms}, {element_count(*behind)}}) : negated;
  if (!image) return image.error();
  const bool is_pool = !is_min && node.op != "ReduceMax";
  auto result =
      written(node, is_pool ? "AveragePool" : "MaxPool", {*image}, {{"kernel_shape", std::vector<int64_t>{terms, 1}}});
  const float factor = is_min ? -1.0f : static_cast<float>(terms);
  const bool has_factor = is_min || is_sum;
  if (result && has_factor && factor != 1)
    result = written(node, "Mul", {*result, number(node.name + " factor", factor)});
  if (!result) return result.error();
  return as_other(seen_as(node, *result, output));
}

// ---- elements elsewhere ---------------------------------------------------------------------------------------------

// [N, C, H, W] as blocks: DCR [N, r, r, C / r^2, H, W] or CRD [N, C / r^2, r, r, H, W] -> [N, C / r^2, H, r, W, r].
Rewritten Importer::depth_to_space_of_any(const Node& node, Arguments arguments) {
  const bool is_column_first = node.word("mode", "DCR") == "CRD";
  const bool are_bytes = arguments[0]->as<Codes>() || builder_.view_of(*arguments[0]);
  if (is_column_first && are_bytes) return kOther;
  const Dims& input = arguments[0]->shape;
  const int64_t r = node.integer("blocksize", 0);
  if (input.size() != 4 || r < 1 || r > 32768 || input[1].is_symbol || input[1].value % (r * r) != 0)
    return refused(fmt::format("its blocksize is {}, and its input is {}", r, to_text(input)));
  if (input[2].is_symbol || input[3].is_symbol)
    return unsupported("its height or width is not known before the model runs", kHowToNumberSides);
  const Number channels{input[1].value / (r * r)};
  const Dims blocks = is_column_first ? Dims{input[0], channels, {r}, {r}, input[2], input[3]}
                                      : Dims{input[0], {r}, {r}, channels, input[2], input[3]};
  const std::vector<int64_t> order =
      is_column_first ? std::vector<int64_t>{0, 1, 4, 2, 5, 3} : std::vector<int64_t>{0, 3, 4, 1, 5, 2};
  auto result = seen_as(node, *arguments[0], blocks);
  if (result) result = written(node, "Transpose", {*result}, {{"perm", order}});
  if (!result) return result.error();
  return as_other(seen_as(node, *result, {input[0], channels, {input[2].value * r}, {input[3].value * r}}));
}

// [N, C, H, r, W, r] -> [N, r, r, C, H, W].
Rewritten Importer::space_to_depth(const Node& node, Arguments arguments) {
  const Dims& input = arguments[0]->shape;
  const int64_t r = node.integer("blocksize", 0);
  const auto sides = input.size() == 4 ? known_shape({input.begin() + 1, input.end()}) : std::nullopt;
  if (!sides)
    return unsupported(fmt::format("its input {} is no image of known sides", to_text(input)), kHowToNumberSides);
  const int64_t c = (*sides)[0], h = (*sides)[1], w = (*sides)[2];
  if (r < 1 || h % r != 0 || w % r != 0)
    return refused(fmt::format("its blocksize is {}, and its input is {}", r, to_text(input)));
  auto result = seen_as(node, *arguments[0], {input[0], {c}, {h / r}, {r}, {w / r}, {r}});
  if (result) result = written(node, "Transpose", {*result}, {{"perm", std::vector<int64_t>{0, 3, 5, 1, 2, 4}}});
  if (!result) return result.error();
  return as_other(seen_as(node, *result, {input[0], {c * r * r}, {h / r}, {w / r}}));
}

Rewritten Importer::tiled(const Node& node, Arguments arguments) {
  const auto repeats = list_at(node, "", arguments, 1);
  if (!repeats) return unsupported("its repeats are not constant");
  const auto sides = known_shape(arguments[0]->shape);
  if (!sides) return unsupported("its input has a side that is not known before the model runs", kHowToNumberSides);
  if (repeats->size() != sides->size())
    return refused(fmt::format("it has {} repeats for an input {}", repeats->size(), to_text(*sides)));
  Expected<Known> result = *arguments[0];
  for (size_t d = sides->size(); result && d-- > 0;) {
    const int64_t count = (*repeats)[d];
    if (count == 1) continue;
    if (count < 1) return unsupported(fmt::format("it repeats {} times", count));
    // [before, side * behind] -> [before, count, side * behind].
    const Dims whole = result->shape;
    Dims rows = dims_of(Shape{1, 1});
    rows[0].value = element_count(*known_shape({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(d)}));
    Dims columns{whole.begin() + static_cast<std::ptrdiff_t>(d), whole.end()};
    const int64_t behind = element_count(*known_shape(columns));
    rows.push_back({behind});
    result = seen_as(node, *result, rows);
    const Known target{Numbers{{rows[0], {count}, {behind}}}, {{3}}};
    if (result) result = written(node, "Expand", {*result, target});
    Dims output = whole;
    output[d].value *= count;
    if (result) result = seen_as(node, *result, output);
  }
  return as_other(std::move(result));
}

// ---- layers ---------------------------------------------------------------------------------------------------------

// alpha * A^T * B^T + beta * C; the factors move into constants.
Rewritten Importer::plain_gemm(const Node& node, Arguments arguments) {
  const bool turns = node.integer("transA", 0) != 0;
  const float alpha = node.real("alpha", 1), beta = node.real("beta", 1);
  const bool has_sum = arguments.size() > 2 && arguments[2];
  const bool is_weight = arguments.size() > 1 && arguments[1] && arguments[1]->as<QuantizedConstant>();
  const bool keeps_alpha = alpha == 1 || (is_weight && alpha > 0);
  const bool keeps_beta = beta == 1 || !has_sum || is_weight;
  if ((!turns && keeps_alpha && keeps_beta) || arguments.size() < 2 || !arguments[0] || !arguments[1]) return kOther;
  auto attributes = node.attributes;
  std::vector<Known> inputs{*arguments[0], *arguments[1]};
  if (turns) {
    if (inputs[0].shape.size() != 2) return refused(fmt::format("its first matrix is {}", to_text(inputs[0].shape)));
    auto turned = written(node, "Transpose", {inputs[0]}, {{"perm", std::vector<int64_t>{1, 0}}});
    if (!turned) return turned.error();
    inputs[0] = *std::move(turned);
    attributes.erase("transA");
  }
  // As a factor of a constant matrix, or of the product.
  Expected<Known> product = inputs[0];
  const auto factored = [&](const Known& known, float factor) {
    return written(node, "Mul", {known, number(node.name + " factor", factor)});
  };
  attributes.erase("alpha");
  attributes.erase("beta");
  if (alpha != 1 && inputs[1].tensor()) {
    auto weight = factored(inputs[1], alpha);
    if (!weight) return weight.error();
    inputs[1] = *std::move(weight);
    product = written(node, "Gemm", inputs, attributes);
  } else {
    product = written(node, "Gemm", inputs, attributes);
    if (product && alpha != 1) product = factored(*product, alpha);
  }
  if (!product || !has_sum || beta == 0) return as_other(std::move(product));
  const auto sum = beta == 1 ? Expected<Known>(*arguments[2]) : factored(*arguments[2], beta);
  if (!sum) return sum.error();
  return as_other(written(node, "Add", {*product, *sum}));
}

// A vector is a matrix of one row, or of one column.
Rewritten Importer::product_of_vectors(const Node& node, Arguments arguments) {
  if (arguments.size() != 2 || !arguments[0] || !arguments[1]) return kOther;
  const size_t ranks[] = {arguments[0]->shape.size(), arguments[1]->shape.size()};
  if ((ranks[0] != 1 && ranks[1] != 1) || ranks[0] == 0 || ranks[1] == 0) return kOther;
  std::vector<Known> matrices{*arguments[0], *arguments[1]};
  for (size_t i = 0; i < 2; ++i) {
    if (ranks[i] != 1) continue;
    auto matrix = written(node, "Unsqueeze", {matrices[i]}, {{"axes", std::vector<int64_t>{static_cast<int64_t>(i)}}});
    if (!matrix) return matrix.error();
    matrices[i] = *std::move(matrix);
  }
  auto product = written(node, "MatMul", std::move(matrices));
  if (!product) return product.error();
  Dims shape = product->shape;
  if (ranks[1] == 1) shape.pop_back();
  if (ranks[0] == 1) shape.erase(shape.end() - (ranks[1] == 1 ? 1 : 2));
  return as_other(seen_as(node, *product, shape));
}

// Rows of a group are normalized, and then multiplied and shifted, a channel each.
Rewritten Importer::group_normalization(const Node& node, Arguments arguments) {
  const Dims input = arguments[0]->shape;
  const bool is_instance = node.op == "InstanceNormalization";
  if (arguments.size() < 3 || !arguments[1] || !arguments[2] || input.size() < 3 || input[1].is_symbol)
    return unsupported("it has no scale and bias for the channels of an image");
  const int64_t channels = input[1].value, groups = is_instance ? channels : node.integer("num_groups", 0);
  if (groups < 1 || channels % groups != 0)
    return refused(fmt::format("it has {} groups, and {} channels", groups, channels));
  const auto pixels = known_shape({input.begin() + 2, input.end()});
  if (!pixels) return unsupported("its image has a side that is not known before the model runs", kHowToNumberSides);
  const int64_t row = channels / groups * element_count(*pixels);
  auto result = seen_as(node, *arguments[0], {input[0], {groups}, {row}});
  if (result) result = written(node, "LayerNormalization", {*result}, {{"epsilon", node.real("epsilon", 1e-5f)}});
  if (result) result = seen_as(node, *result, input);
  // Until opset 20 a GroupNormalization has a scale and a bias for each group.
  const bool is_of_groups = !is_instance && arguments[1]->shape == Dims{{groups}} && groups != channels;
  for (size_t i = 1; result && i < 3; ++i) {
    Known factor = *arguments[i];
    if (is_of_groups) {
      auto wide = seen_as(node, factor, {{groups}, {1}});
      const Known target{Numbers{{{groups}, {channels / groups}}}, {{2}}};
      if (wide) wide = written(node, "Expand", {*wide, target});
      if (!wide) return wide.error();
      factor = *std::move(wide);
    }
    Dims shape(input.size() - 1, Number{1});
    shape[0] = {channels};
    const auto lies = viewed(node, factor, shape);
    if (!lies) return lies.error();
    result = written(node, i == 1 ? "Mul" : "Add", {*result, *lies});
  }
  return as_other(std::move(result));
}

// A node of com.microsoft, which ONNX Runtime writes: a layer, a summand, and a function.
Rewritten Importer::fused_layer(const Node& node, Arguments arguments) {
  const bool is_conv = node.op == "FusedConv";
  auto attributes = node.attributes;
  const std::string activation(node.word("activation", ""));
  std::vector<float> parameters;
  if (const auto* given = node.find("activation_params"); given && std::get_if<std::vector<float>>(given))
    parameters = std::get<std::vector<float>>(*given);
  for (const char* name : {"activation_alpha", "activation_beta"}) {
    if (node.find(name)) parameters.push_back(node.real(name, 0));
  }
  std::erase_if(attributes, [](const auto& attribute) { return attribute.first.starts_with("activation"); });
  std::vector<const Known*> inputs(arguments.begin(), arguments.end());
  const Known* added = is_conv && inputs.size() > 3 ? inputs[3] : nullptr;
  if (is_conv && inputs.size() > 3) inputs.resize(inputs[2] ? 3 : 2);
  Node stand_in = node;
  stand_in.op = is_conv ? "Conv" : "Gemm";
  stand_in.domain.clear();
  stand_in.inputs.resize(inputs.size());
  stand_in.attributes = attributes;
  auto result = result_of(stand_in, inputs);
  if (result && added) result = written(node, "Add", {*result, *added});
  if (!result || activation.empty()) return as_other(std::move(result));
  std::map<std::string, AttributeData, std::less<>> of_function;
  const bool is_clip = activation == "Clip";
  constexpr const char* kNames[2][2] = {{"alpha", "beta"}, {"min", "max"}};
  const size_t most = activation == "LeakyRelu" ? 1 : activation == "HardSigmoid" || is_clip ? 2 : 0;
  for (size_t i = 0; i < std::min(parameters.size(), most); ++i)
    of_function.emplace(kNames[is_clip ? 1 : 0][i], parameters[i]);
  if (!is_function(activation)) return unsupported(fmt::format("its activation is '{}'", activation));
  return as_other(written(node, activation, {*result}, std::move(of_function)));
}

// ONNX Runtime has it in its own domain too.
Rewritten Importer::simplified_layer_normalization(const Node& node, Arguments arguments) {
  Node stand_in = node;
  stand_in.domain.clear();
  return as_other(result_of(stand_in, arguments));
}

// The sum is an output too: of one kernel, if `skip` has the input's shape and both have one type.
Done Importer::skip_normalization(const Node& node) {
  const auto given = arguments_of(node);
  if (!given) return given.error();
  const bool is_simplified = node.op == "SkipSimplifiedLayerNormalization";
  const auto at = [&](size_t index) { return index < given->size() ? (*given)[index] : nullptr; };
  if (!at(0) || !at(1) || !at(2)) return refused("it has no input, no skip or no gamma");
  const auto is_used = [&](size_t index) {
    return index < node.outputs.size() && !node.outputs[index].empty() && order_.uses.contains(node.outputs[index]);
  };
  if (is_used(1) || is_used(2)) return unsupported("its output mean or inv_std_var is used, and qgen computes neither");
  const auto input = computed(*at(0)), skip = computed(*at(1));
  if (!input) return input.error();
  if (!skip) return skip.error();
  const float epsilon = node.real("epsilon", 1e-12f);
  const Known *bias = is_simplified ? nullptr : at(3), *sum_bias = at(is_simplified ? 3 : 4);
  const auto tell = [&](const Known& output, const Known& sum) {
    if (is_used(0)) known_.insert_or_assign(node.outputs[0], output);
    if (is_used(3)) known_.insert_or_assign(node.outputs[3], sum);
  };

  const auto real = builder_.real_of(*input);
  if (!real) return real.error();
  const auto other = builder_.real_of(*skip, real->dtype);
  if (!other) return other.error();
  bool are_alike = input->shape == skip->shape && real->dtype == other->dtype && !input->shape.empty();
  graph::Node joined{.name = node.name,
                     .op = is_simplified ? "skip_rms_norm" : "skip_layer_norm",
                     .inputs = {{"input", real->value}, {"skip", other->value}},
                     .attributes = {{"epsilon", double{epsilon}}}};
  for (const auto& [port, known] : {std::pair{"weight", at(2)}, {"bias", bias}, {"sum_bias", sum_bias}}) {
    if (!known) continue;
    const auto row = builder_.real_of(*known, real->dtype);
    if (!row) return row.error();
    are_alike = are_alike && row->dtype == real->dtype && known->shape == Dims{input->shape.back()};
    joined.inputs.push_back({port, row->value});
  }
  if (are_alike) {
    constexpr std::string_view kOutputs[] = {"output", "sum"};
    const auto results = builder_.graph.add(std::move(joined), kOutputs);
    builder_.shapes.resize(builder_.graph.values.size(), input->shape);
    tell(Known{Real{results[0], real->dtype}, input->shape}, Known{Real{results[1], real->dtype}, input->shape});
    return std::monostate{};
  }
  auto sum = computed(node, "Add", {*input, *skip});
  if (sum && sum_bias) sum = computed(node, "Add", {*sum, *sum_bias});
  if (!sum) return sum.error();
  std::vector<Known> inputs{*sum, *at(2)};
  if (bias) inputs.push_back(*bias);
  const auto output = computed(node, is_simplified ? "RMSNormalization" : "LayerNormalization", std::move(inputs),
                               {{"epsilon", epsilon}});
  if (!output) return output.error();
  tell(*output, *sum);
  return std::monostate{};
}

namespace {

// Whether a node of join_layers() is one for the operator: of the last axes, with a factor and a summand for each of
// their elements.
bool is_of_rows(const std::vector<int64_t>& axes, Arguments arguments) {
  const Dims& shape = arguments[0]->shape;
  const size_t first = shape.size() - axes.size();
  if (axes.empty() || static_cast<size_t>(axes.front()) != first) return false;
  const auto without_first_ones = [](const Dims& sides, size_t from) {
    return Dims(std::find_if_not(sides.begin() + static_cast<std::ptrdiff_t>(from), sides.end(), is_one), sides.end());
  };
  const Dims row = without_first_ones(shape, first);
  return std::ranges::all_of(arguments.subspan(1), [&](const Known* known) {
    return known->shape.size() <= shape.size() && without_first_ones(known->shape, 0) == row;
  });
}

}  // namespace

// The nodes that join_layers() made one, again.
Rewritten Importer::layer_of_any_axes(const Node& node, Arguments arguments) {
  if (!node.find("axes")) return kOther;
  const auto axes = reduced_axes(node, arguments.first(1), arguments[0]->shape.size());
  if (!axes) return axes.error();
  if (is_of_rows(*axes, arguments)) return kOther;
  auto x = computed(*arguments[0]);
  if (x && node.op == "LayerNormalization") {
    const auto mean = computed(node, "ReduceMean", {*x}, {{"axes", *axes}});
    x = mean ? computed(node, "Sub", {*x, *mean}) : mean;
  }
  auto root = x ? computed(node, "Mul", {*x, *x}) : x;
  if (root) root = computed(node, "ReduceMean", {*root}, {{"axes", *axes}});
  if (root) root = computed(node, "Add", {*root, number(node.name + " epsilon", node.real("epsilon", 0))});
  if (root) root = computed(node, "Sqrt", {*root});
  auto result = root ? written(node, "Div", {*x, *root}) : root;
  for (size_t i = 1; result && i < arguments.size(); ++i)
    result = written(node, i == 1 ? "Mul" : "Add", {*result, *arguments[i]});
  return as_other(std::move(result));
}

// Of volumes and more dimensions: reductions.
Rewritten Importer::global_pool(const Node& node, Arguments arguments) {
  const size_t rank = arguments[0]->shape.size();
  if (rank <= 4) return kOther;
  std::vector<int64_t> axes(rank - 2);
  std::iota(axes.begin(), axes.end(), 2);
  return as_other(written(node, node.op == "GlobalMaxPool" ? "ReduceMax" : "ReduceMean", {*arguments[0]},
                          {{"axes", std::move(axes)}}));
}

Rewritten Importer::rewritten(const Node& node, Arguments arguments) {
  struct Row {
    std::string_view op, domain;
    Rewritten (Importer::*rewrite)(const Node& node, Arguments arguments);
  };
  constexpr std::string_view kMicrosoft = "com.microsoft";
  constexpr Row kRows[] = {
      {"ArgMax", "", &Importer::arg_extreme},
      {"ArgMin", "", &Importer::arg_extreme},
      {"AveragePool", "", &Importer::average_pool},
      {"Clip", "", &Importer::clip_to_data},
      {"Compress", "", &Importer::compressed},
      {"Conv", "", &Importer::convolution_of_volumes},
      {"ConvTranspose", "", &Importer::transposed_convolution_of_volumes},
      {"CumSum", "", &Importer::cumulative_sum},
      {"DepthToSpace", "", &Importer::depth_to_space_of_any},
      {"Einsum", "", &Importer::einsum},
      {"EyeLike", "", &Importer::rectangle_of_ones},
      {"FusedConv", kMicrosoft, &Importer::fused_layer},
      {"FusedGemm", kMicrosoft, &Importer::fused_layer},
      {"GatherND", "", &Importer::gather_nd},
      {"Gemm", "", &Importer::plain_gemm},
      {"GlobalAveragePool", "", &Importer::global_pool},
      {"GlobalMaxPool", "", &Importer::global_pool},
      {"GridSample", "", &Importer::grid_sample},
      {"GroupNormalization", "", &Importer::group_normalization},
      {"Hardmax", "", &Importer::hardmax},
      {"InstanceNormalization", "", &Importer::group_normalization},
      {"LRN", "", &Importer::local_response},
      {"LayerNormalization", "", &Importer::layer_of_any_axes},
      {"LogSoftmax", "", &Importer::log_softmax},
      {"MatMul", "", &Importer::product_of_vectors},
      {"Max", "", &Importer::extreme},
      {"MaxPool", "", &Importer::pool_of_volumes},
      {"Mean", "", &Importer::sum_of_all},
      {"MeanVarianceNormalization", "", &Importer::mean_variance},
      {"Min", "", &Importer::extreme},
      {"NegativeLogLikelihoodLoss", "", &Importer::negative_log_likelihood},
      {"OneHot", "", &Importer::one_hot},
      {"Pow", "", &Importer::power},
      {"RMSNormalization", "", &Importer::layer_of_any_axes},
      {"ReduceL1", "", &Importer::along_axes},
      {"ReduceL2", "", &Importer::along_axes},
      {"ReduceLogSum", "", &Importer::along_axes},
      {"ReduceLogSumExp", "", &Importer::along_axes},
      {"ReduceMax", "", &Importer::along_axes},
      {"ReduceMean", "", &Importer::along_axes},
      {"ReduceMin", "", &Importer::along_axes},
      {"ReduceProd", "", &Importer::along_axes},
      {"ReduceSum", "", &Importer::along_axes},
      {"ReduceSumSquare", "", &Importer::along_axes},
      {"ReverseSequence", "", &Importer::batches_in_order},
      {"RotaryEmbedding", "", &Importer::rotary_embedding},
      {"RotaryEmbedding", kMicrosoft, &Importer::rotary_embedding},
      {"Scatter", "", &Importer::scatter_elements},
      {"ScatterElements", "", &Importer::scatter_elements},
      {"ScatterND", "", &Importer::scatter_nd},
      {"SimplifiedLayerNormalization", kMicrosoft, &Importer::simplified_layer_normalization},
      {"SoftmaxCrossEntropyLoss", "", &Importer::softmax_cross_entropy},
      {"SpaceToDepth", "", &Importer::space_to_depth},
      {"Sum", "", &Importer::sum_of_all},
      {"Tile", "", &Importer::tiled},
      {"Trilu", "", &Importer::triangle},
  };
  const auto row =
      std::ranges::find_if(kRows, [&](const Row& it) { return it.op == node.op && it.domain == node.domain; });
  if (row == std::end(kRows)) return kOther;
  if (arguments.empty() || !arguments[0]) return refused("it has no input");
  return (this->*row->rewrite)(node, arguments);
}

bool Importer::is_rewritten(const Node& node) {
  constexpr std::string_view kOperators[] = {"ArgMax",
                                             "ArgMin",
                                             "Compress",
                                             "CumSum",
                                             "Einsum",
                                             "EyeLike",
                                             "GatherND",
                                             "GridSample",
                                             "GroupNormalization",
                                             "Hardmax",
                                             "InstanceNormalization",
                                             "LRN",
                                             "LogSoftmax",
                                             "Mean",
                                             "MeanVarianceNormalization",
                                             "NegativeLogLikelihoodLoss",
                                             "OneHot",
                                             "ReduceL1",
                                             "ReduceL2",
                                             "ReduceLogSum",
                                             "ReduceLogSumExp",
                                             "ReduceMax",
                                             "ReduceMin",
                                             "ReduceProd",
                                             "ReduceSum",
                                             "ReduceSumSquare",
                                             "ReverseSequence",
                                             "RotaryEmbedding",
                                             "Scatter",
                                             "ScatterElements",
                                             "ScatterND",
                                             "SoftmaxCrossEntropyLoss",
                                             "SpaceToDepth",
                                             "Sum",
                                             "Tile",
                                             "Trilu"};
  return std::ranges::find(kOperators, node.op) != std::end(kOperators);
}

}  // namespace qgen::onnx
