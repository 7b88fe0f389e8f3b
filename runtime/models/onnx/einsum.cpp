// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Einsum of one tensor, as a sum and a transpose; and of two, as a product of matrices:
//
//   bij, bjk -> bik      letters of both and of the result: the batch; of both alone: K; of one and the result: M or N
//   [b, i, j] -> [batch, M, K];  [b, j, k] -> [batch, K, N];  MatMul;  [batch, M, N] -> [b, i, k]
//
// Letters of one tensor alone, which the result lacks, are added up before.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/models/onnx/written_out.h"

namespace qgen::onnx {
namespace {

struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

bool has(std::string_view letters, char letter) { return letters.find(letter) != std::string_view::npos; }

// Without an arrow the result has the letters that occur once, in the order of the alphabet.
std::string implied_result(const std::vector<std::string>& operands) {
  std::map<char, int> counts;
  for (const std::string& operand : operands) {
    for (const char letter : operand) ++counts[letter];
  }
  std::string result;
  for (const auto& [letter, count] : counts) {
    if (count == 1) result += letter;
  }
  return result;
}

Expected<Equation> parsed(std::string_view text) {
  std::string plain;
  std::ranges::copy_if(text, std::back_inserter(plain), [](char c) { return c != ' '; });
  if (plain.find('.') != std::string::npos)
    return unsupported(fmt::format("its equation '{}' has an ellipsis, and qgen reads letters", text));
  const size_t arrow = plain.find("->");
  Equation equation;
  std::string operand;
  for (const char c : plain.substr(0, arrow) + ',') {
    if (c == ',') {
      equation.operands.push_back(operand);
      operand.clear();
    } else if (has(operand, c)) {
      return unsupported(fmt::format("its equation '{}' has a diagonal, '{}' twice in one tensor", text, c));
    } else {
      operand += c;
    }
  }
  equation.result = arrow == std::string::npos ? implied_result(equation.operands) : plain.substr(arrow + 2);
  return equation;
}

std::vector<int64_t> places_of(std::string_view letters, std::string_view in) {
  std::vector<int64_t> places;
  for (const char letter : letters) places.push_back(static_cast<int64_t>(in.find(letter)));
  return places;
}

}  // namespace

// Without the letters that neither the result nor another tensor has.
Expected<Known> Importer::summed_letters(const Node& node, const Known& input, std::string& letters,
                                         std::string_view kept) {
  std::string gone;
  std::ranges::copy_if(letters, std::back_inserter(gone), [&](char letter) { return !has(kept, letter); });
  auto result = computed(input);
  if (!result || gone.empty()) return result;
  result = reduced(node, "sum", *result, places_of(gone, letters), false);
  std::erase_if(letters, [&](char letter) { return has(gone, letter); });
  return result;
}

Expected<Known> Importer::in_order_of_letters(const Node& node, const Known& input, std::string_view letters,
                                              std::string_view order) {
  if (letters == order) return input;
  return computed(node, "Transpose", {input}, {{"perm", places_of(order, letters)}});
}

Rewritten Importer::einsum(const Node& node, Arguments arguments) {
  const auto equation = parsed(node.word("equation", ""));
  if (!equation) return equation.error();
  if (equation->operands.size() != arguments.size() || std::ranges::count(arguments, nullptr) > 0)
    return refused(
        fmt::format("its equation has {} tensors, and it has {} inputs", equation->operands.size(), arguments.size()));
  if (arguments.size() > 2)
    return unsupported(fmt::format("it has {} tensors, and qgen reads one or two", arguments.size()));
  std::map<char, int64_t> sides;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto shape = known_shape(arguments[i]->shape);
    if (!shape) return unsupported("a side of an input is unknown", kHowToNumberSides);
    if (!is_real(element_type_of(*arguments[i]))) return unsupported("its inputs are of integers");
    if (shape->size() != equation->operands[i].size())
      return refused(
          fmt::format("input {} is {}, and has the letters '{}'", i, to_text(*shape), equation->operands[i]));
    for (size_t d = 0; d < shape->size(); ++d) {
      const auto [side, is_new] = sides.emplace(equation->operands[i][d], (*shape)[d]);
      if (!is_new && side->second != (*shape)[d])
        return unsupported(
            fmt::format("the letter '{}' has the sides {} and {}", side->first, side->second, (*shape)[d]));
    }
  }
  for (const char letter : equation->result) {
    if (!sides.contains(letter)) return refused(fmt::format("no input has the letter '{}'", letter));
  }
  std::vector<std::string> letters = equation->operands;
  const std::string& result = equation->result;
  const auto a = summed_letters(node, *arguments[0], letters[0], arguments.size() > 1 ? result + letters[1] : result);
  if (!a) return a.error();
  if (arguments.size() == 1) return as_other(in_order_of_letters(node, *a, letters[0], result));
  const auto b = summed_letters(node, *arguments[1], letters[1], result + letters[0]);
  if (!b) return b.error();
  return as_other(product_of_letters(node, {*a, *b}, letters, result, sides));
}

Expected<Known> Importer::product_of_letters(const Node& node, const std::vector<Known>& inputs,
                                             const std::vector<std::string>& letters, const std::string& result,
                                             const std::map<char, int64_t>& sides) {
  std::string batch, m, n, k;
  for (const char letter : letters[0]) {
    if (!has(letters[1], letter)) m += letter;
    else if (has(result, letter)) batch += letter;
    else k += letter;
  }
  std::ranges::copy_if(letters[1], std::back_inserter(n), [&](char letter) { return !has(letters[0], letter); });
  const auto count = [&](std::string_view some) {
    int64_t product = 1;
    for (const char letter : some) product *= sides.at(letter);
    return product;
  };
  auto a = in_order_of_letters(node, inputs[0], letters[0], batch + m + k);
  if (a) a = viewed(node, *a, {{count(batch)}, {count(m)}, {count(k)}});
  auto b = in_order_of_letters(node, inputs[1], letters[1], batch + k + n);
  if (b) b = viewed(node, *b, {{count(batch)}, {count(k)}, {count(n)}});
  if (!a || !b) return a ? b : a;
  auto product = computed(node, "MatMul", {*a, *b});
  if (!product) return product;
  Dims shape;
  for (const char letter : batch + m + n) shape.push_back({sides.at(letter)});
  product = viewed(node, *product, shape);
  return product ? in_order_of_letters(node, *product, batch + m + n, result) : product;
}

}  // namespace qgen::onnx
