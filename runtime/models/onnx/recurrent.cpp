// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// LSTM, GRU and RNN, written out. The input's product is one for all steps. Then each step is a product with the state,
// slices of its gates, and chains of element-wise steps. So the number of steps has to be known.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "runtime/models/onnx/written_out.h"

namespace qgen::onnx {
namespace {

using chains::Formula;
using chains::Step;

constexpr int64_t kMostSteps = 256;

// One of the functions that ONNX names for gates; nullopt: Relu, or a name that it does not have.
std::optional<Step> step_of(std::string_view activation) {
  if (activation == "Sigmoid") return Step::sigmoid;
  if (activation == "Tanh") return Step::tanh;
  return std::nullopt;
}

uint32_t applied_to(Formula& f, std::optional<Step> step, uint32_t x) {  // without: Relu
  return step ? f.step(*step, x) : f.step(Step::maximum, x, f.real(0));
}

int64_t gates_of(const Node& node) { return node.op == "LSTM" ? 4 : node.op == "GRU" ? 3 : 1; }

// Of one direction, in the order of the gates.
std::vector<std::string> usual_activations(const Node& node) {
  if (node.op == "LSTM") return {"Sigmoid", "Tanh", "Tanh"};
  if (node.op == "GRU") return {"Sigmoid", "Tanh"};
  return {"Tanh"};
}

// Of all directions. Errors: functions that are not computed.
Expected<std::vector<std::string>> activations_of(const Node& node, int64_t directions) {
  if (node.find("activation_alpha") || node.find("activation_beta"))
    return unsupported("its activations have parameters");
  std::vector<std::string> names;
  if (const auto* given = node.find("activations"); given && std::get_if<std::vector<std::string>>(given))
    names = std::get<std::vector<std::string>>(*given);
  const std::vector<std::string> usual = usual_activations(node);
  while (std::ssize(names) < directions * std::ssize(usual)) names.insert(names.end(), usual.begin(), usual.end());
  for (const std::string& name : names) {
    if (!step_of(name) && name != "Relu") return unsupported(fmt::format("its activation is '{}'", name));
  }
  return names;
}

}  // namespace

// A layer with its inputs, which runs in one direction or both.
class Importer::Recurrent {
 public:
  // Errors: variants that the importer does not write out.
  static Expected<Recurrent> create(Importer& importer, const Node& node, Arguments arguments);
  // Makes the node's results known.
  Done run();

 private:
  struct State {
    Known hidden, cell;  // of a layer without cells, both are the state
  };
  struct Direction {
    Known state_weights = {};              // [hidden, gates * hidden]
    std::optional<Known> state_bias = {};  // of a GRU that has it apart
    std::optional<Known> peepholes[3] = {};
    std::vector<std::optional<Step>> functions = {};
    bool is_reverse = false;
  };
  // The sums of each gate, for one step.
  struct Terms {
    std::vector<Known> of_input, of_state;
  };
  // The results of the directions, concatenated.
  struct Results {
    std::vector<Known> outputs, states, cells;
  };

  Recurrent(Importer& importer, const Node& node, Arguments arguments)
      : importer_(importer), node_(node), arguments_(arguments.begin(), arguments.end()), gates_(gates_of(node)) {}

  const Known* at(size_t i) const { return i < arguments_.size() ? arguments_[i] : nullptr; }
  Done read_sides();

  Expected<Direction> direction(int64_t d, Known& product);  // and its input's product, [steps, batch, gates * hidden]
  Expected<Known> product_of_input(int64_t d, Direction& direction);
  Done add_peepholes(int64_t d, Direction& direction);
  // Of the input, the states and the results: the batch is their first dimension.
  bool is_batch_first() const { return node_.integer("layout", 0) != 0; }
  Expected<Known> turned(const Known& input, std::vector<int64_t> order);
  Done check_lengths();
  Expected<State> first_state(int64_t d);
  Done run_direction(int64_t d, Results& results);

