// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "common/text.h"
#include "common/time_text.h"
#include "runtime/engine/selector/select.h"

namespace qgen {
namespace {

// Refusals that say the same, under the first one's id.
struct Group {
  const Rejection* first;
  size_t count;
};

// Kernels that passed the most checks come first: they are nearest to fitting.
std::vector<Group> groups_of(const std::vector<Rejection>& rejected) {
  std::vector<Group> groups;
  for (const Rejection& rejection : rejected) {
    const auto same = std::ranges::find_if(groups, [&](const Group& g) { return g.first->reason == rejection.reason; });
    if (same != groups.end()) {
      ++same->count;
    } else {
      groups.push_back({&rejection, 1});
    }
  }
  std::ranges::stable_sort(groups, std::ranges::greater{}, [](const Group& group) { return group.first->refused_by; });
  return groups;
}

std::string line_of(const Group& group) {
  const std::string more = group.count > 1 ? fmt::format(" and {} more", group.count - 1) : "";
  return wrapped_lines(fmt::format("  {}{}: {}\n", group.first->id, more, group.first->reason));
}

std::string cost_text(const Choice& choice) {
  if (choice.source == TimeSource::estimated) return us_text(choice.cost_us) + " us estimated";
  return fmt::format("{} us {} ({} estimated)", us_text(choice.time_us), choice.source_text, us_text(choice.cost_us));
}

// The id stands last: some are longer than a line.
std::string ranking_text(const std::vector<Choice>& ranked, size_t max_lines) {
  const size_t shown = std::min(ranked.size(), max_lines);
  std::vector<std::string> costs;
  size_t widest = 0;
  for (size_t i = 0; i < shown; ++i) widest = std::max(widest, costs.emplace_back(cost_text(ranked[i])).size());
  std::string text;
  for (size_t i = 0; i < shown; ++i)
    text += fmt::format("  {:>2}  {:<{}}  {}\n", i + 1, costs[i], widest, ranked[i].id);
  if (shown < ranked.size()) text += fmt::format("  ({} more fit)\n", ranked.size() - shown);
  return text;
}

std::string refusals_text(const Selection& selection, size_t max_lines, bool has_all) {
  std::string text;
  size_t shown = 0, left = 0, of_other_operands = 0;
  for (const Group& group : groups_of(selection.rejected)) {
    if (!has_all && !selection.ranked.empty() && group.first->refused_by == RefusedBy::operands) {
      of_other_operands += group.count;
    } else if (shown++ < max_lines) {
      text += line_of(group);
    } else {
      left += group.count;
    }
  }
  if (left > 0) text += fmt::format("  ({} more, for other reasons)\n", left);
  if (of_other_operands > 0) text += fmt::format("  ({} more accept other dtypes or layouts)\n", of_other_operands);
  return text;
}

}  // namespace

std::string lines_of_question(std::string_view question) {
  constexpr size_t kColumns = 100;
  const size_t device = std::min(question.rfind(" on \""), question.size());
  std::string lines = wrapped(question.substr(0, device), 4, kColumns);
  const size_t column = lines.size() - (lines.rfind('\n') + 1);
  if (column + question.size() - device > kColumns) lines += "\n   ";
  return lines.append(question.substr(device));
}

std::string explain(const Selection& selection, const ExplainOptions& options) {
  const size_t max_lines = options.has_all ? std::numeric_limits<size_t>::max() : options.max_lines;
  std::string text;
  if (selection.ranked.empty()) {
    text = lines_of_question("no kernel fits " + selection.question) + "\n";
  } else {
    text = lines_of_question(selection.question) + "\n" + ranking_text(selection.ranked, max_lines);
    for (const std::string& note : selection.notes) text += wrapped_lines(fmt::format("  note: {}\n", note));
    if (!selection.rejected.empty()) text += "not these:\n";
  }
  text += refusals_text(selection, max_lines, options.has_all);
  if (!selection.hint.empty()) text += wrapped_lines(fmt::format("  hint: {}\n", selection.hint));
  if (options.has_all) text += wrapped_lines(fmt::format("the problem's fields: {}\n", selection.fields));
  return text;
}

Error no_kernel(const Selection& selection) {
  if (selection.rejected.size() == 1) {
    const Rejection& only = selection.rejected.front();
    const bool is_request = only.refused_by == RefusedBy::request;
    return {is_request ? Error::Kind::not_found : Error::Kind::unsupported,
            fmt::format("'{}' {}{}", only.id, is_request ? "" : "does not fit: ", only.reason), selection.hint};
  }
  std::string text = explain(selection);  // which ends with the hint
  if (text.ends_with('\n')) text.pop_back();
  return {Error::Kind::unsupported, std::move(text), ""};
}

}  // namespace qgen
