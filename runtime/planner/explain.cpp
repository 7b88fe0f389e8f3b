// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A plan in words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "runtime/planner/plan.h"

namespace qgen::planner {
namespace {

std::string joined_names(const std::vector<Representation>& list) {
  std::vector<std::string> names;
  for (Representation r : list) names.push_back(name(r));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string count(size_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

// What the graph says of an operator, and what the plan does.
struct PlannedOperator {
  const Node* node;
  const PlannedNode* planned;
};

class Explainer {
 public:
  Explainer(const Graph& graph, const PlanOptions& options, const Plan& chosen)
      : graph_(graph), options_(options), plan_(chosen) {
    if (!options_.conversion) options_.conversion = conversion_cost(options_.device);
    for (const Tensor& tensor : graph_.tensors) {
      if (bytes(tensor.dtype) == 1) int8_tensors_.insert(tensor.name);
    }
    for (const Conversion& made : plan_.conversions) conversions_.insert({made.tensor, made.from, made.to});
    list_in_order();
  }

  std::string brief() && {
    say_total();
    say_nodes();
    if (!plan_.conversions.empty()) line("\nconversions:");
    for (const Conversion* made : made_) say_conversion(*made);
    return std::move(text_);
  }

  std::string run(size_t most_conversions) && {
    say_total();
    say_nodes();
    say_conversions(most_conversions);
    say_dropped();
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  // Operators as they run, each tensor's conversions after its writer.
  void list_in_order() {
    const auto resolved = resolve(graph_);
    assert(resolved && "the plan is one of this graph");
    const auto find_planned = [&](const std::string& operator_name) {
      return std::lower_bound(plan_.nodes.begin(), plan_.nodes.end(), operator_name,
                              [](const PlannedNode& node, const std::string& name) { return node.name < name; });
    };
    for (uint32_t index : resolved->topological) {
      nodes_.push_back(resolved->graph.nodes[index]);
      places_[nodes_.back().name] = order_.size();
      for (const auto& output : nodes_.back().outputs) writers_[output] = order_.size();
      order_.push_back({nullptr, &*find_planned(nodes_.back().name)});
    }
    for (size_t at = 0; at < order_.size(); ++at) order_[at].node = &nodes_[at];
    for (const Conversion& made : plan_.conversions) made_.push_back(&made);
    const auto place = [&](const Conversion* made) {
      const auto writer = writers_.find(made->tensor);
      return writer == writers_.end() ? -1 : static_cast<ptrdiff_t>(writer->second);
    };
    std::stable_sort(made_.begin(), made_.end(), [&](auto* a, auto* b) { return place(a) < place(b); });
  }

  void say_total() {
    double converting = 0;
    for (const auto& c : plan_.conversions) converting += c.cost_us;
    line("{}, {}: {:.6g} us, of which {:.6g} us in {}", count(plan_.nodes.size(), "operator"),
         count(plan_.tensors.size(), "tensor"), plan_.cost_us, converting,
         count(plan_.conversions.size(), "conversion"));
    if (plan_.is_optimal()) {
      line("no plan is faster");
    } else {
      line("no plan is faster than {:.6g} us; this one is at most {:.2f} % above the least", plan_.lower_bound_us,
           100 * plan_.gap());
    }
  }

  void say_nodes() {
    line("\noperators:");
    for (const auto [node, planned] : order_) {
      const auto split = planned->takes.begin() + static_cast<ptrdiff_t>(node->inputs.size());
      line("  {} ({}): {}, {:.6g} us, {} -> {}", planned->name, node->op, planned->kernel, planned->cost_us,
           joined_names({planned->takes.begin(), split}), joined_names({split, planned->takes.end()}));
    }
  }

  void say_conversions(size_t most) {
    if (plan_.conversions.empty()) return line("\nno conversions: each tensor is read as it is written");
    line("\nconversions:");
    for (size_t at = 0; at < made_.size(); ++at) {
      if (at == most) return line("  and {} more", made_.size() - most);
      say_conversion(*made_[at]);
      say_reasons(*made_[at]);
    }
  }

  void say_conversion(const Conversion& made) {
    line("  {}: {} -> {}, {:.6g} us", made.tensor, name(made.from), name(made.to), made.cost_us);
  }

  void say_reasons(const Conversion& made) {
    say_origin(made);
    for (const auto& reader : made.readers) say_reader(made, reader);
    for (const Conversion& next : plan_.conversions) {
      if (next.tensor == made.tensor && next.from == made.to) line("    {} is made from it", name(next.to));
    }
    if (made.leaves) line("    the caller takes it as {}", name(made.to));
    say_alternative(made);
  }

  void say_origin(const Conversion& made) {
    const auto is_source = [&](const Conversion& other) {
      return other.tensor == made.tensor && other.to == made.from;
    };
    if (std::any_of(plan_.conversions.begin(), plan_.conversions.end(), is_source)) {
      return line("    from the copy in {}", name(made.from));
    }
    const auto writer = writers_.find(made.tensor);
    if (writer == writers_.end()) return line("    it arrives as {}", name(made.from));
    const PlannedNode& planned = *order_[writer->second].planned;
    line("    '{}' writes it as {} ({}, {:.6g} us)", planned.name, name(made.from), planned.kernel, planned.cost_us);
  }

  void say_reader(const Conversion& made, const std::string& reader) {
    const PlannedOperator& planned = order_[places_.at(reader)];
    line("    '{}' reads it as {} ({}, {:.6g} us){}", reader, name(made.to), planned.planned->kernel,
         planned.planned->cost_us, direct_kernel(planned, made));
  }

  // What the reader would cost by itself if it read what there is, or what keeps it from that.
  static std::string direct_kernel(const PlannedOperator& reader, const Conversion& made) {
    const Kernel* best = nullptr;
    std::string out_of_sync;
    for (const Kernel& kernel : reader.node->kernels) {
      for (uint32_t input = 0; input < reader.node->inputs.size(); ++input) {
        if (reader.node->inputs[input] != made.tensor || !kernel.takes[input].contains(made.from)) continue;
        if (const auto other = incompatible(reader, kernel, input, made.from)) {
          out_of_sync = fmt::format("; {} reads {} only beside its like, and '{}' is {}", kernel.name, name(made.from),
                                    tensor_name(*reader.node, *other), name(reader.planned->takes[*other]));
        } else if (best == nullptr || kernel.cost_us < best->cost_us) {
          best = &kernel;
        }
      }
    }
    if (best != nullptr)
      return fmt::format("; {} would read {} at {:.6g} us", best->name, name(made.from), best->cost_us);
    return out_of_sync.empty() ? fmt::format("; no kernel of it reads {}", name(made.from)) : out_of_sync;
  }

  // An operand that the kernel wants like `operand`, and that is planned in a form not compatible with `form`.
  static std::optional<uint32_t> incompatible(const PlannedOperator& reader, const Kernel& kernel, uint32_t operand,
                                              Representation form) {
    for (const auto& group : kernel.synced) {
      if (std::find(group.begin(), group.end(), operand) == group.end()) continue;
      for (uint32_t other : group) {
        if (other != operand && !are_compatible(reader.planned->takes[other], form)) return other;
      }
    }
    return std::nullopt;
  }

  // Plans again with the conversion forbidden.
  void say_alternative(const Conversion& made) {
    PlanOptions without = options_;
    without.conversion = [&](const Tensor& tensor, Representation from, Representation to) -> std::optional<double> {
      if (tensor.name == made.tensor && from == made.from && to == made.to) return std::nullopt;
      return options_.conversion(tensor, from, to);
    };
    const auto other = plan(graph_, without);
    if (!other) return line("    without it nothing fits");
    const double more = other->cost_us - plan_.cost_us;  // of plans that are not proven best, either may be better
    const std::string change =
        more == 0 ? "the same time" : fmt::format("{:.6g} us {}", std::abs(more), more < 0 ? "less" : "more");
    line("    without it {}: {}", change, differences(*other));
  }

  std::string differences(const Plan& other) const {
    std::vector<std::string> parts;
    for (size_t at = 0; at < plan_.nodes.size(); ++at) {
      const auto &ours = plan_.nodes[at], &theirs = other.nodes[at];
      if (ours.kernel == theirs.kernel) continue;
      parts.push_back(fmt::format("'{}' would run {} at {:.6g} us", theirs.name, theirs.kernel, theirs.cost_us));
    }
    for (const Conversion& theirs : other.conversions) {
      if (conversions_.contains({theirs.tensor, theirs.from, theirs.to})) continue;
      parts.push_back(fmt::format("{} would go {} -> {} at {:.6g} us", theirs.tensor, name(theirs.from),
                                  name(theirs.to), theirs.cost_us));
    }
    if (parts.empty()) return "the same kernels on tensors written otherwise";
    constexpr size_t kMost = 4;
    const size_t left = parts.size() > kMost ? parts.size() - kMost : 0;
    parts.resize(std::min(parts.size(), kMost));
    return fmt::format("{}{}", fmt::join(parts, ", "), left == 0 ? "" : fmt::format(", and {} more differences", left));
  }

  void say_dropped() {
    std::map<std::string, std::vector<std::string>> by_reason;
    for (const Dropped& dropped : plan_.dropped) {
      if (info(dropped.representation).is_packed_bytes() && !int8_tensors_.contains(dropped.tensor))
        continue;  // goes without saying
      by_reason[fmt::format("{}: {}", dropped.tensor, dropped.reason)].push_back(name(dropped.representation));
    }
    if (by_reason.empty()) return;
    line("\nnot on this device:");
    for (const auto& [reason, names] : by_reason) line("  {} ({})", reason, fmt::join(names, ", "));
  }

  const Graph& graph_;
  PlanOptions options_;
  const Plan& plan_;
  std::vector<Node> nodes_;                                   // as they run
  std::vector<PlannedOperator> order_;                        // the same
  std::unordered_map<std::string, size_t> places_, writers_;  // in order_: by name, by the tensor written
  std::vector<const Conversion*> made_;                       // as they run
  std::unordered_set<std::string_view> int8_tensors_;
  std::set<std::tuple<std::string_view, Representation, Representation>> conversions_;
  std::string text_;
};

}  // namespace

std::string explain(const Graph& graph, const PlanOptions& options, const Plan& chosen, size_t most_conversions) {
  return Explainer(graph, options, chosen).run(most_conversions);
}

std::string to_text(const Graph& graph, const Plan& plan) { return Explainer(graph, {}, plan).brief(); }

}  // namespace qgen::planner
