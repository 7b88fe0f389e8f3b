// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "runtime/engine/tensor/npy.h"
#include "runtime/models/onnx/dims.h"
#include "runtime/models/onnx/functions.h"

namespace qgen::onnx {
namespace {

using Evaluated = Expected<std::optional<Tensor>>;
using Inputs = std::span<const TensorPtr>;

// ---- elements -------------------------------------------------------------------------------------------------------

bool is_known_type(ElementType type) { return type != ElementType::other && type != ElementType::bf16; }

double real_at(const Tensor& tensor, int64_t i) {
  if (tensor.type != ElementType::f64)
    return is_real(tensor.type) ? double{tensor.real(i)} : static_cast<double>(tensor.integer(i));
  double value = 0;
  std::memcpy(&value, tensor.data.data() + 8 * i, 8);
  return value;
}

// A tensor of that type and shape, of zeros.
Tensor made(const Node& node, ElementType type, Shape shape) {
  const auto size = static_cast<size_t>(element_count(shape) * bytes(type));
  return {node.name, type, std::move(shape), std::vector<std::byte>(size)};
}

template <typename T>
void put(Tensor& tensor, int64_t i, T value) {
  std::memcpy(tensor.data.data() + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
}

void set_real(Tensor& tensor, int64_t i, double value) {
  if (tensor.type == ElementType::f64) put(tensor, i, value);
  else if (tensor.type == ElementType::f32) put(tensor, i, static_cast<float>(value));
  else put(tensor, i, f32_to_f16(static_cast<float>(value)));
}

// Its low bits; of four bits sign-extended.
void set_integer(Tensor& tensor, int64_t i, int64_t value) {
  if (tensor.type == ElementType::boolean) value = value != 0 ? 1 : 0;
  if (tensor.type == ElementType::i4) value = static_cast<int64_t>(static_cast<uint64_t>(value) << 60) >> 60;
  if (tensor.type == ElementType::u4) value &= 15;
  const auto size = static_cast<size_t>(bytes(tensor.type));
  std::memcpy(tensor.data.data() + static_cast<size_t>(i) * size, &value, size);
}

void copy_element(Tensor& to, int64_t i, const Tensor& from, int64_t j) {
  const auto size = static_cast<size_t>(bytes(to.type));
  std::memcpy(to.data.data() + static_cast<size_t>(i) * size, from.data.data() + static_cast<size_t>(j) * size, size);
}

// ---- shapes ---------------------------------------------------------------------------------------------------------

Expected<Shape> broadcast_shape(const Shape& a, const Shape& b) {
  Shape output(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < output.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      return refused(fmt::format("shapes {} and {} cannot be broadcast", to_text(a), to_text(b)));
    output[output.size() - 1 - i] = x == 1 ? y : x;
  }
  return output;
}

// The row-major place in `shape` of each element of `output`, which it is broadcast to.
std::vector<int64_t> places_in(const Shape& shape, const Shape& output) {
  std::vector<int64_t> places(static_cast<size_t>(element_count(output)), 0);
  const Strides strides = row_major_strides(shape);
  const size_t more = output.size() - shape.size();
  int64_t run = 1;  // elements of the output per step of the dimension
  for (size_t d = output.size(); d-- > 0; run *= output[d]) {
    if (d < more || shape[d - more] == 1) continue;
    for (size_t i = 0; i < places.size(); ++i)
      places[i] += static_cast<int64_t>(i) / run % output[d] * strides[d - more];
  }
  return places;
}

// Loops go along each side, even if another one is 0.
bool is_bounded(const Shape& shape, int64_t most) {
  int64_t extent = 1;
  for (const int64_t side : shape) {
    if (__builtin_mul_overflow(extent, std::max<int64_t>(side, 1), &extent) || extent > most) return false;
  }
  return true;
}

Done check_size(const Shape& shape, int64_t most) {
  if (Done sound = check_shape(shape); !sound) return sound;
  if (is_bounded(shape, most)) return std::monostate{};
  return refused(fmt::format("a constant of shape {} is more than the model's size allows", to_text(shape)));
}

std::vector<int64_t> list_of(const Tensor& tensor) {
  std::vector<int64_t> list;
  for (int64_t i = 0; i < tensor.size(); ++i) list.push_back(tensor.integer(i));
  return list;
}

// An attribute until some opset, an input since; nullopt: neither.
std::optional<std::vector<int64_t>> list_at(const Node& node, std::string_view attribute, Inputs inputs, size_t index) {
  if (node.find(attribute)) return node.integers(attribute);
  if (index < inputs.size() && inputs[index]) return list_of(*inputs[index]);
  return std::nullopt;
}

Expected<size_t> axis_of(int64_t said, size_t rank) {
  const auto axis = dimension_at(said, rank);
  if (!axis) return no_axis(said, rank);
  return *axis;
}

// ---- element by element ---------------------------------------------------------------------------------------------

struct Unary {
  std::string_view op;
  double (*of_real)(double);
  int64_t (*of_integer)(int64_t) = nullptr;
};
int64_t negated(int64_t x) { return static_cast<int64_t>(0 - static_cast<uint64_t>(x)); }
constexpr Unary kUnary[] = {
    {"Abs", [](double x) { return std::abs(x); }, [](int64_t x) { return x < 0 ? negated(x) : x; }},
    {"Acos", [](double x) { return std::acos(x); }},
    {"Asin", [](double x) { return std::asin(x); }},
    {"Atan", [](double x) { return std::atan(x); }},
    {"Ceil", [](double x) { return std::ceil(x); }},
    {"Cos", [](double x) { return std::cos(x); }},
    {"Cosh", [](double x) { return std::cosh(x); }},
    {"Erf", [](double x) { return std::erf(x); }},
    {"Exp", [](double x) { return std::exp(x); }},
    {"Floor", [](double x) { return std::floor(x); }},
    {"Log", [](double x) { return std::log(x); }},
    {"Neg", [](double x) { return -x; }, negated},
    {"Not", nullptr, [](int64_t x) { return int64_t{x == 0}; }},
    {"Reciprocal", [](double x) { return 1 / x; }},
    {"Round", [](double x) { return std::nearbyint(x); }},
    {"Sign", [](double x) { return x > 0   ? 1.0
                                   : x < 0 ? -1.0
                                           : x; },
     [](int64_t x) { return int64_t{x > 0} - (x < 0); }},
    {"Sin", [](double x) { return std::sin(x); }},
    {"Sinh", [](double x) { return std::sinh(x); }},
    {"Sqrt", [](double x) { return std::sqrt(x); }},
    {"Tan", [](double x) { return std::tan(x); }},
};

Evaluated unary(const Node& node, const Unary& row, const Tensor& x) {
  Tensor result = made(node, x.type, x.shape);
  for (int64_t i = 0; i < x.size(); ++i) {
    if (is_real(x.type) && row.of_real) set_real(result, i, row.of_real(real_at(x, i)));
    else if (!is_real(x.type) && row.of_integer) set_integer(result, i, row.of_integer(x.integer(i)));
    else return std::optional<Tensor>();
  }
  return std::optional(std::move(result));
}

Evaluated function(const Node& node, Inputs inputs) {
  const auto of = function_of(node, inputs);
  if (!of) return of.error();
  if (!*of || !is_real(inputs[0]->type)) return std::optional<Tensor>();
  Tensor result = made(node, inputs[0]->type, inputs[0]->shape);
  for (int64_t i = 0; i < result.size(); ++i) set_real(result, i, (*of)->of(real_at(*inputs[0], i)));
  return std::optional(std::move(result));
}

// Of integers; a bound that is left out bounds nothing.
Evaluated clip(const Node& node, Inputs inputs) {
  const Tensor& x = *inputs[0];
  const auto bound = [&](size_t i) { return i < inputs.size() ? inputs[i] : nullptr; };
  for (size_t i = 1; i < 3; ++i) {
    if (bound(i) && (bound(i)->size() != 1 || bound(i)->type != x.type)) return std::optional<Tensor>();
  }
  Tensor result = made(node, x.type, x.shape);
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t value = x.integer(i);
    if (bound(1)) value = std::max(value, bound(1)->integer(0));
    if (bound(2)) value = std::min(value, bound(2)->integer(0));
    set_integer(result, i, value);
  }
  return std::optional(std::move(result));
}

struct Binary {
  std::string_view op;
  double (*of_reals)(double, double);
  int64_t (*of_integers)(int64_t, int64_t);
  bool is_comparison = false;
};
uint64_t bits(int64_t x) { return static_cast<uint64_t>(x); }
int64_t quotient(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? negated(a) : a / b; }
// With the sign of the divisor, as Python's.
int64_t remainder(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
int64_t power(int64_t a, int64_t b) {
  uint64_t result = 1;
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
  for (uint64_t base = bits(a); b > 0; b >>= 1, base *= base) result *= b & 1 ? base : 1;
  return static_cast<int64_t>(result);
}
constexpr Binary kBinary[] = {
    {"Add", [](double a, double b) { return a + b; },
     [](int64_t a, int64_t b) { return static_cast<int64_t>(bits(a) + bits(b)); }},
    {"Sub", [](double a, double b) { return a - b; },
     [](int64_t a, int64_t b) { return static_cast<int64_t>(bits(a) - bits(b)); }},
    {"Mul", [](double a, double b) { return a * b; },
     [](int64_t a, int64_t b) { return static_cast<int64_t>(bits(a) * bits(b)); }},
    {"Div", [](double a, double b) { return a / b; }, quotient},
    {"Pow", [](double a, double b) { return std::pow(a, b); }, power},
    {"Mod", [](double a, double b) { return std::fmod(a, b); }, remainder},
    {"Max", [](double a, double b) { return std::isnan(a) || a > b ? a : b; },
     [](int64_t a, int64_t b) { return std::max(a, b); }},
    {"Min", [](double a, double b) { return std::isnan(a) || a < b ? a : b; },
     [](int64_t a, int64_t b) { return std::min(a, b); }},
    {"Sum", [](double a, double b) { return a + b; }, nullptr},
    {"And", nullptr, [](int64_t a, int64_t b) { return a & b; }, true},
    {"Or", nullptr, [](int64_t a, int64_t b) { return a | b; }, true},
    {"Xor", nullptr, [](int64_t a, int64_t b) { return a ^ b; }, true},
    {"Equal", [](double a, double b) { return a == b ? 1.0 : 0.0; },
     [](int64_t a, int64_t b) { return int64_t{a == b}; }, true},
    {"Greater", [](double a, double b) { return a > b ? 1.0 : 0.0; },
     [](int64_t a, int64_t b) { return int64_t{a > b}; }, true},
    {"GreaterOrEqual", [](double a, double b) { return a >= b ? 1.0 : 0.0; },
     [](int64_t a, int64_t b) { return int64_t{a >= b}; }, true},
    {"Less", [](double a, double b) { return a < b ? 1.0 : 0.0; }, [](int64_t a, int64_t b) { return int64_t{a < b}; },
     true},
    {"LessOrEqual", [](double a, double b) { return a <= b ? 1.0 : 0.0; },
     [](int64_t a, int64_t b) { return int64_t{a <= b}; }, true},
};

Evaluated binary(const Node& node, const Binary& row, const Tensor& a, const Tensor& b, int64_t most) {
  const bool are_real = is_real(a.type) && is_real(b.type);
  if (is_real(a.type) ? !row.of_reals : !row.of_integers) return std::optional<Tensor>();
  // A power has its base's type, whatever its exponent is of.
  if (is_real(a.type) != is_real(b.type) && (node.op != "Pow" || is_real(b.type))) return std::optional<Tensor>();
  if (node.op == "Div" && !are_real) {
    for (int64_t i = 0; i < b.size(); ++i) {
      if (b.integer(i) == 0) return refused("it divides an integer by 0");
    }
  }
  const auto shape = broadcast_shape(a.shape, b.shape);
  if (!shape) return shape.error();
  if (Done sound = check_size(*shape, most); !sound) return sound.error();
  Tensor result = made(node, row.is_comparison ? ElementType::boolean : a.type, *shape);
  const auto at_a = places_in(a.shape, *shape), at_b = places_in(b.shape, *shape);
  const bool in_reals = are_real || is_real(a.type);
  for (int64_t i = 0; i < result.size(); ++i) {
    const int64_t x = at_a[static_cast<size_t>(i)], y = at_b[static_cast<size_t>(i)];
    if (in_reals && !row.is_comparison) set_real(result, i, row.of_reals(real_at(a, x), real_at(b, y)));
    else if (in_reals) set_integer(result, i, row.of_reals(real_at(a, x), real_at(b, y)) != 0 ? 1 : 0);
    else set_integer(result, i, row.of_integers(a.integer(x), b.integer(y)));
  }
  return std::optional(std::move(result));
}

// Of two inputs, or of several one after the other.
Evaluated binary_of_all(const Node& node, const Binary& row, Inputs inputs, int64_t most) {
  Tensor result = *inputs[0];
  result.name = node.name;
  for (size_t i = 1; i < inputs.size(); ++i) {
    auto next = binary(node, row, result, *inputs[i], most);
    if (!next || !*next) return next;
    result = **std::move(next);
  }
  return std::optional(std::move(result));
}

Evaluated where(const Node& node, Inputs inputs, int64_t most) {
  if (inputs.size() != 3 || inputs[1]->type != inputs[2]->type) return std::optional<Tensor>();
  auto shape = broadcast_shape(inputs[1]->shape, inputs[2]->shape);
  if (shape) shape = broadcast_shape(*shape, inputs[0]->shape);
  if (!shape) return shape.error();
  if (Done sound = check_size(*shape, most); !sound) return sound.error();
  Tensor result = made(node, inputs[1]->type, *shape);
  std::vector<int64_t> places[3];
  for (size_t i = 0; i < 3; ++i) places[i] = places_in(inputs[i]->shape, *shape);
  for (size_t i = 0; i < places[0].size(); ++i) {
    const size_t from = inputs[0]->integer(places[0][i]) != 0 ? 1 : 2;
    copy_element(result, static_cast<int64_t>(i), *inputs[from], places[from][i]);
  }
  return std::optional(std::move(result));
}

int64_t truncated(double x) {
  constexpr double kLow = -0x1p63, kHigh = 0x1p63;
  if (std::isnan(x)) return 0;
  return x <= kLow    ? std::numeric_limits<int64_t>::min()
         : x >= kHigh ? std::numeric_limits<int64_t>::max()
                      : static_cast<int64_t>(x);
}

Evaluated cast(const Node& node, const Tensor& x) {
  const ElementType to = element_type(node.integer("to", 0));
  if (!is_known_type(to)) return std::optional<Tensor>();
  Tensor result = made(node, to, x.shape);
  for (int64_t i = 0; i < x.size(); ++i) {
    const bool is_integer = !is_real(x.type);
    if (is_real(to)) set_real(result, i, real_at(x, i));
    else if (to == ElementType::boolean) set_integer(result, i, real_at(x, i) != 0 ? 1 : 0);
    else set_integer(result, i, is_integer ? x.integer(i) : truncated(real_at(x, i)));
  }
  return std::optional(std::move(result));
}

// ---- made of shapes and numbers -------------------------------------------------------------------------------------

Evaluated constant_of_shape(const Node& node, const Tensor& shape, int64_t most) {
  const Shape sides = list_of(shape);
  if (Done sound = check_size(sides, most); !sound) return sound.error();
  const AttributeData* data = node.find("value");
  const auto* value = data ? std::get_if<TensorPtr>(data) : nullptr;
  if (value && (*value)->size() != 1) return refused("its value is no single element");
  Tensor result = made(node, value ? (*value)->type : ElementType::f32, sides);
  for (int64_t i = 0; value && i < result.size(); ++i) copy_element(result, i, **value, 0);
  return std::optional(std::move(result));
}

Evaluated range(const Node& node, Inputs inputs, int64_t most) {
  if (inputs.size() != 3) return std::optional<Tensor>();
  const ElementType type = inputs[0]->type;
  for (const TensorPtr& input : inputs) {
    if (input->size() != 1 || input->type != type) return std::optional<Tensor>();
  }
  const double start = real_at(*inputs[0], 0), limit = real_at(*inputs[1], 0), delta = real_at(*inputs[2], 0);
  if (delta == 0) return refused("its delta is 0");
  const double count = std::max(std::ceil((limit - start) / delta), 0.0);
  if (!(count <= static_cast<double>(most)))
    return refused(fmt::format("it has {} elements, and a constant can have {} here", count, most));
  Tensor result = made(node, type, {static_cast<int64_t>(count)});
  for (int64_t i = 0; i < result.size(); ++i) {
    if (is_real(type)) set_real(result, i, start + static_cast<double>(i) * delta);
    else set_integer(result, i, inputs[0]->integer(0) + i * inputs[2]->integer(0));
  }
  return std::optional(std::move(result));
}

Evaluated size(const Node& node, const Tensor& x) {
  Tensor result = made(node, ElementType::i64, {});
  set_integer(result, 0, x.size());
  return std::optional(std::move(result));
}

// ---- moved ----------------------------------------------------------------------------------------------------------

Evaluated expand(const Node& node, const Tensor& x, const Shape& target, int64_t most) {
  const auto shape = broadcast_shape(x.shape, target);
  if (!shape) return shape.error();
  if (Done sound = check_size(*shape, most); !sound) return sound.error();
  Tensor result = made(node, x.type, *shape);
  const auto places = places_in(x.shape, *shape);
  for (size_t i = 0; i < places.size(); ++i) copy_element(result, static_cast<int64_t>(i), x, places[i]);
  return std::optional(std::move(result));
}

// The elements of `x` whose place along each dimension is one of a list.
Tensor taken(const Node& node, const Tensor& x, const std::vector<std::vector<int64_t>>& places) {
  Shape shape;
  for (const auto& list : places) shape.push_back(std::ssize(list));
  Tensor result = made(node, x.type, shape);
  const Strides strides = row_major_strides(x.shape);
  for (int64_t i = 0; i < result.size(); ++i) {
    int64_t rest = i, from = 0;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d])
      from += places[d][static_cast<size_t>(rest % shape[d])] * strides[d];
    copy_element(result, i, x, from);
  }
  return result;
}

std::vector<std::vector<int64_t>> all_places(const Shape& shape) {
  std::vector<std::vector<int64_t>> places;
  for (const int64_t side : shape) {
    places.emplace_back(static_cast<size_t>(side));
    std::iota(places.back().begin(), places.back().end(), 0);
  }
  return places;
}

Evaluated tile(const Node& node, const Tensor& x, const Tensor& repeats, int64_t most) {
  if (repeats.size() != std::ssize(x.shape)) return refused("it has no number of repeats for each axis");
  Shape shape = x.shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (repeats.integer(static_cast<int64_t>(d)) < 0 ||
        __builtin_mul_overflow(shape[d], repeats.integer(static_cast<int64_t>(d)), &shape[d]))
      return refused("its repeats are below 0 or too many");
  }
  if (Done sound = check_size(shape, most); !sound) return sound.error();
  auto places = all_places(shape);
  for (size_t d = 0; d < shape.size(); ++d) {
    for (int64_t& place : places[d]) place %= std::max<int64_t>(x.shape[d], 1);
  }
  return std::optional(taken(node, x, places));
}

