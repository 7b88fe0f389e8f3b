// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/text.h"

namespace qgen::report {
namespace {

constexpr double kLeft = 64, kTop = 28, kWidth = 340, kHeight = 230, kBelow = 44, kLegendRow = 16, kRight = 16;

constexpr size_t kMaxReported = 160;  // digits after a point
constexpr int kMostEmpty = 4;         // decades that are drawn for a line's sake
constexpr size_t kLineStyles = 6;     // r0 to r5 of the page's style

// The powers of ten around the drawn values, and their positions.
struct Decades {
  int low = 0, high = 1;
  double from = 0, length = 0;  // in the picture

  void include(double log) {
    low = std::min(low, static_cast<int>(std::floor(log)));
    high = std::max(high, static_cast<int>(std::ceil(log)));
  }
  double at(double log) const { return from + length * (log - low) / (high - low); }
  int step() const { return (high - low + 7) / 8; }
};

std::string power_of_ten(int exponent) {
  constexpr std::string_view kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  if (exponent < -3 || exponent > 20) return fmt::format("1e{}", exponent);
  if (exponent < 0) return fmt::format("0.{:0>{}}", 1, -exponent);
  constexpr std::string_view kRests[] = {"1", "10", "100"};
  return fmt::format("{}{}", kRests[exponent % 3], kPrefixes[exponent / 3]);
}

// A circle, or a ring: readers who tell no colours apart see the difference, and so does a printer.
std::string point_text(double x, double y, std::string_view kind, std::string_view told) {
  return fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"><title>{}</title></circle>\n", kind, x,
                     y, escaped(told.substr(0, kMaxReported)));
}

// Texts beside points. A text moves to another corner of its point, if it would cover an earlier one.
class Marks {
 public:
  std::string text(double x, double y, const std::string& mark) {
    const double width = kLetter * static_cast<double>(mark.size());
    const Box corners[] = {
        {x + 5, y - 5, width}, {x + 5, y + 13, width}, {x - 5 - width, y - 5, width}, {x - 5 - width, y + 13, width}};
    const Box* box = std::ranges::find_if(corners, [&](const Box& corner) { return is_free(corner); });
    if (box == std::end(corners)) box = corners;
    placed_.push_back(*box);
    return fmt::format("<text class=\"mark\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", box->x, box->y, escaped(mark));
  }

 private:
  struct Box {
    double x, y, width;
  };
  static constexpr double kLine = 11;  // the height of a text

  bool is_free(const Box& box) const {
    return std::ranges::none_of(placed_, [&](const Box& other) {
      return box.x < other.x + other.width && other.x < box.x + box.width && std::abs(box.y - other.y) < kLine;
    });
  }

  std::vector<Box> placed_;
};

// The grid of both axes, with the powers of ten at its lines.
std::string grid_text(const Decades& x, const Decades& y) {
  std::string svg;
  for (int power = x.low; power <= x.high; power += x.step()) {
    const double at = x.at(power);
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{0:.1f} {1}V{2}\"/><text class=\"tick\" text-anchor=\"middle\" x=\"{0:.1f}\" "
        "y=\"{3}\">{4}</text>\n",
        at, kTop, kTop + kHeight, kTop + kHeight + 17, power_of_ten(power));
  }
  for (int power = y.low; power <= y.high; power += y.step()) {
    const double at = y.at(power);
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{1} {0:.1f}H{2}\"/><text class=\"tick\" text-anchor=\"end\" x=\"{3}\" "
        "y=\"{4:.1f}\">{5}</text>\n",
        at, kLeft, kLeft + kWidth, kLeft - 6, at + 4, power_of_ten(power));
  }
  return svg;
}

std::string axis_titles(const std::string& of_x, const std::string& of_y) {
  std::string svg = fmt::format("<text class=\"axis\" text-anchor=\"middle\" x=\"{}\" y=\"{}\">{}</text>\n",
                                kLeft + kWidth / 2, kTop + kHeight + 32, escaped(of_x));
  svg +=
      fmt::format("<text class=\"axis\" text-anchor=\"middle\" transform=\"translate(14 {}) rotate(-90)\">{}</text>\n",
                  kTop + kHeight / 2, escaped(of_y));
  return svg;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : printable(text)) {
    if (c == '&') safe += "&amp;";
    else if (c == '<') safe += "&lt;";
    else if (c == '>') safe += "&gt;";
    else if (c == '"') safe += "&quot;";
    else if (c == '\'') safe += "&#39;";
    else safe += c;
  }
  return safe;
}

