// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>

#include <algorithm>

#include "runtime/selector/select.h"

namespace qgen {
namespace {

// Refusals that say the same, under the first one's id.
struct Group {
  const Rejection* first;
  size_t count;
};

// What came furthest stands first: it is nearest to fitting.
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
  std::ranges::stable_sort(groups, std::ranges::greater{}, [](const Group& group) { return group.first->hurdle; });
  return groups;
}

std::string line_of(const Group& group) {
  const std::string more = group.count > 1 ? fmt::format(" and {} more", group.count - 1) : "";
  return fmt::format("  {}{}: {}\n", group.first->id, more, group.first->reason);
}

std::string cost_text(const Choice& choice) {
  if (choice.source == TimeSource::estimated) return fmt::format("{:.4g} us estimated", choice.cost_us);
  return fmt::format("{:.4g} us {} ({:.4g} estimated)", choice.time_us, choice.said, choice.cost_us);
}

std::string ranking_text(const std::vector<Choice>& ranked, size_t max_lines) {
  const size_t shown = std::min(ranked.size(), max_lines);
  size_t widest = 0;
  for (size_t i = 0; i < shown; ++i) widest = std::max(widest, ranked[i].id.size());
  std::string text;
  for (size_t i = 0; i < shown; ++i) {
    text += fmt::format("  {:>2}  {:<{}}  {}\n", i + 1, ranked[i].id, widest, cost_text(ranked[i]));
  }
  if (shown < ranked.size()) text += fmt::format("  ({} more fit)\n", ranked.size() - shown);
  return text;
}

std::string refusals_text(const std::vector<Rejection>& rejected, size_t max_lines) {
  std::string text;
  size_t shown = 0, left = rejected.size();
  for (const Group& group : groups_of(rejected)) {
    if (shown++ == max_lines) break;
    text += line_of(group);
    left -= group.count;
  }
  if (left > 0) text += fmt::format("  ({} more, for other reasons)\n", left);
  return text;
}

}  // namespace

std::string explain(const Selection& selection, size_t max_lines) {
  std::string text;
  if (selection.ranked.empty()) {
    text = fmt::format("no kernel fits {}\n", selection.question);
  } else {
    text = fmt::format("{}\n{}", selection.question, ranking_text(selection.ranked, max_lines));
    if (!selection.rejected.empty()) text += "not these:\n";
  }
  text += refusals_text(selection.rejected, max_lines);
  if (!selection.hint.empty()) text += fmt::format("  hint: {}\n", selection.hint);
  return text;
}

Error no_kernel(const Selection& selection) {
  if (selection.rejected.size() == 1) {
    const Rejection& only = selection.rejected.front();
    const bool is_request = only.hurdle == Hurdle::request;
    return {is_request ? Error::Kind::not_found : Error::Kind::unsupported,
            fmt::format("'{}' {}{}", only.id, is_request ? "" : "does not fit: ", only.reason), selection.hint};
  }
  std::string text = explain(selection);  // which ends with the hint
  if (text.ends_with('\n')) text.pop_back();
  return {Error::Kind::unsupported, std::move(text), ""};
}

}  // namespace qgen