Evaluated gather(const Node& node, const Tensor& x, const Tensor& indices, int64_t most) {
  const auto axis = axis_of(node.integer("axis", 0), x.shape.size());
  if (!axis) return axis.error();
  auto places = all_places(x.shape);
  places[*axis] = list_of(indices);
  for (int64_t& place : places[*axis]) {
    const int64_t side = x.shape[*axis], said = place;
    place += place < 0 ? side : 0;
    if (place < 0 || place >= side)
      return refused(fmt::format("one of its indices is {}, in a dimension of {}", said, side));
  }
  Shape shape = x.shape;
  shape[*axis] = indices.size();
  if (Done sound = check_size(shape, most); !sound) return sound.error();
  Tensor result = taken(node, x, places);
  const auto at = shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  shape.insert(at, indices.shape.begin(), indices.shape.end());
  result.shape = std::move(shape);
  return std::optional(std::move(result));
}

Evaluated slice(const Node& node, Inputs inputs) {
  const Tensor& x = *inputs[0];
  const auto starts = list_at(node, "starts", inputs, 1), ends = list_at(node, "ends", inputs, 2);
  if (!starts || !ends || starts->size() != ends->size()) return refused("it has no start and end for each axis");
  std::vector<int64_t> all(starts->size());
  std::iota(all.begin(), all.end(), 0);
  const auto axes = list_at(node, "axes", inputs, 3).value_or(all);
  const auto steps = list_at(node, "", inputs, 4).value_or(std::vector<int64_t>(starts->size(), 1));
  if (axes.size() != starts->size() || steps.size() != starts->size())
    return refused("its starts, axes and steps have different lengths");
  auto places = all_places(x.shape);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = axis_of(axes[i], x.shape.size());
    if (!axis) return axis.error();
    const int64_t side = x.shape[*axis], step = steps[i];
    if (step == 0) return refused("one of its steps is 0");
    const int64_t least = step > 0 ? 0 : -1, most = step > 0 ? side : side - 1;
    const auto place = [&](int64_t said) {
      return std::clamp(said < 0 ? std::max(said, -side - 1) + side : said, least, most);
    };
    places[*axis].clear();
    const int64_t end = place((*ends)[i]);
    for (int64_t at = place((*starts)[i]); step > 0 ? at < end : at > end;) {
      places[*axis].push_back(at);
      if (std::abs(step) >= side + 1) break;
      at += step;
    }
  }
  return std::optional(taken(node, x, places));
}

