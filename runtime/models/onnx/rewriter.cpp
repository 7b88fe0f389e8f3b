// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/rewriter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/models/onnx/fold.h"

namespace qgen::onnx {
namespace {

// Only the number of cached tokens differs between the first two: depends_on_past(). The last one has a cache without
// tokens.
constexpr TrialSize kSizes[] = {{2, 3, 5, 0}, {2, 3, 9, 0}, {3, 1, 6, 1}, {1, 4, 0, 2}};

Tensor tensor_of_integers(const std::string& name, ElementType type, const Shape& shape, auto value_at) {
  Tensor tensor{name, type, shape, std::vector<std::byte>(static_cast<size_t>(element_count(shape) * bytes(type)))};
  const auto size = static_cast<size_t>(bytes(type));
  for (size_t i = 0; i < static_cast<size_t>(tensor.size()); ++i) {
    const int64_t value = value_at(static_cast<int64_t>(i));
    std::memcpy(tensor.data.data() + i * size, &value, size);
  }
  return tensor;
}

}  // namespace

Expected<Rewriter> Rewriter::create(Model& model, std::span<const StateNames> caches, bool are_states) {
  Rewriter rewriter(model, caches, are_states);
  if (Done fresh = rewriter.refresh(); !fresh) return fresh.error();
  return rewriter;
}

Done Rewriter::refresh(bool knows_positions) {
  if (!is_changed_ && knows_positions == knows_positions_) return std::monostate{};
  is_changed_ = false;
  knows_positions_ = knows_positions;
  ModelGraph& graph = model_->graph;
  std::ranges::move(added_, std::back_inserter(graph.nodes));
  added_.clear();
  writers_.clear();
  readers_.clear();
  outputs_.clear();
  sources_.clear();
  trials_.clear();
  more_trials_.clear();
  auto order = order_of(graph);
  if (!order) return order.error();
  order_ = *std::move(order);
  for (const size_t i : order_.nodes) {
    Node& node = graph.nodes[i];
    for (const std::string& output : node.outputs) writers_.emplace(output, &node);
    for (const std::string_view read : reads_of(node)) readers_[std::string(read)].push_back(&node);
  }
  for (const ValueInfo& output : graph.outputs) outputs_.insert(output.name);
  sizes_.assign(std::begin(kSizes), std::end(kSizes));
  for (size_t i = 0; i < sizes_.size(); ++i) {
    const auto [shapes, values] = inputs_of(sizes_[i]);
    trials_.emplace_back(*model_, order_, shapes, values);
    sizes_[i] = size_of(sizes_[i]);
  }
  return std::monostate{};
}

// ---- who writes and reads -------------------------------------------------------------------------------------------

Node* Rewriter::writer(std::string_view value) {
  const auto found = writers_.find(value);
  return found == writers_.end() ? nullptr : found->second;
}

Node* Rewriter::writer(std::string_view value, std::string_view op, size_t inputs) {
  Node* node = writer(value);
  return node && node->op == op && node->domain.empty() && node->inputs.size() >= inputs ? node : nullptr;
}

const std::vector<Node*>& Rewriter::readers(std::string_view value) const {
  static const std::vector<Node*> kNone;
  const auto found = readers_.find(value);
  return found == readers_.end() ? kNone : found->second;
}

bool Rewriter::is_output(std::string_view value) const { return outputs_.contains(value); }

Node* Rewriter::only_reader(std::string_view value) const {
  const auto& all = readers(value);
  return all.size() == 1 && !is_output(value) ? all.front() : nullptr;
}

std::vector<Node*> Rewriter::nodes() {
  std::vector<Node*> nodes;
  for (const size_t i : order_.nodes) nodes.push_back(&graph().nodes[i]);
  return nodes;
}

std::string Rewriter::passed(std::string value) {
  for (const Node* node = writer(value); node; node = writer(value)) {
    const bool passes =
        node->domain.empty() && (node->op == "Identity" || (node->op == "Dropout" && node->inputs.size() == 1));
    if (!passes) break;
    value = node->inputs[0];
  }
  return value;
}

namespace {

// How a value takes part in a mask. A low number may be what a masked score becomes. Elsewhere it may be a limit of
// positions, such as a window's.
enum class Part : uint8_t {
  fill,     // the mask, or what a choice or a product makes a part of it
  summand,  // of the mask: a low number may move positions
  other,
};

Part part_of_input(const Node& node, size_t input, Part part) {
  constexpr std::string_view kPassing[] = {"Cast",  "Expand",  "Identity",  "Reshape", "Slice",
                                           "Split", "Squeeze", "Transpose", "Trilu",   "Unsqueeze"};
  if (part == Part::other || !node.domain.empty()) return Part::other;
  if (node.op == "Where") return input == 0 ? Part::other : Part::fill;
  if (node.op == "Mul") return Part::fill;
  if (node.op == "Add" || node.op == "Max" || node.op == "Min") return Part::summand;
  const bool passes = std::ranges::find(kPassing, node.op) != std::end(kPassing);
  return passes && input == 0 ? part : Part::other;
}

// Counts constants, for Sources::largest.
class LargestConstant {
 public:
  void count(const Tensor& tensor, Part part) {
    for (const int64_t side : tensor.shape) largest_ = std::max(largest_, side);
    constexpr int64_t kMostElements = 64;
    for (int64_t i = 0; i < std::min(tensor.size(), kMostElements); ++i) {
      if (is_real(tensor.type)) count_real(double{tensor.real(i)}, part);
      else count_integer(tensor.integer(i));
    }
  }
  void count(const Node& node, Part part) {
    for (const auto& [name, attribute] : node.attributes) {
      if (const auto* number = std::get_if<int64_t>(&attribute)) count_integer(*number);
      if (const auto* real = std::get_if<float>(&attribute)) count_real(double{*real}, Part::other);
      if (const auto* numbers = std::get_if<std::vector<int64_t>>(&attribute)) {
        for (const int64_t number : *numbers) count_integer(number);
      }
      // What a Constant is, counts as a constant.
      const auto* tensor = node.op == "Constant" ? nullptr : std::get_if<TensorPtr>(&attribute);
      if (tensor && *tensor) count(**tensor, part);
    }
  }
  int64_t largest() const { return largest_; }

