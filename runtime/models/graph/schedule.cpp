// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Scheduler::run() describes the graph to the planner. Then it adds the steps of one node after the other, with the
// conversions that their operands need. Last, it places all tensors in the arena. With a known Decision it does the
// same without the planner.
#include "runtime/models/graph/schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "runtime/engine/selector/in_place.h"
#include "runtime/engine/tensor/packed_layout.h"
#include "runtime/models/graph/candidates.h"
#include "runtime/models/graph/lifetimes.h"

namespace qgen::graph {
namespace {

using planner::RepresentationSet;

// The planner's name of a value, a node or a combination of layouts: its index, and a text for messages.
planner::Name named(size_t index, std::string_view text) { return {static_cast<uint32_t>(index), std::string(text)}; }

// Each line once: kernels have no texts, so several of them may have the same message.
std::string with_unique_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t from = 0; from <= text.size();) {
    const size_t to = std::min(text.find('\n', from), text.size());
    const std::string_view line = text.substr(from, to - from);
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
    from = to + 1;
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

// Reshapes of up to this many elements are compared element by element.
constexpr int64_t kMostCompared = int64_t{1} << 16;

// Whether element i of `a` is in the same byte as element i of `b`, for all i in row-major order.
bool lie_alike(const TensorDesc& a, Layout a_layout, const TensorDesc& b, Layout b_layout) {
  if (a_layout == Layout::strided && b_layout == Layout::strided) return true;
  if (a_layout == b_layout && sides_of(a.shape) == sides_of(b.shape)) return true;
  if (bytes(a.dtype) != 1 || element_count(a.shape) > kMostCompared) return false;
  const PackedLayout lies_a = packed_layout(a.shape, info(a_layout).dims);
  const PackedLayout lies_b = packed_layout(b.shape, info(b_layout).dims);
  if (buffer_bytes(a.dtype, a.shape, a_layout) != buffer_bytes(b.dtype, b.shape, b_layout)) return false;
  const auto offset = [](const PackedLayout& lies, int64_t element) {
    Sides at{};
    for (size_t d = 0; d < kDims; ++d) {
      at[d] = element % lies.sides[d];
      element /= lies.sides[d];
    }
    return lies.offset(at);
  };
  for (int64_t i = 0; i < element_count(a.shape); ++i) {
    if (offset(lies_a, i) != offset(lies_b, i)) return false;
  }
  return true;
}

class Scheduler {
 public:
  Scheduler(const Graph& graph, const Inferred& inferred, const std::map<ValueId, TensorDesc>& weights,
            const Chooser& chooser, const std::function<void(size_t, size_t)>& on_node)
      : graph_(graph),
        inferred_(inferred),
        weights_(weights),
        candidates_(chooser),
        chooser_(chooser),
        on_node_(on_node) {}

  // `known`: the choices of an earlier schedule, or null.
  Expected<Schedule> run(const Decision* known) {
    result_.values = inferred_.values;
    is_known_ = known != nullptr;
    if (Done offered = offer(); !offered) return offered.error();
    if (Done decided = known ? take(*known) : plan(); !decided) return decided.error();
    for (const Decision::Copy& copy : result_.decision.copies) {
      if (copy.from != copy.to) copies_.emplace(std::pair(copy.value, copy.to), copy.from);
    }
    for (const ValueId input : graph_.inputs) result_.inputs.push_back(tensor_of(input, Layout::strided));
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (Done added = add_node(i); !added) return added.error();
    }
    for (const Named& output : graph_.outputs) {
      const auto left = lying(output.value, Layout::strided);
      if (!left) return left.error();
      result_.outputs.push_back(*left);
    }
    if (Done placed = place(); !placed) return placed.error();
    return std::move(result_);
  }

 private:
  bool is_constant(ValueId value) const { return graph_.values[value].is_constant; }

  // ---- the description for the planner ------------------------------------------------------------------------------

  Done offer() {
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      if (is_constant(static_cast<ValueId>(i))) continue;
      const TensorDesc& value = result_.values[i];
      question_.tensors.push_back(
          {.name = named(i, graph_.values[i].name), .shape = value.shape, .dtype = value.dtype});
    }
    for (const ValueId input : graph_.inputs) asked(input).arrives_as = planner::Representation();
    for (const Named& output : graph_.outputs) {
      if (is_constant(output.value)) return refused(fmt::format("output '{}' is a constant", output.name));
      asked(output.value).leaves_as = planner::Representation();
    }
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Done offered = inferred_.operations[i].entry ? offer_operator(i) : offer_reshape(i);
      if (!offered) return offered;
      if (on_node_) on_node_(i + 1, graph_.nodes.size());
    }
    return std::monostate{};
  }

  // Tensors are in the order of their ids.
  planner::Tensor& asked(ValueId value) {
    return *std::ranges::lower_bound(question_.tensors, named(value, graph_.values[value].name), {},
                                     &planner::Tensor::name);
  }

  planner::Node question_about(size_t node, std::span<const Slot> slots) const {
    planner::Node asked_node{.name = named(node, graph_.nodes[node].name), .op = graph_.nodes[node].op};
    for (const Slot& slot : slots) {
      auto& side = slot.is_output ? asked_node.outputs : asked_node.inputs;
      side.push_back(named(slot.value, graph_.values[slot.value].name));
    }
    return asked_node;
  }

  Done offer_operator(size_t node) {
    const Inferred::Operation& operation = inferred_.operations[node];
    InferArguments arguments = *operation.arguments;
    for (const Port& input : graph_.nodes[node].inputs) {
      const auto weight = weights_.find(input.value);
      const TensorInfo& info = *find_tensor(*operation.entry, input.operand);
      if (weight != weights_.end() && info.role == TensorInfo::Role::weight)
        arguments.set_tensor(info.operand, weight->second);
    }
    auto offered = candidates_.slots_of(graph_, graph_.nodes[node], *operation.entry, std::move(arguments));
    if (offered && !is_known_) offered = candidates_.with_ways(*std::move(offered));
    if (!offered) return about(node, offered.error());
    planner::Node asked_node = question_about(node, offered->slots);
    for (size_t i = 0; i < offered->ways.size(); ++i) {
      planner::Kernel kernel{.name = named(i, ""), .cost_us = offered->ways[i].time_us};
      for (const Layout layout : offered->ways[i].layouts) kernel.takes.push_back(*planner::Representation::of(layout));
      asked_node.kernels.push_back(std::move(kernel));
    }
    question_.nodes.push_back(std::move(asked_node));
    offers_.push_back(*std::move(offered));
    return std::monostate{};
  }

  // A reshape computes nothing: it may have any two layouts with the elements in the same bytes.
  Done offer_reshape(size_t node) {
    const ValueId input = graph_.nodes[node].inputs.front().value, output = graph_.nodes[node].outputs.front().value;
    if (is_constant(input)) return about(node, refused("a reshape of a constant: give the constant its shape"));
    const std::vector<Layout> layouts = layouts_of_bytes(result_.values[input].dtype);
    Offer offer{.slots = {{false, input, 0, layouts}, {true, output, 0, layouts}}};
    planner::Node asked_node = question_about(node, offer.slots);
    for (const Layout from : layouts) {
      for (const Layout to : layouts) {
        if (!lie_alike(result_.values[input], from, result_.values[output], to)) continue;
        asked_node.kernels.push_back({.name = named(offer.ways.size(), ""),
                                      .takes = {*planner::Representation::of(from), *planner::Representation::of(to)}});
        offer.ways.push_back({.layouts = {from, to}});
      }
    }
    question_.nodes.push_back(std::move(asked_node));
    offers_.push_back(std::move(offer));
    return std::monostate{};
  }

  Error about(size_t node, Error error) const {
    error.message = fmt::format("node '{}': {}", graph_.nodes[node].name, error.message);
    return error;
  }

  // ---- what it answers ----------------------------------------------------------------------------------------------

  Done plan() {
    const auto conversion_us = [this](const planner::Tensor& tensor, planner::Representation from,
                                      planner::Representation to) {
      return candidates_.conversion_us({tensor.dtype, tensor.shape}, from.layout(), to.layout());
    };
    const auto planned = planner::plan(question_, planner::device_model(chooser_.profile.numbers), conversion_us);
    if (!planned) {
      Error error = planned.error();
      error.message = with_unique_lines(error.message);
      return error;
    }
    Decision& decision = result_.decision;
    decision.ways.resize(graph_.nodes.size());
    for (const planner::PlannedNode& node : planned->nodes) {
      decision.ways[node.name.id] = offers_[node.name.id].ways[node.kernel.id].layouts;
    }
    for (const planner::Conversion& conversion : planned->conversions) {
      decision.copies.push_back(
          {static_cast<ValueId>(conversion.tensor.id), conversion.from.layout(), conversion.to.layout()});
    }
    decision.cost_us = planned->cost_us;
    decision.lower_bound_us = planned->lower_bound_us;
    return std::monostate{};
  }

  Done take(const Decision& known) {
    const auto refuse = [] { return refused("the decision belongs to another graph"); };
    if (known.ways.size() != graph_.nodes.size()) return refuse();
    for (size_t i = 0; i < known.ways.size(); ++i) {
      const std::vector<Slot>& slots = offers_[i].slots;
      if (known.ways[i].size() != slots.size()) return refuse();
      for (size_t slot = 0; slot < slots.size(); ++slot) {
        if (std::ranges::count(slots[slot].layouts, known.ways[i][slot]) == 0) return refuse();
      }
    }
    result_.decision = known;
    given_kernels_ = std::exchange(result_.decision.kernels, {});
    return std::monostate{};
  }

  // The forced kernel of the next step; none if it is chosen.
  Expected<Forced> next_forced() const {
    if (!is_known_) return Forced();
    const size_t step = result_.steps.size();
    const OwnKernels* own = chooser_.own_kernels;
    if (step >= given_kernels_.size() || (own && step >= own->choices().size()))
      return refused("the decision belongs to another graph");
    return Forced{given_kernels_[step], own ? &own->choices()[step] : nullptr};
  }

  void add(Step step) {
    result_.decision.kernels.push_back(step.choice->id);
    result_.steps.push_back(std::move(step));
  }

  // ---- the steps ----------------------------------------------------------------------------------------------------

  uint32_t tensor_of(ValueId value, Layout layout, uint32_t alias_of = PlacedValue::kNone) {
    const auto [found, is_new] =
        tensors_.emplace(std::pair(value, layout), static_cast<uint32_t>(result_.tensors.size()));
    if (is_new) result_.tensors.push_back({value, layout, alias_of});
    return found->second;
  }

  // The value in a layout: the value itself, or the copy, which is made at its first use.
  Expected<uint32_t> lying(ValueId value, Layout layout) {
    if (const auto known = tensors_.find({value, layout}); known != tensors_.end()) return known->second;
    const auto copy = copies_.find({value, layout});
    if (copy == copies_.end() || ++depth_ > kTensorLayoutCount)
      return refused(fmt::format("no node or conversion writes '{}' as {}", graph_.values[value].name, name(layout)));
    const auto from = lying(value, copy->second);
    --depth_;
    if (!from) return from;
    const auto forced = next_forced();
    if (!forced) return forced.error();
    Step step{.name = fmt::format("{} as {}", graph_.values[value].name, name(layout))};
    auto made = candidates_.conversion(result_.values[value], copy->second, layout, *forced);
    if (!made) return made.error();
    step.entry = made->entry;
    step.call = std::move(made->call);
    step.choice = std::move(made->choice);
    step.operands = {{Source::Kind::tensor, *from}, {Source::Kind::tensor, tensor_of(value, layout)}};
    add(std::move(step));
    return tensor_of(value, layout);
  }

  Done add_node(size_t node) {
    const Offer& offer = offers_[node];
    const std::vector<Layout> layouts = result_.decision.ways[node];
    std::vector<uint32_t> stand;  // of each slot
    for (size_t i = 0; i < offer.slots.size(); ++i) {
      if (offer.slots[i].is_output) continue;
      const auto input = lying(offer.slots[i].value, layouts[i]);
      if (!input) return input.error();
      stand.push_back(*input);
    }
    const bool is_reshape = inferred_.operations[node].entry == nullptr;
    for (size_t i = stand.size(); i < offer.slots.size(); ++i) {
      stand.push_back(
          tensor_of(offer.slots[i].value, layouts[i], is_reshape ? root_of(stand.front()) : PlacedValue::kNone));
    }
    return is_reshape ? Done(std::monostate{}) : add_operator(node, offer, layouts, stand);
  }

  Done add_operator(size_t node, const Offer& offer, std::span<const Layout> layouts,
                    const std::vector<uint32_t>& stand) {
    const auto forced = next_forced();
    if (!forced) return forced.error();
    auto made = candidates_.chosen(offer, layouts, *forced);
    if (!made) return about(node, made.error());
    Step step{graph_.nodes[node].name, node, made->entry, std::move(made->call), std::move(made->choice)};
    step.operands.resize(step.call.operands.size());
    for (const Port& input : graph_.nodes[node].inputs) {
      if (!is_constant(input.value)) continue;
      const TensorInfo& info = *find_tensor(*step.entry, input.operand);
      const bool is_weight = info.role == TensorInfo::Role::weight;
      step.operands[info.operand] = {is_weight ? Source::Kind::weight : Source::Kind::constant, input.value};
    }
    for (size_t i = 0; i < offer.slots.size(); ++i)
      step.operands[offer.slots[i].operand] = {Source::Kind::tensor, stand[i]};
    add(std::move(step));
    return std::monostate{};
  }

  // ---- memory -------------------------------------------------------------------------------------------------------

  uint32_t root_of(uint32_t tensor) const { return graph::root_of(result_, tensor); }

  bool lie_alike_in_place(uint32_t a, uint32_t b) const {
    const PlacedValue &one = result_.tensors[a], &other = result_.tensors[b];
    const TensorDesc &value = result_.values[one.value], &other_value = result_.values[other.value];
    return value.dtype == other_value.dtype && value.shape == other_value.shape && one.layout == other.layout;
  }

  // Whether a step may write an operand into the bytes of another, whose tensor no later step needs. The choice must
  // permit it for each operand of the step in these bytes.
  bool may_be_in_place(const Step& step, size_t output, size_t input) const {
    const auto is_tensor = [&](size_t i) { return step.operands[i].kind == Source::Kind::tensor; };
    if (!is_tensor(output) || !is_tensor(input) || !qgen::may_be_in_place(*step.choice, output, input)) return false;
    const uint32_t root = root_of(step.operands[input].index);
    for (size_t i = 0; i < step.operands.size(); ++i) {
      if (i == output || !is_tensor(i) || root_of(step.operands[i].index) != root) continue;
      if (!qgen::may_be_in_place(*step.choice, output, i) ||
          !lie_alike_in_place(step.operands[output].index, step.operands[i].index))
        return false;
    }
    return true;
  }

  // Gives the bytes that this saves where nothing else is shared. Inputs of the graph stay apart: whoever wrote them
  // may look at them.
  uint64_t put_outputs_in_place() {
    uint64_t saved = 0;
    std::vector<Lifetime> lifetimes = lifetimes_of(result_);
    std::vector<bool> is_input(result_.tensors.size());
    for (const uint32_t input : result_.inputs) is_input[root_of(input)] = true;
    for (uint32_t i = 0; i < result_.steps.size(); ++i) {
      const Step& step = result_.steps[i];
      for (size_t output = 0; output < step.operands.size(); ++output) {
        for (size_t input = 0; input < step.operands.size(); ++input) {
          if (!may_be_in_place(step, output, input)) continue;
          const uint32_t root = root_of(step.operands[input].index), written = step.operands[output].index;
          if (is_input[root] || root_of(written) != written || lifetimes[root].last != i) continue;
          result_.tensors[written].alias_of = root;
          lifetimes[root].last = lifetimes[written].last;
          saved += aligned(lifetimes[written].bytes, kTensorAlignment);
          break;
        }
      }
    }
    return saved;
  }

  // The operand that a tensor is; nullopt: the step does not have it.
  static std::optional<size_t> operand_of(const Step& step, uint32_t tensor) {
    for (size_t i = 0; i < step.operands.size(); ++i) {
      if (step.operands[i].kind == Source::Kind::tensor && step.operands[i].index == tensor) return i;
    }
    return std::nullopt;
  }

  // The last step that reads `before` writes `after` in its memory. False: there is no such step.
  bool put_in_place(uint32_t before, uint32_t after) {
    for (size_t i = result_.steps.size(); i-- > 0;) {
      const auto input = operand_of(result_.steps[i], before), output = operand_of(result_.steps[i], after);
      if (!input) continue;
      if (!output || !may_be_in_place(result_.steps[i], *output, *input)) return false;
      result_.tensors[after].alias_of = before;
      return true;
    }
    return false;
  }

  Done put_states_in_place() {
    for (const auto& [input, output] : graph_.states) {
      const uint32_t before = tensor_of(input, Layout::strided), after = tensor_of(output, Layout::strided);
      if (!put_in_place(before, after))
        return refused(fmt::format("state '{}' cannot be written in place by the node that computes '{}'",
                                   graph_.values[input].name, graph_.values[output].name));
      result_.states.push_back(before);
    }
    return std::monostate{};
  }

  // Every device allocates so much at once, and binds this range.
  uint64_t most_bytes_of_a_buffer() const {
    constexpr int64_t kEveryDevice = int64_t{1} << 30;  // maxMemoryAllocationSize: Vulkan, "Required Limits"
    return static_cast<uint64_t>(std::min(kEveryDevice, chooser_.profile.numbers.max_storage_buffer_bytes));
  }

  Done place() {
    if (Done put = put_states_in_place(); !put) return put;
    for (const ValueId input : graph_.kept) result_.kept.push_back(tensor_of(input, Layout::strided));
    const uint64_t saved = put_outputs_in_place();
    const auto count = static_cast<uint32_t>(result_.tensors.size());
    uint32_t places = count;
    for (Step& step : result_.steps) {
      if (scratch_bytes(*step.choice) > 0) step.scratch = places++;
    }
    result_.memory = plan_memory(lifetimes_of(result_), kTensorAlignment, most_bytes_of_a_buffer());
    result_.memory.naive += saved;
    for (uint32_t i = 0; i < count; ++i) result_.memory.offsets[i] = result_.memory.offsets[root_of(i)];
    return std::monostate{};
  }

  const Graph& graph_;
  const Inferred& inferred_;
  const std::map<ValueId, TensorDesc>& weights_;
  Candidates candidates_;
  const Chooser& chooser_;
  const std::function<void(size_t, size_t)>& on_node_;

  planner::Graph question_;
  std::vector<Offer> offers_;  // by node
  bool is_known_ = false;
  std::vector<std::string> given_kernels_;                  // of a known decision
  std::map<std::pair<ValueId, Layout>, Layout> copies_;     // their memory type
  size_t depth_ = 0;                                        // of copies of copies
  std::map<std::pair<ValueId, Layout>, uint32_t> tensors_;  // into result_.tensors
  Schedule result_;
};

}  // namespace

Expected<Schedule> make_schedule(const Graph& graph, const Inferred& inferred,
                                 const std::map<ValueId, TensorDesc>& weights, const Chooser& chooser,
                                 const Decision* decision, const std::function<void(size_t, size_t)>& on_node) {
  return Scheduler(graph, inferred, weights, chooser, on_node).run(decision);
}

}  // namespace qgen::graph