Evaluated concat(const Node& node, Inputs inputs, int64_t most) {
  const auto axis = axis_of(node.integer("axis", 1), inputs[0]->shape.size());
  if (!axis) return axis.error();
  Shape shape = inputs[0]->shape;
  for (const TensorPtr& part : inputs.subspan(1)) {
    Shape expected = part->shape;
    if (expected.size() != shape.size() || part->type != inputs[0]->type)
      return refused("its inputs have shapes that do not match");
    expected[*axis] = shape[*axis];
    if (expected != shape) return refused("its inputs have shapes that do not match");
    shape[*axis] += part->shape[*axis];
  }
  if (Done sound = check_size(shape, most); !sound) return sound.error();
  Tensor result = made(node, inputs[0]->type, shape);
  const auto inner = static_cast<size_t>(
      element_count({shape.begin() + static_cast<std::ptrdiff_t>(*axis) + 1, shape.end()}) * bytes(result.type));
  const auto outer =
      static_cast<size_t>(element_count({shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(*axis)}));
  auto to = result.data.begin();
  for (size_t row = 0; row < outer; ++row) {
    for (const TensorPtr& part : inputs) {
      const auto count = static_cast<std::ptrdiff_t>(static_cast<size_t>(part->shape[*axis]) * inner);
      const auto from = part->data.begin() + static_cast<std::ptrdiff_t>(row) * count;
      to = std::copy(from, from + count, to);
    }
  }
  return std::optional(std::move(result));
}

