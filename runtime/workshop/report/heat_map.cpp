// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/report/heat_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/engine/selector/force.h"
#include "runtime/workshop/report/svg.h"

namespace qgen::report {
namespace {

constexpr size_t kMostValues = 24;  // of an axis; the rarest are left out
constexpr double kLeastCellWidth = 50, kCellHeight = 22, kHead = 46;

// A kernel's id in parts.
struct Parts {
  std::string family;
  std::vector<std::string> words;  // of its specialization; the last is the variant
};

Parts parts_of(std::string_view id) {
  const size_t slash = id.find('/');
  const std::string_view variant = id.substr(0, slash);
  Parts parts{.family = std::string(variant.substr(0, variant.find('.')))};
  std::string_view rest = slash == std::string_view::npos ? "" : id.substr(slash + 1);
  while (!rest.empty()) {
    const size_t dot = std::min(rest.find('.'), rest.size());
    parts.words.emplace_back(rest.substr(0, dot));
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  const size_t point = variant.find('.');
  parts.words.emplace_back(point == std::string_view::npos ? variant : variant.substr(point + 1));
  return parts;
}

std::vector<std::string> kernels_of(const std::string& choice) {
  const auto steps = selector::step_ids(choice);
  return steps.empty() ? std::vector{choice} : steps;
}

// Among the best choice's families the one with the most kernels.
std::string family_of(const ProblemFact& problem) {
  std::map<std::string, std::set<std::string>> kernels;
  for (const KernelFact& fact : problem.kernels) {
    for (const std::string& id : kernels_of(fact.row.kernel)) kernels[parts_of(id).family].insert(id);
  }
  std::string family;
  for (const std::string& id : kernels_of(problem.kernels.front().row.kernel)) {
    const std::string here = parts_of(id).family;
    if (family.empty() || kernels[here].size() > kernels[family].size()) family = here;
  }
  return family;
}

struct Sample {
  std::vector<std::string> words;
  double us = 0;
};

std::vector<Sample> samples_of(const ProblemFact& problem, const std::string& family) {
  std::vector<Sample> samples;
  for (const KernelFact& fact : problem.kernels) {
    for (const std::string& id : kernels_of(fact.row.kernel)) {
      if (Parts parts = parts_of(id); parts.family == family) samples.push_back({std::move(parts.words), fact.row.us});
    }
  }
  return samples;
}

// Numbers in words count as numbers: "step64" before "step128".
bool comes_before(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

// "m4n2workgroup256" -> "m, n, workgroup"
std::string name_of(std::string_view word) {
  std::vector<std::string> names(1);
  for (const char c : word) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit) names.back() += c;
    else if (!names.back().empty()) names.emplace_back();
  }
  if (names.back().empty()) names.pop_back();
  return fmt::format("{}", fmt::join(names, ", "));
}

struct AxisOfWords {
  size_t place = 0;                 // in Sample::words
  std::vector<std::string> values;  // in order
  std::string title;
};

// The places of words by how many values they take; the variant, which is no tile, last.
std::vector<AxisOfWords> axes_of(const std::vector<Sample>& samples) {
  const size_t places = samples.front().words.size();
  std::vector<AxisOfWords> axes;
  for (size_t place = 0; place < places; ++place) {
    std::set<std::string> values;
    for (const Sample& sample : samples) values.insert(sample.words[place]);
    if (values.size() < 2) continue;
    const bool is_variant = place + 1 == places;
    axes.push_back({place, {values.begin(), values.end()}, is_variant ? "variant" : name_of(*values.begin())});
    std::ranges::sort(axes.back().values, comes_before);
    axes.back().values.resize(std::min(axes.back().values.size(), kMostValues));
  }
  std::ranges::stable_sort(axes, [&](const AxisOfWords& a, const AxisOfWords& b) {
    const bool a_is_variant = a.place + 1 == places, b_is_variant = b.place + 1 == places;
    return a_is_variant != b_is_variant ? b_is_variant : a.values.size() > b.values.size();
  });
  return axes;
}

// From the best, dark, to twice its time and more, light.
std::string colour_of(double ratio) {
  const double share = std::clamp(ratio - 1, 0.0, 1.0);
  const auto mix = [&](int best, int worst) { return best + static_cast<int>((worst - best) * share); };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(0x1f, 0xf3), mix(0x6f, 0xee), mix(0x8b, 0xd9));
}

constexpr size_t kRowLetters = 60, kColumnLetters = 24;  // of a label; of a longer one its end

std::string label_text(const std::string& label, size_t most) {
  if (label.size() <= most) return escaped(label);
  return fmt::format("<title>{}</title>..{}", escaped(label), escaped(label.substr(label.size() - most + 2)));
}

double width_for(const std::vector<std::string>& labels, size_t most) {
  const size_t letters = std::ranges::max(labels, {}, &std::string::size).size();
  return kLetter * static_cast<double>(std::min(letters, most)) + 12;
}

std::string cell_text(double x, double y, double width, double ratio) {
  return fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" fill=\"{}\"/><text class=\"cell\" fill=\"{}\" "
      "text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{:.2f}</text>\n",
      x, y, width - 2, kCellHeight - 2, colour_of(ratio), ratio < 1.5 ? "#fff" : "#222", x + width / 2 - 1,
      y + kCellHeight / 2 + 3, ratio);
}

}  // namespace