 private:
  static constexpr int64_t kMostInteger = int64_t{1} << 30;  // a larger integer is "up to the end"

  void count_integer(int64_t number) {
    if (number > -kMostInteger && number < kMostInteger) largest_ = std::max(largest_, std::abs(number));
  }
  void count_real(double value, Part part) {
    constexpr double kInfinite = 1e30, kNoPosition = -1.0 * (1 << 26);  // no cache is so long
    const bool is_fill = value <= kNoPosition || (value <= kFilter && part == Part::fill);
    if (is_fill || !(value < kInfinite)) return;
    const double size = std::ceil(std::abs(value));
    largest_ =
        size < kMostInteger ? std::max(largest_, static_cast<int64_t>(size)) : std::numeric_limits<int64_t>::max();
  }

  int64_t largest_ = 0;
};

}  // namespace

const Rewriter::Sources& Rewriter::sources(const std::string& value) {
  const auto found = sources_.find(value);
  if (found != sources_.end()) return found->second;
  // Without a recursion: models are deep.
  Sources all;
  LargestConstant constants;
  std::set<std::pair<std::string_view, Part>> seen;
  std::vector<std::pair<std::string_view, Part>> open{{value, Part::fill}};
  while (!open.empty()) {
    if (visits_left_-- <= 0) {  // as if it depended on more than anyone knows
      all.inputs.insert("?");
      all.largest = std::numeric_limits<int64_t>::max();
      break;
    }
    const auto [one, part] = open.back();
    open.pop_back();
    if (one.empty() || !seen.emplace(one, part).second) continue;
    if (input(one)) all.inputs.emplace(one);
    if (const TensorPtr tensor = constant(one)) constants.count(*tensor, part);
    const Node* node = writer(one);
    if (!node || node->op == "Shape" || node->op == "Size") continue;
    constants.count(*node, part);
    const auto reads = reads_of(*node);
    for (size_t i = 0; i < reads.size(); ++i) open.emplace_back(reads[i], part_of_input(*node, i, part));
  }
  all.largest = std::max(all.largest, constants.largest());
  return sources_.emplace(value, std::move(all)).first->second;
}

// ---- what values are ------------------------------------------------------------------------------------------------

const ValueInfo* Rewriter::input(std::string_view name) const {
  const auto& inputs = model_->graph.inputs;
  const auto found = std::ranges::find(inputs, name, &ValueInfo::name);
  return found == inputs.end() ? nullptr : &*found;
}

TrialSize Rewriter::size_of(const TrialSize& wanted) const {
  TrialSize size = wanted;
  const auto take = [](const ValueInfo* value, size_t axis, int64_t& side) {
    if (!value || !value->shape || value->shape->size() <= axis) return false;
    const InputSide& said = (*value->shape)[axis];
    constexpr int64_t kMostSide = int64_t{1} << 40;  // so that sums of sides are numbers
    if (said.symbol.empty()) side = std::clamp<int64_t>(said.side, 0, kMostSide);
    return true;
  };
  take(input(kTokens), 0, size.batches);
  take(input(kTokens), 1, size.rows);
  const ValueInfo* past = caches_.empty() ? nullptr : input(caches_.front().input);
  if (int64_t side = size.past; !take(past, 2, side)) size.past = 0;
  else if (!are_states_) size.past = side;
  return size;
}

std::pair<std::map<std::string, Shape>, std::map<std::string, TensorPtr>> Rewriter::inputs_of(
    const TrialSize& wanted) const {
  const TrialSize size = size_of(wanted);
  std::map<std::string, int64_t> sides;
  const auto give = [&](const ValueInfo* value, size_t axis, int64_t side) {
    if (value && value->shape && value->shape->size() > axis && !(*value->shape)[axis].symbol.empty())
      sides.emplace((*value->shape)[axis].symbol, side);
  };
  give(input(kTokens), 0, size.batches);
  give(input(kTokens), 1, size.rows);
  for (const StateNames& state : caches_) {
    give(input(state.input), 0, size.batches);
    give(input(state.input), 2, size.past);
  }
  for (const auto& [name, side] : {std::pair{kAttentionMask, size.past + size.rows}, {kPositions, size.rows}}) {
    give(input(name), 0, size.batches);
    give(input(name), 1, side);
  }
  // A mask beside them has as many batches, though exporters may not know.
  for (const ValueInfo& value : model_->graph.inputs) {
    if (value.shape && value.shape->size() == 2) give(&value, 0, size.batches);
  }
  std::map<std::string, Shape> shapes;
  for (const ValueInfo& value : model_->graph.inputs) {
    if (!value.shape) continue;
    Shape& shape = shapes[value.name];
    for (const InputSide& side : *value.shape) {
      const auto next = 11 + 2 * std::ssize(sides) + size.others;
      shape.push_back(side.symbol.empty() ? side.side : sides.emplace(side.symbol, next).first->second);
    }
  }
  for (const StateNames& state : caches_) {
    const auto shape = shapes.find(state.input);
    if (are_states_ && shape != shapes.end() && shape->second.size() > 2) shape->second[2] = size.past;
  }
  std::map<std::string, TensorPtr> values;
  const auto give_value = [&](std::string_view name, auto value_at) {
    const ValueInfo* value = input(name);
    if (!value || !value->shape || value->shape->size() != 2 || is_real(value->type) || is_nibble(value->type) ||
        value->type == ElementType::other)
      return;
    const Shape& shape = shapes[value->name];
    constexpr int64_t kMostElements = 1 << 22;
    if (!check_shape(shape) || element_count(shape) > kMostElements) return;
    values.emplace(value->name,
                   std::make_shared<const Tensor>(tensor_of_integers(value->name, value->type, shape, value_at)));
  };
  give_value(kAttentionMask, [](int64_t) { return int64_t{1}; });
  if (knows_positions_)
    give_value(kPositions, [&](int64_t i) { return size.past + i % std::max<int64_t>(size.rows, 1); });
  // Others may be masks, with zeros at places that nothing else has.
  for (const ValueInfo& value : model_->graph.inputs) {
    if (value.name != kTokens && value.name != kPositions && value.name != kAttentionMask)
      give_value(value.name,
                 [](int64_t i) { return static_cast<int64_t>(std::popcount(static_cast<uint64_t>(i)) % 2); });
  }
  return {std::move(shapes), std::move(values)};
}

const Trial* Rewriter::trial_of(const TrialSize& size, int64_t heads) {
  constexpr size_t kMostTrials = 12;  // each has all values of the model
  const auto found = more_trials_.find({size, heads});
  if (found != more_trials_.end()) return &found->second;
  if (more_trials_.size() == kMostTrials) return nullptr;
  const auto [shapes, values] = inputs_of(size);
  // Each node of a mask computes a row for each new token.
  constexpr int64_t kNodes = 128, kMost = 1 << 24;
  const auto [batches, rows, past, others] = size_of(size);
  const bool is_short = rows < kMost && past < kMost && heads < kMost && rows * (past + rows) < kMost / kNodes / heads;
  const int64_t budget = is_short ? std::max(Trial::kBudget, kNodes * rows * (past + rows) * heads) : kMost;
  return &more_trials_.emplace(std::pair(size, heads), Trial(*model_, order_, shapes, values, budget)).first->second;
}

std::vector<Shape> Rewriter::shapes(std::string_view value) const {
  std::vector<Shape> shapes;
  for (const Trial& trial : trials_) {
    const auto shape = trial.shape(value);
    if (!shape || (!shapes.empty() && shape->size() != shapes.front().size())) return {};
    shapes.push_back(*shape);
  }
  return shapes;
}

std::optional<double> Rewriter::number(std::string_view value) {
  const auto first = trials_.front().number(value);
  const auto is_same = [&](const Trial& trial) { return trial.number(value) == first; };
  if (!first || !std::ranges::all_of(trials_, is_same)) return std::nullopt;
  if (constant(value)) return first;
  // A computed one may depend on lengths that no small trial has, and on what inputs were given for a trial.
  if (!sources(std::string(value)).inputs.empty()) return std::nullopt;
  for (const TrialSize& size : {TrialSize{1, 256, 0}, TrialSize{1, 2, 4096}, TrialSize{1, 2, kMostKeys}}) {
    const Trial* longer = trial_of(size);  // it may know less: large masks are not computed
    if (!longer || longer->number(value).value_or(*first) != *first) return std::nullopt;
  }
  return first;
}

TensorPtr Rewriter::constant(std::string_view value) const {
  const auto initializer = model_->graph.initializers.find(value);
  if (initializer != model_->graph.initializers.end()) return initializer->second;
  const auto found = writers_.find(value);
  const bool is_constant = found != writers_.end() && found->second->op == "Constant";
  return is_constant ? trials_.front().value(value) : nullptr;
}

bool Rewriter::depends_on_past(std::string_view value) const { return !Trial::agree(trials_[0], trials_[1], value); }

// ---- new values -----------------------------------------------------------------------------------------------------

std::string Rewriter::add(std::string_view op, std::vector<std::string> inputs,
                          std::map<std::string, AttributeData, std::less<>> attributes, std::string_view name) {
  is_changed_ = true;
  const std::string result = fresh_name(op);
  added_.push_back({.name = name.empty() ? result : std::string(name),
                    .op = std::string(op),
                    .inputs = std::move(inputs),
                    .outputs = {result},
                    .attributes = std::move(attributes)});
  return result;
}

std::string Rewriter::fresh_name(std::string_view op) {
  const auto& initializers = model_->graph.initializers;
  std::string name;
  do name = "written out " + std::string(op) + std::to_string(++count_);
  while (initializers.contains(name) || writers_.contains(name) || readers_.contains(name));
  return name;
}

bool Rewriter::has_input(std::string_view name, std::vector<InputSide> shape) {
  if (input(name)) return true;
  const bool is_taken = writers_.contains(name) || readers_.contains(name) || model_->graph.initializers.contains(name);
  if (is_taken) return false;
  model_->graph.inputs.push_back({.name = std::string(name), .type = ElementType::i64, .shape = std::move(shape)});
  is_changed_ = true;
  return true;
}

bool Rewriter::rename(const std::string& value) {
  ModelGraph& graph = model_->graph;
  if (!writers_.contains(value) && !graph.initializers.contains(value) && !readers_.contains(value)) return true;
  const auto has_body = [](const Node& node) {  // which may read it
    return std::ranges::any_of(node.attributes,
                               [](const auto& it) { return std::holds_alternative<Subgraph>(it.second); });
  };
  if (std::ranges::any_of(graph.nodes, has_body)) return false;
  const std::string other = fresh_name("name");
  for (Node& node : added_) std::ranges::replace(node.inputs, value, other);
  for (Node& node : graph.nodes) {
    std::ranges::replace(node.inputs, value, other);
    std::ranges::replace(node.outputs, value, other);
  }
  if (auto initializer = graph.initializers.extract(value)) {
    initializer.key() = other;
    graph.initializers.insert(std::move(initializer));
  }
  for (ValueInfo& info : graph.values) {
    if (info.name == value) info.name = other;
  }
  is_changed_ = true;
  return static_cast<bool>(refresh());
}

std::string Rewriter::add_constant(Tensor tensor) {
  tensor.name = fresh_name("constant");
  const std::string name = tensor.name;
  model_->graph.initializers.emplace(name, std::make_shared<const Tensor>(std::move(tensor)));
  return name;
}

std::string Rewriter::add_list(const std::vector<int64_t>& numbers) {
  return add_constant(tensor_of<int64_t>(ElementType::i64, {std::ssize(numbers)}, numbers));
}

void Rewriter::replace(const std::string& value, Node node) {
  is_changed_ = true;
  if (Node* before = writer(value)) std::ranges::replace(before->outputs, value, fresh_name("unread"));
  added_.push_back(std::move(node));
}

}  // namespace qgen::onnx