// The elements on and above a diagonal, or on and below it, of each matrix; zeros elsewhere.
Evaluated triangle(const Node& node, const Tensor& x, int64_t diagonal) {
  if (x.shape.size() < 2) return refused(fmt::format("its input is {}", to_text(x.shape)));
  const int64_t rows = x.shape[x.shape.size() - 2], columns = x.shape.back();
  const bool is_upper = node.integer("upper", 1) != 0;
  Tensor result = made(node, x.type, x.shape);
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t distance = i % columns - i / columns % rows;
    if (is_upper ? distance >= diagonal : distance <= diagonal) copy_element(result, i, x, i);
  }
  return std::optional(std::move(result));
}

Evaluated cumulative_sum(const Node& node, const Tensor& x, int64_t said_axis) {
  const auto axis = axis_of(said_axis, x.shape.size());
  if (!axis) return axis.error();
  const int64_t side = x.shape[*axis], inner = row_major_strides(x.shape)[*axis];
  const bool is_reverse = node.integer("reverse", 0) != 0, is_exclusive = node.integer("exclusive", 0) != 0;
  Tensor result = made(node, x.type, x.shape);
  for (int64_t line = 0; side > 0 && line < x.size() / side; ++line) {
    const int64_t first = line / inner * inner * side + line % inner;
    double real = 0;
    int64_t integer = 0;
    for (int64_t j = 0; j < side; ++j) {
      const int64_t i = first + (is_reverse ? side - 1 - j : j) * inner;
      const auto put_sum = [&] { is_real(x.type) ? set_real(result, i, real) : set_integer(result, i, integer); };
      if (is_exclusive) put_sum();
      if (is_real(x.type)) real += real_at(x, i);
      else integer = static_cast<int64_t>(static_cast<uint64_t>(integer) + static_cast<uint64_t>(x.integer(i)));
      if (!is_exclusive) put_sum();
    }
  }
  return std::optional(std::move(result));
}

