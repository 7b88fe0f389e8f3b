// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Nodes that compute element by element of several tensors, of any type: each becomes a chain of steps, one launch
// (docs/pointwise.md). Functions of one floating-point tensor are in functions.cpp.
//
//   reals       f32 or f16
//   integers    i32, whatever the model has: 64 bits are narrowed. Their results wrap as i32 does
//   booleans    u8, 0 or 1
//   bytes       i8, which kernels read as the model's own integers: those of uint8 are 128 more
#include <fmt/format.h>

#include <algorithm>

#include "runtime/models/onnx/fold.h"
#include "runtime/models/onnx/importer.h"

namespace qgen::onnx {
namespace {

using chains::Formula;
using chains::Step;
using Values = std::span<const uint32_t>;

// ---- the nodes ------------------------------------------------------------------------------------------------------

uint32_t real_or_integer(Formula& f, double number, bool is_real) {
  return is_real ? f.real(number) : f.bits(static_cast<int64_t>(number));
}

template <Step step>
uint32_t write_step(Formula& f, const Node&, Values x, bool) {
  return f.step(step, x[0], x.size() > 1 ? x[1] : 0, x.size() > 2 ? x[2] : 0);
}
template <Step step>
uint32_t write_turned(Formula& f, const Node&, Values x, bool) {
  return f.step(step, x[1], x[0]);
}
template <Step step>
uint32_t write_all(Formula& f, const Node&, Values x, bool) {
  uint32_t result = x[0];
  for (const uint32_t next : x.subspan(1)) result = f.step(step, result, next);
  return result;
}
uint32_t write_mod(Formula& f, const Node& node, Values x, bool) {
  return f.step(node.integer("fmod", 0) != 0 ? Step::remainder : Step::modulo, x[0], x[1]);
}
uint32_t write_prelu(Formula& f, const Node&, Values x, bool is_real) {
  const auto is_below = f.step(Step::less, x[0], real_or_integer(f, 0, is_real));
  return f.step(Step::choose, is_below, f.step(Step::multiply, x[0], x[1]), x[0]);
}
uint32_t write_relu(Formula& f, const Node&, Values x, bool is_real) {
  return f.step(Step::maximum, x[0], real_or_integer(f, 0, is_real));
}
uint32_t write_shift(Formula& f, const Node& node, Values x, bool) {
  return f.step(node.word("direction", "LEFT") == "RIGHT" ? Step::shift_right : Step::shift_left, x[0], x[1]);
}
uint32_t write_infinite(Formula& f, const Node& node, Values x, bool) {
  const bool of_positive = node.integer("detect_positive", 1) != 0,
             of_negative = node.integer("detect_negative", 1) != 0;
  const auto is_infinite = f.step(Step::is_infinite, x[0]);
  if (of_positive && of_negative) return is_infinite;
  if (!of_positive && !of_negative) return f.step(Step::less, x[0], x[0]);
  const auto zero = f.real(0);
  return f.step(Step::logical_and, is_infinite,
                of_positive ? f.step(Step::less, zero, x[0]) : f.step(Step::less, x[0], zero));
}

enum Types : uint8_t { kReals = 1, kIntegers = 2, kBooleans = 4, kNumbers = kReals | kIntegers };
struct Row {
  std::string_view op;
  size_t operands;  // 0: any number
  uint8_t types;    // that it takes
  bool gives_booleans;
  uint32_t (*write)(Formula& f, const Node& node, Values x, bool is_real);
};
constexpr Row kRows[] = {
    {"Abs", 1, kIntegers, false, write_step<Step::absolute>},
    {"Add", 2, kNumbers, false, write_step<Step::add>},
    {"And", 2, kBooleans, true, write_step<Step::logical_and>},
    {"BitShift", 2, kIntegers, false, write_shift},
    {"BitwiseAnd", 2, kIntegers, false, write_step<Step::bit_and>},
    {"BitwiseNot", 1, kIntegers, false, write_step<Step::bit_not>},
    {"BitwiseOr", 2, kIntegers, false, write_step<Step::bit_or>},
    {"BitwiseXor", 2, kIntegers, false, write_step<Step::bit_xor>},
    {"Div", 2, kNumbers, false, write_step<Step::divide>},
    {"Equal", 2, kNumbers | kBooleans, true, write_step<Step::equal>},
    {"Greater", 2, kNumbers, true, write_turned<Step::less>},
    {"GreaterOrEqual", 2, kNumbers, true, write_turned<Step::less_or_equal>},
    {"IsInf", 1, kReals, true, write_infinite},
    {"IsNaN", 1, kReals, true, write_step<Step::is_nan>},
    {"Less", 2, kNumbers, true, write_step<Step::less>},
    {"LessOrEqual", 2, kNumbers, true, write_step<Step::less_or_equal>},
    {"Max", 0, kNumbers, false, write_all<Step::maximum>},
    {"Min", 0, kNumbers, false, write_all<Step::minimum>},
    {"Mod", 2, kNumbers, false, write_mod},
    {"Mul", 2, kNumbers, false, write_step<Step::multiply>},
    {"Neg", 1, kIntegers, false, write_step<Step::negate>},
    {"Not", 1, kBooleans, true, write_step<Step::logical_not>},
    {"Or", 2, kBooleans, true, write_step<Step::logical_or>},
    {"PRelu", 2, kNumbers, false, write_prelu},
    {"Pow", 2, kNumbers, false, write_step<Step::power>},
    {"Relu", 1, kIntegers, false, write_relu},
    {"Sign", 1, kIntegers, false, write_step<Step::sign_of>},
    {"Sub", 2, kNumbers, false, write_step<Step::subtract>},
    {"Sum", 0, kNumbers, false, write_all<Step::add>},
    {"Xor", 2, kBooleans, true, write_step<Step::logical_xor>},
};

const Row* row_of(const Node& node) {
  if (!node.domain.empty()) return nullptr;
  const auto row = std::ranges::find(kRows, node.op, &Row::op);
  return row == std::end(kRows) ? nullptr : row;
}

// ---- types ----------------------------------------------------------------------------------------------------------

bool is_boolean(ElementType type) { return type == ElementType::boolean; }
bool is_eight_bits(ElementType type) { return type == ElementType::i8 || type == ElementType::u8; }
bool is_integer(ElementType type) {
  using enum ElementType;
  return type == i16 || type == u16 || type == i32 || type == u32 || type == i64 || type == u64;
}

uint8_t types_of(ElementType type) {
  if (type == ElementType::bf16) return 0;
  if (is_real(type)) return kReals;
  if (is_boolean(type)) return kBooleans;
  return is_eight_bits(type) || is_integer(type) ? kIntegers : 0;
}

// The 16-bit integer that remains of a 32-bit one.
uint32_t wrapped(Formula& f, uint32_t x, ElementType type) {
  if (type == ElementType::u16) return f.step(Step::bit_and, x, f.bits(0xffff));
  if (type != ElementType::i16) return x;
  const auto low = f.step(Step::bit_and, f.step(Step::add, x, f.bits(0x8000)), f.bits(0xffff));
  return f.step(Step::subtract, low, f.bits(0x8000));
}

}  // namespace

bool Importer::is_by_elements(const Node& node) {
  constexpr std::string_view kOthers[] = {"CastLike", "Where"};
  return row_of(node) || std::ranges::find(kOthers, node.op) != std::end(kOthers);
}

ElementType Importer::element_type_of(const Known& known) {
  if (are_sums(known)) return ElementType::i32;
  if (const auto dtype = computed_dtype(known)) return *dtype == DType::f16 ? ElementType::f16 : ElementType::f32;
  if (const auto* integers = known.as<Integers>()) return integers->type;
  if (const auto* codes = known.as<Codes>()) return codes->type;
  if (const TensorPtr tensor = known.tensor()) return tensor->type;
  if (known.as<Numbers>()) return ElementType::i64;
  if (known.as<DynamicZeroPoint>()) return ElementType::u8;
  return ElementType::f32;
}

// ---- operands -------------------------------------------------------------------------------------------------------

namespace {

// i32, or u8 of booleans.
Expected<HostTensor> integers_of(const Tensor& tensor) {
  const bool are_booleans = is_boolean(tensor.type);
  HostTensor result = zeros(are_booleans ? DType::u8 : DType::i32, tensor.shape);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const int64_t value = tensor.integer(i);
    if (!are_booleans && (value < INT32_MIN || value > INT32_MAX))
      return unsupported(fmt::format("'{}' has {}, and qgen computes with integers of 32 bits", tensor.name, value));
    set_element(result, i, static_cast<double>(are_booleans ? value != 0 : value));
  }
  return result;
}

}  // namespace

