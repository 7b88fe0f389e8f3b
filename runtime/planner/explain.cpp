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

class Explainer {
 public:
  Explainer(const Graph& graph, const PlanOptions& options, const Plan& chosen)
      : graph_(graph), options_(options), plan_(chosen) {
    if (!options_.conversion) options_.conversion = conversion_cost(options_.device);
    auto resolved = resolve(graph);
    assert(resolved && "the plan is one of this graph");
    resolved_ = *std::move(resolved);
    for (const Conversion& made : plan_.conversions) made_.push_back(&made);
    size_t turn = 0;
    std::vector<size_t> turns(plan_.nodes.size());  // of each operator, from 1; what arrives comes before
    for (uint32_t index : resolved_.topological) turns[index] = ++turn;
    const auto turn_of = [&](const Conversion* made) {
      const auto writer = writer_of(*made);
      return writer ? turns[writer->node] : 0;
    };
    std::ranges::stable_sort(made_, {}, turn_of);
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

  // Plan and resolved graph name everything in the same order.
  template <typename Named>
  static uint32_t index_of(const std::vector<Named>& list, const std::string& name) {
    return static_cast<uint32_t>(std::ranges::lower_bound(list, name, {}, &Named::name) - list.begin());
  }

  std::optional<ResolvedGraph::Use> writer_of(const Conversion& made) const {
    return resolved_.writer[index_of(plan_.tensors, made.tensor)];
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
    for (uint32_t index : resolved_.topological) {
      const Node& node = resolved_.graph.nodes[index];
      const PlannedNode& planned = plan_.nodes[index];
      const auto split = planned.takes.begin() + std::ssize(node.inputs);
      line("  {} ({}): {}, {:.6g} us, {} -> {}", planned.name, node.op, planned.kernel, planned.cost_us,
           joined_names({planned.takes.begin(), split}), joined_names({split, planned.takes.end()}));
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
    const auto writer = writer_of(made);
    if (!writer) return line("    it arrives as {}", name(made.from));
    const PlannedNode& planned = plan_.nodes[writer->node];
    line("    '{}' writes it as {} ({}, {:.6g} us)", planned.name, name(made.from), planned.kernel, planned.cost_us);
  }

  void say_reader(const Conversion& made, const std::string& reader) {
    const uint32_t index = index_of(plan_.nodes, reader);
    const PlannedNode& planned = plan_.nodes[index];
    line("    '{}' reads it as {} ({}, {:.6g} us){}", reader, name(made.to), planned.kernel, planned.cost_us,
         direct_kernel(resolved_.graph.nodes[index], planned, made));
  }

  // What the reader would cost by itself if it read what there is, or what keeps it from that.
  static std::string direct_kernel(const Node& reader, const PlannedNode& planned, const Conversion& made) {
    const Kernel* best = nullptr;
    std::string out_of_sync;
    for (const Kernel& kernel : reader.kernels) {
      for (uint32_t input = 0; input < reader.inputs.size(); ++input) {
        if (reader.inputs[input] != made.tensor || !kernel.takes[input].contains(made.from)) continue;
        if (const auto other = incompatible(planned, kernel, input, made.from)) {
          out_of_sync = fmt::format("; {} reads {} only beside its like, and '{}' is {}", kernel.name, name(made.from),
                                    tensor_name(reader, *other), name(planned.takes[*other]));
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
  static std::optional<uint32_t> incompatible(const PlannedNode& planned, const Kernel& kernel, uint32_t operand,
                                              Representation form) {
    for (const auto& group : kernel.synced) {
      if (std::find(group.begin(), group.end(), operand) == group.end()) continue;
      for (uint32_t other : group) {
        if (other != operand && !are_compatible(planned.takes[other], form)) return other;
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
      const bool is_ours = std::ranges::any_of(plan_.conversions, [&](const Conversion& ours) {
        return ours.tensor == theirs.tensor && ours.from == theirs.from && ours.to == theirs.to;
      });
      if (is_ours) continue;
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
      const Tensor& tensor = resolved_.graph.tensors[index_of(plan_.tensors, dropped.tensor)];
      if (info(dropped.representation).is_packed_bytes() && bytes(tensor.dtype) != 1) continue;  // goes without saying
      by_reason[fmt::format("{}: {}", dropped.tensor, dropped.reason)].push_back(name(dropped.representation));
    }
    if (by_reason.empty()) return;
    line("\nnot on this device:");
    for (const auto& [reason, names] : by_reason) line("  {} ({})", reason, fmt::join(names, ", "));
  }

  const Graph& graph_;
  PlanOptions options_;
  const Plan& plan_;
  ResolvedGraph resolved_;
  std::vector<const Conversion*> made_;  // as they run
  std::string text_;
};

}  // namespace

std::string explain(const Graph& graph, const PlanOptions& options, const Plan& chosen, size_t most_conversions) {
  return Explainer(graph, options, chosen).run(most_conversions);
}

std::string to_text(const Graph& graph, const Plan& plan) { return Explainer(graph, {}, plan).brief(); }

}  // namespace qgen::planner