// By mean and variance of each channel, or by those that are given. Exporters write weights that are standardized so.
Evaluated batch_normalization(const Node& node, Inputs inputs, int64_t opset) {
  const Tensor& x = *inputs[0];
  constexpr int64_t kWithMode =
      14;  // before, a node with more outputs trains, by an average that also has the old mean
  const bool trains = node.integer("training_mode", 0) != 0;
  if (opset < kWithMode && node.outputs.size() > 1) return std::optional<Tensor>();
  if (inputs.size() < 5 || !is_real(x.type) || x.shape.size() < 2) return std::optional<Tensor>();
  const int64_t channels = x.shape[1], inner = element_count({x.shape.begin() + 2, x.shape.end()});
  for (size_t i = 1; i < 5; ++i) {
    if (!inputs[i] || inputs[i]->shape != Shape{channels} || !is_real(inputs[i]->type)) return std::optional<Tensor>();
  }
  const auto channel_of = [&](int64_t i) { return static_cast<size_t>(i / std::max<int64_t>(inner, 1) % channels); };
  std::vector<double> means(static_cast<size_t>(channels)), variances(means.size());
  if (trains) {
    const double count = static_cast<double>(x.size()) / static_cast<double>(std::max<int64_t>(channels, 1));
    for (int64_t i = 0; i < x.size(); ++i) means[channel_of(i)] += real_at(x, i) / count;
    for (int64_t i = 0; i < x.size(); ++i) {
      const double distance = real_at(x, i) - means[channel_of(i)];
      variances[channel_of(i)] += distance * distance / count;
    }
  } else {
    for (int64_t c = 0; c < channels; ++c) means[static_cast<size_t>(c)] = real_at(*inputs[3], c);
    for (int64_t c = 0; c < channels; ++c) variances[static_cast<size_t>(c)] = real_at(*inputs[4], c);
  }
  Tensor result = made(node, x.type, x.shape);
  const double epsilon = double{node.real("epsilon", 1e-5f)};
  for (int64_t i = 0; i < x.size(); ++i) {
    const size_t c = channel_of(i);
    const double scale = real_at(*inputs[1], static_cast<int64_t>(c)) / std::sqrt(variances[c] + epsilon);
    set_real(result, i, (real_at(x, i) - means[c]) * scale + real_at(*inputs[2], static_cast<int64_t>(c)));
  }
  return std::optional(std::move(result));
}

