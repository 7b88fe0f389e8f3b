// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A plan in words, and as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "runtime/planner/plan.h"

namespace qgen::planner {
namespace {

std::string joined_names(const std::vector<Representation>& list) {
  std::vector<std::string> names;
  for (Representation r : list) names.push_back(name(r));
  return fmt::format("{}", fmt::join(names, ", "));
}

const Node* find_node(const Graph& graph, std::string_view name) {
  const auto at = std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return n.name == name; });
  return at == graph.nodes.end() ? nullptr : &*at;
}

class Explainer {
 public:
  Explainer(const Graph& graph, const PlanOptions& options, const Plan& chosen)
      : graph_(graph), options_(options), plan_(chosen) {
    if (!options_.conversion) options_.conversion = conversion_cost(options_.device);
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

  void say_total() {
    double converting = 0;
    for (const auto& c : plan_.conversions) converting += c.cost_us;
    line("{} operators, {} tensors: {:.6g} us, of which {:.6g} us in {} conversions", plan_.nodes.size(),
         plan_.tensors.size(), plan_.cost_us, converting, plan_.conversions.size());
    if (plan_.is_optimal()) {
      line("no plan is faster");
    } else {
      line("no plan is faster than {:.6g} us; this one is at most {:.2f} % above the least", plan_.lower_bound_us,
           100 * plan_.gap());
    }
  }

  void say_nodes() {
    line("\noperators:");
    for (const PlannedNode& planned : plan_.nodes) {
      const Node* node = find_node(graph_, planned.name);
      if (node == nullptr) continue;
      const auto split = planned.takes.begin() + static_cast<ptrdiff_t>(node->inputs.size());
      line("  {} ({}): {}, {:.6g} us, {} -> {}", planned.name, node->op, planned.kernel, planned.cost_us,
           joined_names({planned.takes.begin(), split}), joined_names({split, planned.takes.end()}));
    }
  }

  void say_conversions(size_t most) {
    if (plan_.conversions.empty()) return line("\nno conversions: each tensor is read as it is written");
    line("\nconversions:");
    for (size_t at = 0; at < plan_.conversions.size(); ++at) {
      if (at == most) return line("  and {} more", plan_.conversions.size() - most);
      say_conversion(plan_.conversions[at]);
    }
  }

  void say_conversion(const Conversion& made) {
    line("  {}: {} -> {}, {:.6g} us", made.tensor, name(made.from), name(made.to), made.cost_us);
    say_origin(made);
    for (const auto& reader : made.readers) say_reader(made, reader);
    if (made.leaves) line("    the caller takes it as {}", name(made.to));
    say_alternative(made);
  }

  void say_origin(const Conversion& made) {
    for (const PlannedNode& planned : plan_.nodes) {
      const Node* node = find_node(graph_, planned.name);
      if (node == nullptr) continue;
      if (std::find(node->outputs.begin(), node->outputs.end(), made.tensor) == node->outputs.end()) continue;
      return line("    '{}' writes it as {} ({}, {:.6g} us)", planned.name, name(made.from), planned.kernel, planned.cost_us);
    }
    line("    it arrives as {}", name(made.from));
  }

  void say_reader(const Conversion& made, const std::string& reader) {
    const Node* node = find_node(graph_, reader);
    const auto planned = std::find_if(plan_.nodes.begin(), plan_.nodes.end(), [&](const auto& n) { return n.name == reader; });
    if (node == nullptr || planned == plan_.nodes.end()) return;
    line("    '{}' reads it as {} ({}, {:.6g} us){}", reader, name(made.to), planned->kernel, planned->cost_us,
         direct_kernel(*node, made));
  }

  // What the reader would cost by itself if it read what there is.
  static std::string direct_kernel(const Node& node, const Conversion& made) {
    const Kernel* best = nullptr;
    for (const Kernel& kernel : node.kernels) {
      for (size_t input = 0; input < node.inputs.size(); ++input) {
        if (node.inputs[input] != made.tensor || !kernel.takes[input].contains(made.from)) continue;
        if (best == nullptr || kernel.cost_us < best->cost_us) best = &kernel;
      }
    }
    if (best == nullptr) return fmt::format("; no kernel of it reads {}", name(made.from));
    return fmt::format("; {} would read {} at {:.6g} us", best->name, name(made.from), best->cost_us);
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
    line("    without it {:.6g} us more: {}", other->cost_us - plan_.cost_us, differences(*other));
  }

  std::string differences(const Plan& other) const {
    std::vector<std::string> parts;
    for (size_t at = 0; at < plan_.nodes.size(); ++at) {
      const auto &ours = plan_.nodes[at], &theirs = other.nodes[at];
      if (ours.kernel == theirs.kernel) continue;
      parts.push_back(fmt::format("'{}' would run {} at {:.6g} us", theirs.name, theirs.kernel, theirs.cost_us));
    }
    for (const Conversion& theirs : other.conversions) {
      const bool is_ours = std::any_of(plan_.conversions.begin(), plan_.conversions.end(), [&](const Conversion& ours) {
        return std::tie(ours.tensor, ours.from, ours.to) == std::tie(theirs.tensor, theirs.from, theirs.to);
      });
      if (is_ours) continue;
      parts.push_back(fmt::format("{} would go {} -> {} at {:.6g} us", theirs.tensor, name(theirs.from), name(theirs.to),
                                  theirs.cost_us));
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
      if (info(dropped.representation).int8_only && !is_int8(dropped.tensor)) continue;  // goes without saying
      by_reason[fmt::format("{}: {}", dropped.tensor, dropped.reason)].push_back(name(dropped.representation));
    }
    if (by_reason.empty()) return;
    line("\nnot on this device:");
    for (const auto& [reason, names] : by_reason) line("  {} ({})", reason, fmt::join(names, ", "));
  }

  bool is_int8(const std::string& tensor) const {
    return std::any_of(graph_.tensors.begin(), graph_.tensors.end(),
                       [&](const Tensor& t) { return t.name == tensor && bytes(t.dtype) == 1; });
  }

  const Graph& graph_;
  PlanOptions options_;
  const Plan& plan_;
  std::string text_;
};

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

template <typename List, typename Write>
std::string array(const List& list, Write write) {
  std::vector<std::string> parts;
  for (const auto& item : list) parts.push_back(write(item));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

template <typename List, typename Write>
std::string lines(const List& list, Write write) {
  std::vector<std::string> parts;
  for (const auto& item : list) parts.push_back("\n    " + write(item));
  return parts.empty() ? "[]" : fmt::format("[{}\n  ]", fmt::join(parts, ","));
}

std::string quoted_name(Representation r) { return quoted(name(r)); }

}  // namespace

std::string explain(const Graph& graph, const PlanOptions& options, const Plan& chosen, size_t most_conversions) {
  return Explainer(graph, options, chosen).run(most_conversions);
}

std::string to_json(const Plan& plan) {
  const auto tensor = [](const PlannedTensor& t) {
    return fmt::format(R"({{"name": {}, "home": {}}})", quoted(t.name), quoted_name(t.home));
  };
  const auto node = [](const PlannedNode& n) {
    return fmt::format(R"({{"name": {}, "kernel": {}, "cost_us": {}, "takes": {}}})", quoted(n.name), quoted(n.kernel),
                       n.cost_us, array(n.takes, quoted_name));
  };
  const auto conversion = [](const Conversion& c) {
    return fmt::format(R"({{"tensor": {}, "from": {}, "to": {}, "cost_us": {}, "readers": {}, "leaves": {}}})",
                       quoted(c.tensor), quoted_name(c.from), quoted_name(c.to), c.cost_us, array(c.readers, quoted), c.leaves);
  };
  const auto dropped = [](const Dropped& d) {
    return fmt::format(R"({{"tensor": {}, "representation": {}, "reason": {}}})", quoted(d.tensor),
                       quoted_name(d.representation), quoted(d.reason));
  };
  return fmt::format(
      "{{\n  \"cost_us\": {},\n  \"lower_bound_us\": {},\n  \"tensors\": {},\n  \"operators\": {},\n"
      "  \"conversions\": {},\n  \"dropped\": {}\n}}\n",
      plan.cost_us, plan.lower_bound_us, lines(plan.tensors, tensor), lines(plan.nodes, node),
      lines(plan.conversions, conversion), lines(plan.dropped, dropped));
}

}  // namespace qgen::planner