  Expected<State> next(const Direction& direction, const Known& input, const State& state);
  Expected<State> next_of_lstm(const Direction& direction, const Terms& terms, const State& state);
  Expected<State> next_of_gru(const Direction& direction, const Terms& terms, const State& state);
  Expected<Known> candidate_of_gru(const Direction& direction, const Terms& terms, const Known& reset,
                                   const Known& hidden);
  Expected<Terms> terms_of(const Direction& direction, const Known& input, const Known& hidden);
  // f(x + h), with a peephole f(x + h + p * c).
  Expected<Known> gate(const Terms& terms, size_t g, std::optional<Step> function,
                       const std::optional<Known>& peephole = {}, const Known* cell = nullptr);
  uint32_t clipped(Formula& f, uint32_t x) const;

  // At a place of the first dimension, which goes: of directions, or of steps.
  Expected<Known> slice(const Known& all, int64_t place, int64_t axis = 0);
  // Columns of a matrix, or elements of a row.
  Expected<Known> part_of_rows(const Known& rows, int64_t first, int64_t end);

  Importer& importer_;
  const Node& node_;
  std::vector<const Known*> arguments_;
  int64_t gates_, steps_ = 0, batch_ = 0, directions_ = 0, hidden_ = 0;
  std::vector<std::string> activations_ = {};  // of all directions
  std::optional<Known> rows_ = {};             // of the input, [steps * batch, size]
};

// ---- what the layer has ---------------------------------------------------------------------------------------------

Done Importer::Recurrent::read_sides() {
  const auto sides = known_shape(at(0)->shape), of_weights = known_shape(at(2)->shape);
  if (!sides || sides->size() != 3) return unsupported("its input has an unknown side", kHowToNumberSides);
  if (!of_weights || of_weights->size() != 3) return refused("its recurrent weights are not three-dimensional");
  steps_ = (*sides)[is_batch_first() ? 1 : 0];
  batch_ = (*sides)[is_batch_first() ? 0 : 1];
  directions_ = (*of_weights)[0];
  hidden_ = (*of_weights)[2];
  if (steps_ >= 1 && steps_ <= kMostSteps) return std::monostate{};
  return unsupported(fmt::format("it has {} steps, and each is written out: there can be {}", steps_, kMostSteps));
}

Expected<Importer::Recurrent> Importer::Recurrent::create(Importer& importer, const Node& node, Arguments arguments) {
  Recurrent layer(importer, node, arguments);
  if (!layer.at(0) || !layer.at(1) || !layer.at(2)) return refused("it has no input, or no weights");
  if (node.integer("input_forget", 0) != 0) return unsupported("its input_forget is 1");
  if (const Done read = layer.read_sides(); !read) return read.error();
  if (const Done whole = layer.check_lengths(); !whole) return whole.error();
  auto activations = activations_of(node, layer.directions_);
  if (!activations) return activations.error();
  layer.activations_ = *std::move(activations);
  auto input = importer.computed(*layer.at(0));
  if (input && layer.is_batch_first()) input = layer.turned(*input, {1, 0, 2});
  if (!input) return input.error();
  const auto rows = importer.seen_as(node, *input, {{layer.steps_ * layer.batch_}, input->shape[2]});
  if (!rows) return rows.error();
  layer.rows_ = *rows;
  return layer;
}

// Sequences of the whole length only.
Done Importer::Recurrent::check_lengths() {
  if (!at(4)) return std::monostate{};
  const TensorPtr lengths = at(4)->tensor();
  if (!lengths) return unsupported("it has lengths of sequences that are computed");
  for (int64_t i = 0; i < lengths->size(); ++i) {
    if (lengths->integer(i) != steps_)
      return unsupported(
          fmt::format("it has a sequence of {} steps, and the input has {}: qgen reads sequences of one "
                      "length",
                      lengths->integer(i), steps_));
  }
  return std::monostate{};
}

Expected<Known> Importer::Recurrent::turned(const Known& input, std::vector<int64_t> order) {
  return importer_.computed(node_, "Transpose", {input}, {{"perm", std::move(order)}});
}

Expected<Known> Importer::Recurrent::slice(const Known& all, int64_t place, int64_t axis) {
  return importer_.computed(node_, "Gather", {all, number(place)}, {{"axis", axis}});
}

Expected<Known> Importer::Recurrent::part_of_rows(const Known& rows, int64_t first, int64_t end) {
  return importer_.computed(node_, "Slice", {rows},
                            {{"starts", std::vector<int64_t>{first}},
                             {"ends", std::vector<int64_t>{end}},
                             {"axes", std::vector<int64_t>{std::ssize(rows.shape) - 1}}});
}

// With the biases; a GRU may keep the state's bias separate.
Expected<Known> Importer::Recurrent::product_of_input(int64_t d, Direction& direction) {
  auto weights = slice(*at(1), d);
  if (weights) weights = importer_.written(node_, "Transpose", {*weights}, {{"perm", std::vector<int64_t>{1, 0}}});
  if (!weights) return weights;
  auto product = importer_.computed(node_, "MatMul", {*rows_, *weights});
  const int64_t width = gates_ * hidden_;
  for (int64_t part = 0; product && at(3) && part < 2; ++part) {
    auto bias = slice(*at(3), d);
    if (bias) bias = part_of_rows(*bias, part * width, (part + 1) * width);
    if (!bias) return bias;
    if (part == 1 && gates_ == 3 && node_.integer("linear_before_reset", 0) != 0) direction.state_bias = *bias;
    else product = importer_.computed(node_, "Add", {*product, *bias});
  }
  return product ? importer_.seen_as(node_, *product, {{steps_}, {batch_}, {width}}) : product;
}

Done Importer::Recurrent::add_peepholes(int64_t d, Direction& direction) {
  if (!at(7)) return std::monostate{};
  const auto all = slice(*at(7), d);
  if (!all) return all.error();
  for (int64_t p = 0; p < 3; ++p) {
    auto part = part_of_rows(*all, p * hidden_, (p + 1) * hidden_);
    if (!part) return part.error();
    direction.peepholes[p] = *std::move(part);
  }
  return std::monostate{};
}

Expected<Importer::Recurrent::Direction> Importer::Recurrent::direction(int64_t d, Known& product) {
  Direction direction;
  auto state_weights = slice(*at(2), d);
  if (state_weights)
    state_weights = importer_.written(node_, "Transpose", {*state_weights}, {{"perm", std::vector<int64_t>{1, 0}}});
  if (!state_weights) return state_weights.error();
  direction.state_weights = *std::move(state_weights);
  const size_t count = usual_activations(node_).size();
  for (size_t i = 0; i < count; ++i)
    direction.functions.push_back(step_of(activations_[static_cast<size_t>(d) * count + i]));
  direction.is_reverse = d == 1 || node_.word("direction", "forward") == "reverse";
  auto of_input = product_of_input(d, direction);
  if (!of_input) return of_input.error();
  product = *std::move(of_input);
  if (const Done added = add_peepholes(d, direction); !added) return added.error();
  return direction;
}

Expected<Importer::Recurrent::State> Importer::Recurrent::first_state(int64_t d) {
  const Known zero = constant_of(node_.name + " zeros", {batch_, hidden_},
                                 std::vector<float>(static_cast<size_t>(batch_ * hidden_), 0.0f));
  const int64_t axis = is_batch_first() ? 1 : 0;
  auto hidden = at(5) ? slice(*at(5), d, axis) : Expected<Known>(zero);
  if (!hidden) return hidden.error();
  auto cell = at(6) ? slice(*at(6), d, axis) : Expected<Known>(zero);
  if (!cell) return cell.error();
  return State{*std::move(hidden), *std::move(cell)};
}

// ---- a step ---------------------------------------------------------------------------------------------------------

uint32_t Importer::Recurrent::clipped(Formula& f, uint32_t x) const {
  const float clip = node_.real("clip", 0);
  if (clip <= 0) return x;
  return f.step(Step::minimum, f.step(Step::maximum, x, f.real(-clip)), f.real(clip));
}

Expected<Known> Importer::Recurrent::gate(const Terms& terms, size_t g, std::optional<Step> function,
                                          const std::optional<Known>& peephole, const Known* cell) {
  Formula f;
  std::vector<const Known*> inputs{&terms.of_input[g], &terms.of_state[g]};
  uint32_t x = f.step(Step::add, f.input(0), f.input(1));
  if (peephole) {
    inputs.insert(inputs.end(), {&*peephole, cell});
    x = f.step(Step::add, x, f.step(Step::multiply, f.input(2), f.input(3)));
  }
  applied_to(f, function, clipped(f, x));
  return importer_.chain_of(node_, f, inputs);
}

Expected<Importer::Recurrent::Terms> Importer::Recurrent::terms_of(const Direction& direction, const Known& input,
                                                                   const Known& hidden) {
  auto product = importer_.computed(node_, "MatMul", {hidden, direction.state_weights});
  if (product && direction.state_bias) product = importer_.computed(node_, "Add", {*product, *direction.state_bias});
  if (!product) return product.error();
  Terms terms;
  for (int64_t g = 0; g < gates_; ++g) {
    auto of_input = part_of_rows(input, g * hidden_, (g + 1) * hidden_);
    if (!of_input) return of_input.error();
    auto of_state = part_of_rows(*product, g * hidden_, (g + 1) * hidden_);
    if (!of_state) return of_state.error();
    terms.of_input.push_back(*std::move(of_input));
    terms.of_state.push_back(*std::move(of_state));
  }
  return terms;
}

// Gates i, o, f, c.
Expected<Importer::Recurrent::State> Importer::Recurrent::next_of_lstm(const Direction& direction, const Terms& terms,
                                                                       const State& state) {
  const auto& functions = direction.functions;
  const auto& peepholes = direction.peepholes;
  const auto input = gate(terms, 0, functions[0], peepholes[0], &state.cell);
  if (!input) return input.error();
  const auto forget = gate(terms, 2, functions[0], peepholes[2], &state.cell);
  if (!forget) return forget.error();
  const auto candidate = gate(terms, 3, functions[1]);
  if (!candidate) return candidate.error();
  Formula sum;
  sum.step(Step::add, sum.step(Step::multiply, sum.input(0), sum.input(1)),
           sum.step(Step::multiply, sum.input(2), sum.input(3)));
  const auto cell = importer_.chain_of(node_, sum, {&*forget, &state.cell, &*input, &*candidate});
  if (!cell) return cell.error();
  const auto output = gate(terms, 1, functions[0], peepholes[1], &*cell);
  if (!output) return output.error();
  Formula product;
  product.step(Step::multiply, product.input(0), applied_to(product, functions[2], product.input(1)));
  const auto hidden = importer_.chain_of(node_, product, {&*output, &*cell});
  if (!hidden) return hidden.error();
  return State{*hidden, *cell};
}

// The reset gate multiplies the state after its product with the weights, or before it.
Expected<Known> Importer::Recurrent::candidate_of_gru(const Direction& direction, const Terms& terms,
                                                      const Known& reset, const Known& hidden) {
  Formula f;
  if (node_.integer("linear_before_reset", 0) != 0) {
    const auto x = f.step(Step::add, f.input(0), f.step(Step::multiply, f.input(1), f.input(2)));
    applied_to(f, direction.functions[1], clipped(f, x));
    return importer_.chain_of(node_, f, {&terms.of_input[2], &reset, &terms.of_state[2]});
  }
  Formula product;
  product.step(Step::multiply, product.input(0), product.input(1));
  auto part = importer_.chain_of(node_, product, {&reset, &hidden});
  if (!part) return part;
  const auto weights = part_of_rows(direction.state_weights, 2 * hidden_, 3 * hidden_);
  if (!weights) return weights;
  part = importer_.computed(node_, "MatMul", {*part, *weights});
  if (!part) return part;
  applied_to(f, direction.functions[1], clipped(f, f.step(Step::add, f.input(0), f.input(1))));
  return importer_.chain_of(node_, f, {&terms.of_input[2], &*part});
}

// Gates z, r, h: (1 - z) * candidate + z * state.
Expected<Importer::Recurrent::State> Importer::Recurrent::next_of_gru(const Direction& direction, const Terms& terms,
                                                                      const State& state) {
  const auto update = gate(terms, 0, direction.functions[0]);
  if (!update) return update.error();
  const auto reset = gate(terms, 1, direction.functions[0]);
  if (!reset) return reset.error();
  const auto candidate = candidate_of_gru(direction, terms, *reset, state.hidden);
  if (!candidate) return candidate.error();
  Formula f;
  const auto rest = f.step(Step::multiply, f.step(Step::subtract, f.real(1), f.input(0)), f.input(1));
  f.step(Step::add, rest, f.step(Step::multiply, f.input(0), f.input(2)));
  const auto hidden = importer_.chain_of(node_, f, {&*update, &*candidate, &state.hidden});
  if (!hidden) return hidden.error();
  return State{*hidden, *hidden};
}

Expected<Importer::Recurrent::State> Importer::Recurrent::next(const Direction& direction, const Known& input,
                                                               const State& state) {
  const auto terms = terms_of(direction, input, state.hidden);
  if (!terms) return terms.error();
  if (gates_ == 4) return next_of_lstm(direction, *terms, state);
  if (gates_ == 3) return next_of_gru(direction, *terms, state);
  const auto hidden = gate(*terms, 0, direction.functions[0]);
  if (!hidden) return hidden.error();
  return State{*hidden, *hidden};
}

// ---- all steps ------------------------------------------------------------------------------------------------------

Done Importer::Recurrent::run_direction(int64_t d, Results& results) {
  Known product;
  const auto way = direction(d, product);
  if (!way) return way.error();
  auto state = first_state(d);
  std::vector<Known> outputs(static_cast<size_t>(steps_));
  for (int64_t i = 0; state && i < steps_; ++i) {
    const int64_t t = way->is_reverse ? steps_ - 1 - i : i;
    const auto input = slice(product, t);
    if (!input) return input.error();
    state = next(*way, *input, *state);
    if (!state) break;
    auto output = importer_.seen_as(node_, state->hidden, {{1}, {1}, {batch_}, {hidden_}});
    if (!output) return output.error();
    outputs[static_cast<size_t>(t)] = *std::move(output);
  }
  if (!state) return state.error();
  auto all = importer_.concat_elements_along(node_, outputs, 0);
  if (!all) return all.error();
  results.outputs.push_back(*std::move(all));
  for (const auto& [from, to] : {std::pair{&state->hidden, &results.states}, {&state->cell, &results.cells}}) {
    auto last = importer_.seen_as(node_, *from, {{1}, {batch_}, {hidden_}});
    if (!last) return last.error();
    to->push_back(*std::move(last));
  }
  return std::monostate{};
}

Done Importer::Recurrent::run() {
  Results results;
  for (int64_t d = 0; d < directions_; ++d) {
    if (Done ran = run_direction(d, results); !ran) return ran;
  }
  const std::pair<const std::vector<Known>*, size_t> parts[] = {
      {&results.outputs, 1}, {&results.states, 0}, {&results.cells, 0}};  // and the axis of directions
  for (size_t i = 0; i < node_.outputs.size() && i < std::size(parts); ++i) {
    if (node_.outputs[i].empty() || !importer_.order_.uses.contains(node_.outputs[i])) continue;
    auto whole = importer_.concat_elements_along(node_, *parts[i].first, parts[i].second);
    if (whole && is_batch_first())
      whole = turned(*whole, i == 0 ? std::vector<int64_t>{2, 0, 1, 3} : std::vector<int64_t>{1, 0, 2});
    if (!whole) return whole.error();
    importer_.known_.insert_or_assign(node_.outputs[i], *std::move(whole));
  }
  return std::monostate{};
}

Done Importer::recurrent(const Node& node) {
  const auto arguments = arguments_of(node);
  if (!arguments) return arguments.error();
  auto layer = Recurrent::create(*this, node, *arguments);
  return layer ? layer->run() : Done(layer.error());
}

}  // namespace qgen::onnx