// Where the first element is that a row of coordinates says.
Expected<int64_t> place_of(const Tensor& x, const Strides& strides, const Tensor& indices, int64_t row, size_t depth) {
  int64_t first = 0;
  for (size_t d = 0; d < depth; ++d) {
    const int64_t said = indices.integer(row * static_cast<int64_t>(depth) + static_cast<int64_t>(d));
    const int64_t place = said < 0 ? said + x.shape[d] : said;
    if (place < 0 || place >= x.shape[d])
      return refused(fmt::format("one of its indices is {}, in a dimension of {}", said, x.shape[d]));
    first += place * strides[d];
  }
  return first;
}

// The data with rows of it replaced: the last dimension of the indices says which.
Evaluated scatter_nd(const Node& node, const Tensor& x, const Tensor& indices, const Tensor& updates) {
  if (node.word("reduction", "none") != "none" || updates.type != x.type) return std::optional<Tensor>();
  const size_t depth = indices.shape.empty() ? 0 : static_cast<size_t>(indices.shape.back());
  if (indices.shape.empty() || depth > x.shape.size()) return refused("its indices have too many coordinates");
  Shape expected(indices.shape.begin(), indices.shape.end() - 1);
  const auto inner_begin = x.shape.begin() + static_cast<std::ptrdiff_t>(depth);
  expected.insert(expected.end(), inner_begin, x.shape.end());
  if (updates.shape != expected)
    return refused(fmt::format("its updates are {}, and must be {}", to_text(updates.shape), to_text(expected)));
  const int64_t inner = element_count({inner_begin, x.shape.end()});
  const Strides strides = row_major_strides(x.shape);
  Tensor result = x;
  result.name = node.name;
  for (int64_t row = 0; inner > 0 && row < updates.size() / inner; ++row) {
    const auto to = place_of(x, strides, indices, row, depth);
    if (!to) return to.error();
    for (int64_t i = 0; i < inner; ++i) copy_element(result, *to + i, updates, row * inner + i);
  }
  return std::optional(std::move(result));
}