std::string rate_text(double rate) { return rate < 1 ? fmt::format("{:.3g}", rate) : fmt::format("{:.1f}", rate); }

LogChart::LogChart(std::string title, std::string x_title, std::string y_title)
    : title_(std::move(title)), x_title_(std::move(x_title)), y_title_(std::move(y_title)) {}

void LogChart::add_point(double x, double y, std::string_view kind, std::string_view told, std::string_view mark) {
  if (!(x > 0) || !(y > 0) || !std::isfinite(x) || !std::isfinite(y)) return;
  points_.push_back({std::log10(x), std::log10(y), std::string(kind), std::string(told), std::string(mark)});
}

void LogChart::add_rate(double rate, std::string_view name) {
  if (rate > 0 && std::isfinite(rate)) lines_.push_back({false, std::log10(rate), std::string(name)});
}

void LogChart::add_level(double y, std::string_view name) {
  if (y > 0 && std::isfinite(y)) lines_.push_back({true, std::log10(y), std::string(name)});
}

std::string LogChart::text() const {
  if (points_.empty()) return "";
  const auto around = [](double log) { return static_cast<int>(std::floor(log)); };
  Decades x{around(points_[0].x), around(points_[0].x) + 1, kLeft, kWidth};
  Decades y{around(points_[0].y), around(points_[0].y) + 1, kTop + kHeight, -kHeight};
  std::vector<std::string> kinds;
  for (const Point& point : points_) {
    x.include(point.x);
    y.include(point.y);
    if (std::ranges::find(kinds, point.kind) == kinds.end()) kinds.push_back(point.kind);
  }
  // The roofline at the largest problem is always visible, even if it is far below the points.
  const double largest = std::ranges::max(points_, {}, &Point::x).x;
  for (const Line& line : lines_) {
    const double log_y = line.is_level ? line.log : largest - line.log;
    y.include(std::clamp<double>(log_y, y.low - kMostEmpty, y.high + kMostEmpty));
  }
  const double legend = kTop + kHeight + kBelow;
  const double height = legend + kLegendRow * static_cast<double>(kinds.size() + lines_.size());
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" aria-label=\"{2}\">\n"
      "<text class=\"title\" x=\"{3}\" y=\"16\">{2}</text>\n",
      kLeft + kWidth + kRight, height, escaped(title_), kLeft);
  svg += grid_text(x, y) + axis_titles(x_title_, y_title_);
  double row = legend + 12;
  for (size_t i = 0; i < lines_.size(); ++i, row += kLegendRow) {
    const auto& [is_level, log, name] = lines_[i];
    const double begin = is_level ? x.low : std::max<double>(x.low, y.low + log);
    const double end = is_level ? x.high : std::min<double>(x.high, y.high + log);
    const bool is_inside = is_level ? y.low <= log && log <= y.high : begin < end;
    if (is_inside) {
      svg += fmt::format("<path class=\"rate r{}\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"><title>{}</title></path>\n",
                         i % kLineStyles, x.at(begin), y.at(is_level ? log : begin - log), x.at(end),
                         y.at(is_level ? log : end - log), escaped(name));
    }
    svg += fmt::format("<path class=\"rate r{}\" d=\"M{} {}h24\"/><text class=\"key\" x=\"{}\" y=\"{}\">{}{}</text>\n",
                       i % kLineStyles, kLeft, row - 4, kLeft + 32, row, escaped(name), is_inside ? "" : " (outside)");
  }
  Marks marks;
  for (const Point& point : points_) {
    svg += point_text(x.at(point.x), y.at(point.y), point.kind, point.told);
    if (!point.mark.empty()) svg += marks.text(x.at(point.x), y.at(point.y), point.mark);
  }
  for (const std::string& kind : kinds) {
    svg += point_text(kLeft + 12, row - 4, kind, kind);
    svg += fmt::format("<text class=\"key\" x=\"{}\" y=\"{}\">{}</text>\n", kLeft + 32, row, escaped(kind));
    row += kLegendRow;
  }
  return svg + "</svg>\n";
}

}  // namespace qgen::report