std::string heat_map_of(const ProblemFact& problem) {
  const std::string family = family_of(problem);
  const auto samples = samples_of(problem, family);
  // A family's kernels have equally many words; ids with another number are left out.
  const bool are_alike = std::ranges::all_of(
      samples, [&](const Sample& sample) { return sample.words.size() == samples.front().words.size(); });
  if (samples.empty() || !are_alike || !(problem.best_us() > 0)) return "";
  const auto axes = axes_of(samples);
  if (axes.empty()) return "";
  const AxisOfWords& y = axes[0];  // more values, downwards
  const AxisOfWords x = axes.size() > 1 ? axes[1] : AxisOfWords{.place = y.place, .values = {""}, .title = ""};

  std::map<std::pair<size_t, size_t>, double> cells;  // column, row: the fastest
  for (const Sample& sample : samples) {
    const auto row = std::ranges::find(y.values, sample.words[y.place]);
    const auto column = axes.size() > 1 ? std::ranges::find(x.values, sample.words[x.place]) : x.values.begin();
    if (row == y.values.end() || column == x.values.end()) continue;
    const std::pair place(static_cast<size_t>(column - x.values.begin()), static_cast<size_t>(row - y.values.begin()));
    const auto cell = cells.try_emplace(place, sample.us).first;
    cell->second = std::min(cell->second, sample.us);
  }
  const double left = std::max(width_for(y.values, kRowLetters), width_for({y.title}, kRowLetters));
  const double cell_width = std::max(kLeastCellWidth, width_for(x.values, kColumnLetters));
  const double width = left + cell_width * static_cast<double>(x.values.size()) + 16;
  const double height = kHead + kCellHeight * static_cast<double>(y.values.size()) + 4;
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\" aria-label=\"times of "
      "{2} "
      "relative to the best\">\n<text class=\"axis\" x=\"{3:.1f}\" y=\"14\">{4}</text>"
      "<text class=\"axis\" text-anchor=\"end\" x=\"{5:.1f}\" y=\"34\">{6}</text>\n",
      std::max(width, 260.0), height, escaped(family), left, escaped(x.title), left - 6, escaped(y.title));
  for (size_t i = 0; i < x.values.size(); ++i) {
    svg += fmt::format("<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"34\">{}</text>\n",
                       left + cell_width * (static_cast<double>(i) + 0.5), label_text(x.values[i], kColumnLetters));
  }
  for (size_t i = 0; i < y.values.size(); ++i) {
    svg += fmt::format("<text class=\"tick\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", left - 6,
                       kHead + kCellHeight * static_cast<double>(i) + 14, label_text(y.values[i], kRowLetters));
  }
  for (const auto& [place, us] : cells) {
    svg += cell_text(left + cell_width * static_cast<double>(place.first),
                     kHead + kCellHeight * static_cast<double>(place.second), cell_width, us / problem.best_us());
  }
  return fmt::format("<figure class=\"wide\"><figcaption>{}</figcaption>\n{}</svg></figure>\n", escaped(family), svg);
}

}  // namespace qgen::report