// Of no batches.
Evaluated gather_nd(const Node& node, const Tensor& x, const Tensor& indices, int64_t most) {
  if (node.integer("batch_dims", 0) != 0) return std::optional<Tensor>();
  const size_t depth = indices.shape.empty() ? 0 : static_cast<size_t>(std::max<int64_t>(indices.shape.back(), 0));
  if (indices.shape.empty() || depth > x.shape.size()) return refused("its indices have too many coordinates");
  Shape shape(indices.shape.begin(), indices.shape.end() - 1);
  const int64_t rows = element_count(shape);
  const auto inner_begin = x.shape.begin() + static_cast<std::ptrdiff_t>(depth);
  shape.insert(shape.end(), inner_begin, x.shape.end());
  if (Done sound = check_size(shape, most); !sound) return sound.error();
  const int64_t inner = element_count({inner_begin, x.shape.end()});
  const Strides strides = row_major_strides(x.shape);
  Tensor result = made(node, x.type, std::move(shape));
  for (int64_t row = 0; inner > 0 && row < rows; ++row) {
    const auto from = place_of(x, strides, indices, row, depth);
    if (!from) return from.error();
    for (int64_t i = 0; i < inner; ++i) copy_element(result, row * inner + i, x, *from + i);
  }
  return std::optional(std::move(result));
}

// Each element of the result is at its own place of the data, except along the axis, where the index says it.
Evaluated gather_elements(const Node& node, const Tensor& x, const Tensor& indices) {
  const auto axis = dimension_at(node.integer("axis", 0), x.shape.size());
  if (!axis || indices.shape.size() != x.shape.size() || is_real(indices.type))
    return refused("its indices are not of its data's rank");
  for (size_t d = 0; d < x.shape.size(); ++d) {
    if (d != *axis && indices.shape[d] > x.shape[d]) return refused("it has more indices than data along an axis");
  }
  const Strides strides = row_major_strides(x.shape), own = row_major_strides(indices.shape);
  Tensor result = made(node, x.type, indices.shape);
  for (int64_t i = 0; i < indices.size(); ++i) {
    const int64_t side = x.shape[*axis], said = indices.integer(i), index = said < 0 ? said + side : said;
    if (index < 0 || index >= side) return refused(fmt::format("index {} is outside of {} elements", said, side));
    int64_t from = 0;
    for (size_t d = 0; d < x.shape.size(); ++d)
      from += strides[d] * (d == *axis ? index : i / own[d] % indices.shape[d]);
    copy_element(result, i, x, from);
  }
  return std::optional(std::move(result));
}

Evaluated is_nan(const Node& node, const Tensor& x) {
  if (!is_real(x.type)) return std::optional<Tensor>();
  Tensor result = made(node, ElementType::boolean, x.shape);
  for (int64_t i = 0; i < x.size(); ++i) set_integer(result, i, std::isnan(real_at(x, i)) ? 1 : 0);
  return std::optional(std::move(result));
}

// ---- reduced --------------------------------------------------------------------------------------------------------

struct Reduction {
  std::string_view op;
  double begin;
  double (*add)(double, double);
  double (*end)(double, double count) = nullptr;
};
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr Reduction kReductions[] = {
    {"ReduceSum", 0, [](double a, double x) { return a + x; }},
    {"ReduceMean", 0, [](double a, double x) { return a + x; }, [](double a, double count) { return a / count; }},
    {"ReduceMax", -kInfinite, [](double a, double x) { return std::max(a, x); }},
    {"ReduceMin", kInfinite, [](double a, double x) { return std::min(a, x); }},
    {"ReduceProd", 1, [](double a, double x) { return a * x; }},
    {"ReduceL1", 0, [](double a, double x) { return a + std::abs(x); }},
    {"ReduceL2", 0, [](double a, double x) { return a + x * x; }, [](double a, double) { return std::sqrt(a); }},
    {"ReduceSumSquare", 0, [](double a, double x) { return a + x * x; }},
};