Expected<ValueId> Importer::integer_value(const Known& known) {
  if (const auto* it = known.as<Integers>()) return it->value;
  if (are_sums(known)) {
    const auto sums = builder_.real_of(known);
    if (!sums) return sums.error();
    return as_integers(sums->value, builder_.graph.values[sums->value].name);
  }
  const TensorPtr tensor = constant_of(known);
  if (!tensor) return unsupported("an input is computed of unknown dimensions");
  if (is_real(tensor->type)) return unsupported(fmt::format("'{}' is of {}", tensor->name, name(tensor->type)));
  if (Done spent = builder_.spend(tensor->size()); !spent) return spent.error();
  auto data = integers_of(*tensor);
  if (!data) return data.error();
  if (is_eight_bits(tensor->type) || known.as<Numbers>()) return builder_.constant(tensor->name, *std::move(data));
  return builder_.constant_of(tensor, " integers", [&] { return *std::move(data); });
}

// A value of the graph: floating-point of that dtype, int8, integers or booleans, depending on the type.
Expected<ValueId> Importer::element_value(const std::string& node_name, const Known& known, ElementType type) {
  if (is_real(type)) {
    const DType dtype = type == ElementType::f16 ? DType::f16 : DType::f32;
    const auto real = builder_.real_of(known, dtype);
    if (!real) return real.error();
    return real->dtype == dtype ? real->value : builder_.converted(node_name, real->value, dtype);
  }
  if (is_eight_bits(type)) {
    if (const auto* codes = known.as<Codes>()) return codes->value;
    const TensorPtr tensor = known.tensor();
    if (!tensor || tensor->type != type) return unsupported(fmt::format("an input is not {}", name(type)));
    return builder_.constant_of(tensor, "", [&] { return signed_codes(*tensor); });
  }
  return integer_value(known);
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

namespace {

// The type of a computed operand, or else of any.
ElementType type_of_all(Arguments operands) {
  const auto is_constant = [](const Known* it) { return it->tensor() || it->as<Numbers>(); };
  const auto computed = std::ranges::find_if_not(operands, is_constant);
  ElementType type = Importer::element_type_of(computed == operands.end() ? *operands.front() : **computed);
  // f16 operands next to f32 ones are computed in f32.
  for (const Known* operand : operands) {
    if (!is_constant(operand) && is_real(type) && Importer::element_type_of(*operand) == ElementType::f32)
      type = ElementType::f32;
  }
  return type == ElementType::f64 ? ElementType::f32 : type;
}

// The steps of a node with inputs of one type.
Formula formula_of(const Row& row, const Node& node, size_t inputs, ElementType type) {
  Formula formula;
  std::vector<uint32_t> values;
  const int32_t shift = is_eight_bits(type) ? shift_of(type) : 0;
  for (size_t i = 0; i < inputs; ++i) {
    const auto x = formula.input(static_cast<int64_t>(i));
    values.push_back(shift == 0 ? x : formula.step(Step::add, x, formula.bits(shift)));
  }
  auto result = row.write(formula, node, values, is_real(type));
  if (formula.values[result].kind != chains::Value::Kind::step)  // Max of one tensor
    result = formula.step(Step::maximum, result, result);
  if (row.gives_booleans) return formula;
  if (shift != 0) formula.step(Step::subtract, result, formula.bits(shift));
  else wrapped(formula, result, type);
  return formula;
}

}  // namespace

Known Importer::elements_known(ValueId value, ElementType type, const Dims& shape) {
  if (is_real(type)) return {Real{value, type == ElementType::f16 ? DType::f16 : DType::f32}, shape};
  if (is_eight_bits(type)) return {Codes{value, type}, shape};
  return {Integers{value, type}, shape};
}

Expected<std::optional<Known>> Importer::by_elements(const Node& node, Arguments arguments) {
  if (node.op == "Where" && node.domain.empty()) return where(node, arguments);
  const Row* row = row_of(node);
  if (!row || arguments.empty() || std::ranges::count(arguments, nullptr) > 0) return std::optional<Known>();
  if (row->operands != 0 && arguments.size() != row->operands)
    return refused(fmt::format("it has {} inputs, and needs {}", arguments.size(), row->operands));
  // More steps than a chain has: several chains in a row.
  if (arguments.size() > chains::kMostInputs) {
    auto first = by_elements(node, arguments.first(chains::kMostInputs));
    if (!first || !*first) return first;
    std::vector<const Known*> rest{&**first};
    rest.insert(rest.end(), arguments.begin() + chains::kMostInputs, arguments.end());
    return by_elements(node, rest);
  }
  ElementType type = type_of_all(arguments);
  if (!(types_of(type) & row->types)) return std::optional<Known>();
  if (node.is_old && node.op == "PRelu" && arguments[1]->shape.size() == 1) {  // slopes of channels
    Dims lies(std::max<size_t>(arguments[0]->shape.size(), 2) - 1, Number{1});
    lies[0] = arguments[1]->shape[0];
    const auto slopes = viewed(node, *arguments[1], lies);
    if (!slopes) return slopes.error();
    Node newer = node;
    newer.is_old = false;
    const Known* operands[] = {arguments[0], &*slopes};
    return by_elements(newer, operands);
  }
  // An exponent may have another type than its base.
  const ElementType own = node.op == "Pow" ? element_type_of(*arguments[0]) : type;
  if (node.op == "Pow" && types_of(own) == kIntegers) return power_of_integers(node, arguments);
  Dims shape = arguments[0]->shape;
  std::vector<ValueId> inputs;
  for (const Known* argument : arguments) {
    Known operand = *argument;
    if (node.op == "Pow" && is_real(type) && !is_real(element_type_of(operand)) && !operand.as<Codes>()) {
      auto real = as_type(node, operand, type);
      if (!real) return real.error();
      operand = *std::move(real);
    }
    const auto value = element_value(node.name, operand, type);
    if (!value) return value.error();
    inputs.push_back(*value);
    auto both = broadcast(shape, argument->shape);
    if (!both) return both.error();
    shape = *std::move(both);
  }
  const Formula formula = formula_of(*row, node, inputs.size(), type);
  if (row->gives_booleans) {
    const ValueId value = builder_.pointwise(node.name, formula, inputs, shape, DType::u8);
    return std::optional(Known{Integers{value, ElementType::boolean}, shape});
  }
  if (type == ElementType::i64 || type == ElementType::u64 || type == ElementType::u32)
    builder_.note(node.name, "is computed with integers of 32 bits, which wrap");
  // int8 results wrap when they are stored, so their chains have a type: passes.h.
  const auto output = is_eight_bits(type) ? std::optional(DType::i8) : std::nullopt;
  return std::optional(elements_known(builder_.pointwise(node.name, formula, inputs, shape, output), type, shape));
}

// The exponent is converted: of integers, whose powers are exact, if it is one.
Expected<std::optional<Known>> Importer::power_of_integers(const Node& node, Arguments arguments) {
  const ElementType own = element_type_of(*arguments[0]);
  const bool is_whole = !is_real(element_type_of(*arguments[1]));
  std::vector<Known> operands;
  for (const Known* argument : arguments) {
    auto operand = as_type(node, *argument, is_whole ? ElementType::i32 : ElementType::f32);
    if (!operand) return operand.error();
    operands.push_back(*std::move(operand));
  }
  Formula formula;
  formula.step(Step::power, formula.input(0), formula.input(1));
  const auto shape = broadcast(arguments[0]->shape, arguments[1]->shape);
  if (!shape) return shape.error();
  std::vector<ValueId> inputs;
  for (const Known& operand : operands) {
    const auto value = element_value(node.name, operand, is_whole ? ElementType::i32 : ElementType::f32);
    if (!value) return value.error();
    inputs.push_back(*value);
  }
  const ValueId value = builder_.pointwise(node.name, formula, inputs, *shape);
  const Known result = elements_known(value, is_whole ? ElementType::i32 : ElementType::f32, *shape);
  auto back = as_type(node, result, own);
  if (!back) return back.error();
  return std::optional(*std::move(back));
}

Expected<std::optional<Known>> Importer::where(const Node& node, Arguments arguments) {
  if (arguments.size() != 3 || std::ranges::count(arguments, nullptr) > 0)
    return refused("it does not have three inputs");
  const auto mask = integer_value(*arguments[0]);
  if (!mask) return mask.error();
  const ElementType type = type_of_all(arguments.subspan(1));
  if (types_of(type) == 0) return unsupported(fmt::format("its inputs are {}", name(type)));
  Dims shape = arguments[0]->shape;
  std::vector<ValueId> inputs;
  for (const Known* argument : arguments.subspan(1)) {
    const auto value = element_value(node.name, *argument, type);
    if (!value) return value.error();
    inputs.push_back(*value);
    auto both = broadcast(shape, argument->shape);
    if (!both) return both.error();
    shape = *std::move(both);
  }
  Formula formula;
  formula.step(Step::choose, formula.input(chains::kMaskInput), formula.input(0), formula.input(1));
  return std::optional(elements_known(builder_.pointwise(node.name, formula, inputs, shape, {}, *mask), type, shape));
}

// ---- other types ----------------------------------------------------------------------------------------------------

// As Cast: floating-point numbers towards zero, integers by their low bits, and values other than 0 are true.
Expected<Known> Importer::as_type(const Node& node, const Known& input, ElementType to) {
  ElementType from = element_type_of(input);
  if (from == ElementType::f64) from = ElementType::f32;
  if (to == ElementType::f64) to = ElementType::f32;
  if (from == to && !is_nibble(from)) {
    const auto same = element_value(node.name, input, to);
    if (!same) return same.error();
    return elements_known(*same, to, input.shape);
  }
  if (types_of(from) == 0 || types_of(to) == 0)
    return unsupported(fmt::format("qgen has no operator that converts {} to {}", name(from), name(to)));
  const auto value = element_value(node.name, input, from);
  if (!value) return value.error();
  // Integers of at least 32 bits are one type to the graph.
  const bool is_wide =
      to == ElementType::i32 || to == ElementType::u32 || to == ElementType::i64 || to == ElementType::u64;
  if (is_integer(from) && is_wide) return Known{Integers{*value, to}, input.shape};
  Formula formula;
  uint32_t x = formula.input(0);
  if (is_eight_bits(from) && shift_of(from) != 0) x = formula.step(Step::add, x, formula.bits(shift_of(from)));
  DType output = DType::i32;
  if (is_boolean(to)) {
    formula.step(Step::logical_or, x, x);
    output = DType::u8;
  } else if (is_real(to)) {
    formula.step(Step::maximum, x, x);
    output = to == ElementType::f16 ? DType::f16 : DType::f32;
  } else {
    if (is_real(from)) x = formula.step(Step::truncate, x);
    const int32_t shift = is_eight_bits(to) ? shift_of(to) : 0;
    if (shift != 0) x = formula.step(Step::subtract, x, is_real(from) ? formula.real(shift) : formula.bits(shift));
    else if (!is_real(from)) x = wrapped(formula, x, to);
    if (formula.values.back().kind != chains::Value::Kind::step) formula.step(Step::maximum, x, x);
    output = is_eight_bits(to) ? DType::i8 : DType::i32;
  }
  return elements_known(builder_.pointwise(node.name, formula, {*value}, input.shape, output), to, input.shape);
}

Expected<Known> Importer::chain_of(const Node& node, const Formula& formula, const std::vector<const Known*>& inputs) {
  std::vector<ValueId> values;
  Dims shape = inputs[0]->shape;
  for (const Known* input : inputs) {
    const auto value = element_value(node.name, *input, ElementType::f32);
    if (!value) return value.error();
    values.push_back(*value);
    auto both = broadcast(shape, input->shape);
    if (!both) return both.error();
    shape = *std::move(both);
  }
  return Known{Real{builder_.pointwise(node.name, formula, values, shape), DType::f32}, shape};
}

}  // namespace qgen::onnx