Evaluated reduce(const Node& node, const Reduction& row, Inputs inputs) {
  const Tensor& x = *inputs[0];
  const auto said = list_at(node, "axes", inputs, 1);
  // Without axes all of them, or with noop_with_empty_axes none: then each element alone.
  const bool names_none = !said || said->empty();
  std::vector<bool> is_reduced(x.shape.size(), names_none && node.integer("noop_with_empty_axes", 0) == 0);
  for (const int64_t one : said.value_or(std::vector<int64_t>())) {
    const auto axis = axis_of(one, x.shape.size());
    if (!axis) return axis.error();
    is_reduced[*axis] = true;
  }
  Shape kept, shape;
  double count = 1;
  for (size_t d = 0; d < x.shape.size(); ++d) {
    kept.push_back(is_reduced[d] ? 1 : x.shape[d]);
    if (!is_reduced[d] || node.integer("keepdims", 1) != 0) shape.push_back(kept.back());
    if (is_reduced[d]) count *= static_cast<double>(x.shape[d]);
  }
  std::vector<double> sums(static_cast<size_t>(element_count(kept)), row.begin);
  const auto places = places_in(kept, x.shape);
  for (size_t i = 0; i < places.size(); ++i) {
    double& sum = sums[static_cast<size_t>(places[i])];
    sum = row.add(sum, real_at(x, static_cast<int64_t>(i)));
  }
  Tensor result = made(node, x.type, std::move(shape));
  for (size_t i = 0; i < sums.size(); ++i) {
    const double value = row.end ? row.end(sums[i], count) : sums[i];
    if (is_real(x.type)) set_real(result, static_cast<int64_t>(i), value);
    else set_integer(result, static_cast<int64_t>(i), truncated(value));
  }
  return std::optional(std::move(result));
}

template <typename Row, size_t N>
const Row* row_of(const Row (&rows)[N], std::string_view op) {
  const auto found = std::ranges::find(rows, op, &Row::op);
  return found == std::end(rows) ? nullptr : &*found;
}

constexpr std::string_view kOthers[] = {"BatchNormalization",
                                        "Cast",
                                        "Concat",
                                        "ConstantOfShape",
                                        "CumSum",
                                        "Expand",
                                        "Gather",
                                        "GatherElements",
                                        "GatherND",
                                        "IsNaN",
                                        "Range",
                                        "ScatterND",
                                        "Size",
                                        "Slice",
                                        "Tile",
                                        "Trilu",
                                        "Where"};
constexpr std::string_view kOfSeveral[] = {"Max", "Min", "Sum"};

}  // namespace

bool is_evaluated(std::string_view op) {
  return row_of(kUnary, op) || row_of(kBinary, op) || row_of(kReductions, op) || is_function(op) ||
         std::ranges::find(kOthers, op) != std::end(kOthers);
}

Evaluated evaluate(const Node& node, Inputs inputs, int64_t opset, int64_t most) {
  if (inputs.empty() || !inputs[0]) return std::optional<Tensor>();
  for (const TensorPtr& input : inputs) {
    if (input && !is_known_type(input->type)) return std::optional<Tensor>();
    if (input && input->size() == 0 && !is_bounded(input->shape, most)) return std::optional<Tensor>();
  }
  const bool has_two = inputs.size() > 1 && inputs[1];
  const bool has_all = std::ranges::all_of(inputs, [](const TensorPtr& input) { return input != nullptr; });
  const Tensor& x = *inputs[0];
  if (const Unary* row = row_of(kUnary, node.op)) return unary(node, *row, x);
  if (const Reduction* row = row_of(kReductions, node.op)) return reduce(node, *row, inputs);
  if (node.op == "Mod" && node.integer("fmod", 0) != 0 && !is_real(x.type)) return std::optional<Tensor>();
  if (const Binary* row = row_of(kBinary, node.op)) {
    const bool may_be_any = std::ranges::find(kOfSeveral, node.op) != std::end(kOfSeveral);
    if (!has_all || (!may_be_any && inputs.size() != 2)) return std::optional<Tensor>();
    return binary_of_all(node, *row, inputs, most);
  }
  if (node.op == "Cast") return cast(node, x);
  if (node.op == "ConstantOfShape") return constant_of_shape(node, x, most);
  if (node.op == "Size") return size(node, x);
  if (node.op == "Slice") return slice(node, inputs);
  if (node.op == "Concat" && has_all) return concat(node, inputs, most);
  if (node.op == "Where" && has_all) return where(node, inputs, most);
  if (node.op == "Range" && has_all) return range(node, inputs, most);
  if (node.op == "Gather" && has_two) return gather(node, x, *inputs[1], most);
  if (node.op == "GatherElements" && has_two) return gather_elements(node, x, *inputs[1]);
  if (node.op == "GatherND" && has_two) return gather_nd(node, x, *inputs[1], most);
  if (node.op == "Expand" && has_two) return expand(node, x, list_of(*inputs[1]), most);
  if (node.op == "Tile" && has_two) return tile(node, x, *inputs[1], most);
  if (node.op == "Trilu") return triangle(node, x, has_two && inputs[1]->size() == 1 ? inputs[1]->integer(0) : 0);
  if (node.op == "CumSum" && has_two && inputs[1]->size() == 1) return cumulative_sum(node, x, inputs[1]->integer(0));
  if (node.op == "ScatterND" && has_all && inputs.size() == 3) return scatter_nd(node, x, *inputs[1], *inputs[2]);
  if (node.op == "IsNaN") return is_nan(node, x);
  if (node.op == "BatchNormalization") return batch_normalization(node, inputs, opset);
  if (node.op == "Clip" && !is_real(x.type)) return clip(node, inputs);
  if (is_function(node.op)) return function(node, inputs);
  return std::optional<Tensor>();
}

}  // namespace qgen::onnx
