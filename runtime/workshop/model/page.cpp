// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/model/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "common/bytes_text.h"
#include "common/time_text.h"
#include "runtime/engine/dispatch/executor.h"
#include "runtime/models/graph/lifetimes.h"
#include "runtime/workshop/report/html.h"
#include "runtime/workshop/report/svg.h"

namespace qgen::model {
namespace {

constexpr size_t kMostShownLayers = 400;
constexpr size_t kMostShownTensors = 2000;
constexpr size_t kMarkedLayers = 5;      // the slowest ones have their numbers in the charts
constexpr size_t kMostNameLetters = 44;  // of a layer beside its bar

using report::LogChart;

bool is_conversion(const ProfilePage& page, size_t layer) {
  return page.schedule.steps[layer].node == graph::Step::kConversion;
}

std::string_view kind_of(const ProfilePage& page, size_t layer) {
  return is_conversion(page, layer) ? "conversion" : "layer";
}

double sum_us(const ProfilePage& page) {
  return std::accumulate(page.layers.begin(), page.layers.end(), 0.0,
                         [](double sum, const Layer& layer) { return sum + layer.us.median; });
}

std::string share_text(const ProfilePage& page, const Layer& layer) {
  const double sum = sum_us(page);
  return fmt::format("{:.1f} %", sum > 0 ? 100 * layer.us.median / sum : 0);
}

// The time that the device's memory needs for the bytes of a layer; 0: its speed is not known.
double least_us(const ProfilePage& page, const Layer& layer) {
  const double rate = page.device.numbers.bytes_per_us;
  return rate > 0 ? layer.bytes / rate : 0;
}

std::string told_of(const ProfilePage& page, size_t i) {
  const Layer& layer = page.layers[i];
  return fmt::format("{}: {}, {} us, {}", i + 1, layer.name, us_text(layer.us.median), layer.kernel);
}

// ---- the roofline ---------------------------------------------------------------------------------------------------

// By layer: its number, or nothing if it is not among the slowest ones.
std::vector<std::string> marks_of(const ProfilePage& page) {
  std::vector<size_t> order(page.layers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](size_t i) { return page.layers[i].us.median; });
  std::vector<std::string> marks(page.layers.size());
  for (size_t i = 0; i < std::min(order.size(), kMarkedLayers); ++i) marks[order[i]] = fmt::format("{}", order[i] + 1);
  return marks;
}

void add_speeds(LogChart& chart, const DeviceNumbers& numbers) {
  const auto level = [&](double ops_per_us, std::string_view name) {
    chart.add_level(ops_per_us / 1e3, fmt::format("{}, {} TOP/s", name, report::rate_text(ops_per_us / 1e6)));
  };
  const auto slope = [&](double bytes_per_us, std::string_view name) {
    if (bytes_per_us <= 0) return;
    chart.add_rate(1e3 / bytes_per_us, fmt::format("{}, {} GB/s", name, report::rate_text(bytes_per_us / 1e3)));
  };
  slope(numbers.bytes_per_us, "memory");
  slope(numbers.cache_bytes_per_us, "last cache");
  level(numbers.int8_matrix_ops_per_us, "int8 matrices");
  level(numbers.f16_matrix_ops_per_us, "f16 matrices");
  level(numbers.int8_ops_per_us, "int8 dot products");
  level(numbers.f32_ops_per_us, "f32");
}

std::string charts_of(const ProfilePage& page) {
  LogChart roofline("roofline", "operations for each byte", "GOP/s");
  LogChart moved("time over bytes moved", "bytes moved", "time, us");
  const std::vector<std::string> marks = marks_of(page);
  for (size_t i = 0; i < page.layers.size(); ++i) {
    const Layer& layer = page.layers[i];
    const double us = layer.us.median;
    moved.add_point(layer.bytes, us, kind_of(page, i), told_of(page, i), marks[i]);
    if (layer.bytes <= 0 || us <= 0) continue;
    roofline.add_point(layer.operations / layer.bytes, layer.operations / us / 1e3, kind_of(page, i), told_of(page, i),
                       marks[i]);
  }
  add_speeds(roofline, page.device.numbers);
  const DeviceNumbers& numbers = page.device.numbers;
  moved.add_rate(numbers.bytes_per_us, fmt::format("memory, {} GB/s", report::rate_text(numbers.bytes_per_us / 1e3)));
  moved.add_rate(numbers.cache_bytes_per_us,
                 fmt::format("last cache, {} GB/s", report::rate_text(numbers.cache_bytes_per_us / 1e3)));
  return fmt::format("<h2>Roofline</h2>\n<div class=\"row\">\n{}{}</div>\n", roofline.text(), moved.text()) +
         "<p class=\"note\">Each point is a layer. The slowest ones have their numbers. The roofline has the layers "
         "with a weight, and matmul: two operations for each multiply-add. A layer's bytes are the sizes of its "
         "operands, each "
         "counted once. Point at something to see its name.</p>\n";
}

// ---- bars -----------------------------------------------------------------------------------------------------------

constexpr double kRow = 18, kBars = 640, kTimes = 150;

std::string numbered_name(size_t i, const Layer& layer) { return fmt::format("{}  {}", i + 1, layer.name); }

std::string name_beside_bar(size_t i, const Layer& layer) {
  const std::string name = numbered_name(i, layer);
  if (name.size() <= kMostNameLetters) return report::escaped(name);
  return fmt::format("<title>{}</title>{} ...", report::escaped(name),
                     report::escaped(std::string_view(name).substr(0, kMostNameLetters - 4)));
}

// The width of the column of names.
double width_of_names(const std::vector<Layer>& layers, size_t shown) {
  size_t letters = 0;
  for (size_t i = 0; i < shown; ++i) letters = std::max(letters, numbered_name(i, layers[i]).size());
  return report::kLetter * static_cast<double>(std::min(letters, kMostNameLetters)) + 12;
}

std::string bar_of(const ProfilePage& page, size_t i, double names, double us_per_pixel) {
  const Layer& layer = page.layers[i];
  const double y = 24 + kRow * static_cast<double>(i), width = layer.us.median / us_per_pixel;
  std::string svg = fmt::format(
      "<text class=\"tick\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text><rect class=\"{}\" x=\"{:.1f}\" "
      "y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{}</title></rect>",
      names - 8, y + 11, name_beside_bar(i, layer), kind_of(page, i), names, y, width, kRow - 4,
      report::escaped(told_of(page, i)));
  if (const double least = least_us(page, layer) / us_per_pixel; least > 0 && least <= kBars) {
    svg += fmt::format("<path class=\"least\" d=\"M{:.1f} {:.1f}v{:.1f}\"/>", names + least, y - 1, kRow - 2);
  }
  return svg + fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\">{} us, {}</text>\n", names + width + 7,
                           y + 11, us_text(layer.us.median), share_text(page, layer));
}

std::string bars_of_layers(const ProfilePage& page) {
  const size_t shown = std::min(page.layers.size(), kMostShownLayers);
  double longest = 0;
  for (const Layer& layer : page.layers) longest = std::max(longest, layer.us.median);
  if (longest <= 0) return "";
  const double names = width_of_names(page.layers, shown);
  const double width = names + kBars + kTimes, height = 24 + kRow * static_cast<double>(shown) + 4;
  std::string svg = fmt::format(
      "<svg class=\"bars\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" aria-label=\"time of "
      "each layer\">\n<text class=\"axis\" x=\"{2}\" y=\"14\">time of each layer, in the order of the "
      "recording</text>\n",
      width, height, names);
  for (size_t i = 0; i < shown; ++i) svg += bar_of(page, i, names, longest / kBars);
  const bool has_conversions = !page.schedule.decision.copies.empty();
  std::string note =
      "The black or white line in a row is the time that the device's memory needs for the layer's bytes. Data in a "
      "cache can be faster.";
  if (has_conversions) note += " Conversions between layouts have another colour.";
  if (shown < page.layers.size()) note += fmt::format(" {} of {} layers are drawn.", shown, page.layers.size());
  return fmt::format("<h2>Layers</h2>\n<div class=\"wide\">{}</svg></div>\n<p class=\"note\">{}</p>\n", svg, note);
}

// ---- memory ---------------------------------------------------------------------------------------------------------

constexpr double kMapLeft = 70, kMapWidth = 940, kMapHeight = 220, kMapTop = 28, kMapBelow = 40;

// Positions in a picture whose x axis has the steps, and whose y axis has bytes.
struct MemoryAxes {
  double steps = 1, bytes = 1;
  double x(double step) const { return kMapLeft + kMapWidth * step / steps; }
  double y(double byte) const { return kMapTop + kMapHeight * (1 - byte / bytes); }
};

std::string memory_frame(const MemoryAxes& axes, std::string_view title) {
  std::string svg = fmt::format(
      "<svg class=\"memory\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" aria-label=\"{2}\">\n"
      "<text class=\"title\" x=\"{3}\" y=\"16\">{2}</text>\n",
      kMapLeft + kMapWidth + 20, kMapTop + kMapHeight + kMapBelow, title, kMapLeft);
  const bool is_large = axes.bytes >= 1 << 20;
  const double unit = is_large ? 1 << 20 : 1 << 10;
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const double bytes = axes.bytes * quarter / 4;
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{0} {1:.1f}H{2}\"/><text class=\"tick\" text-anchor=\"end\" x=\"{3}\" "
        "y=\"{4:.1f}\">{5:.1f} {6}</text>\n",
        kMapLeft, axes.y(bytes), kMapLeft + kMapWidth, kMapLeft - 6, axes.y(bytes) + 4, bytes / unit,
        is_large ? "MiB" : "KiB");
  }
  const auto every = static_cast<size_t>(std::max(1.0, std::ceil(axes.steps / 20)));
  for (size_t step = 0; static_cast<double>(step) < axes.steps; step += every) {
    svg += fmt::format("<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{}\">{}</text>",
                       axes.x(static_cast<double>(step) + 0.5), kMapTop + kMapHeight + 15, step + 1);
  }
  return svg + fmt::format("\n<text class=\"axis\" text-anchor=\"middle\" x=\"{}\" y=\"{}\">layer</text>\n",
                           kMapLeft + kMapWidth / 2, kMapTop + kMapHeight + 32);
}

// The bytes that are live during each step.
std::string live_bytes_of(const std::vector<graph::Lifetime>& lifetimes, const MemoryAxes& axes,
                          const graph::MemoryPlan& memory) {
  std::vector<double> change(static_cast<size_t>(axes.steps) + 1);
  for (const graph::Lifetime& one : lifetimes) {
    const auto bytes = static_cast<double>(graph::aligned(one.bytes, kTensorAlignment));
    change[std::min<size_t>(one.first, change.size() - 1)] += bytes;
    if (one.last + 1 < change.size()) change[one.last + 1] -= bytes;
  }
  std::string path = fmt::format("M{:.1f} {:.1f}", axes.x(0), axes.y(0));
  double live = 0;
  for (size_t step = 0; step + 1 < change.size(); ++step) {
    live += change[step];
    path += fmt::format("V{:.1f}H{:.1f}", axes.y(live), axes.x(static_cast<double>(step + 1)));
  }
  const double arena = axes.y(static_cast<double>(memory.bytes));
  return memory_frame(axes, "live tensors at each layer; the dotted line is the arena") +
         fmt::format(
             "<path class=\"area\" d=\"{}V{:.1f}Z\"/>\n<path class=\"rate r2\" d=\"M{} {:.1f}h{}\"><title>the arena, "
             "{}</title></path></svg>\n",
             path, axes.y(0), kMapLeft, arena, kMapWidth, bytes_text(memory.bytes));
}

std::string name_of_place(const ProfilePage& page, size_t place) {
  if (place >= page.schedule.tensors.size()) return "scratch";
  return page.graph.values[page.schedule.tensors[place].value].name;
}

std::string arena_of(const ProfilePage& page, const std::vector<graph::Lifetime>& lifetimes, const MemoryAxes& axes) {
  std::vector<size_t> places;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    if (lifetimes[i].bytes > 0) places.push_back(i);
  }
  std::ranges::stable_sort(places, std::greater<>(), [&](size_t i) { return lifetimes[i].bytes; });
  const size_t shown = std::min(places.size(), kMostShownTensors);
  std::string svg = memory_frame(axes, "the arena: where each tensor is, and how long");
  for (size_t i = 0; i < shown; ++i) {
    const graph::Lifetime& one = lifetimes[places[i]];
    const auto offset = static_cast<double>(page.schedule.memory.offsets[places[i]]);
    const double top = axes.y(offset + static_cast<double>(one.bytes));
    svg += fmt::format(
        "<rect class=\"tensor t{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{}: {}, layers "
        "{} to {}</title></rect>\n",
        places[i] % 3, axes.x(one.first), top, axes.x(std::min<double>(one.last + 1, axes.steps)) - axes.x(one.first),
        axes.y(offset) - top, report::escaped(name_of_place(page, places[i])), bytes_text(one.bytes), one.first + 1,
        std::min<size_t>(one.last + 1, page.layers.size()));
  }
  std::string note = "Colours only separate neighbours. Point at a tensor to see its name.";
  if (shown < places.size()) note += fmt::format(" The largest {} of {} tensors are drawn.", shown, places.size());
  return fmt::format("{}</svg>\n<p class=\"note\">{}</p>\n", svg, note);
}

std::string memory_of(const ProfilePage& page) {
  const graph::MemoryPlan& memory = page.schedule.memory;
  if (memory.bytes == 0 || page.layers.empty()) return "";
  const std::vector<graph::Lifetime> lifetimes = graph::lifetimes_of(page.schedule);
  const MemoryAxes axes{.steps = static_cast<double>(page.layers.size()), .bytes = static_cast<double>(memory.bytes)};
  return fmt::format(
             "<h2>Memory</h2>\n<p>{} for tensors. At least {} are live at once, and without sharing they would need "
             "{}. Weights take {}.</p>\n",
             bytes_text(memory.bytes), bytes_text(memory.lower_bound), bytes_text(memory.naive),
             bytes_text(page.weight_bytes)) +
         "<div class=\"wide\">" + live_bytes_of(lifetimes, axes, memory) + "</div>\n<div class=\"wide\">" +
         arena_of(page, lifetimes, axes) + "</div>\n";
}

// ---- the table ------------------------------------------------------------------------------------------------------

std::string rate_cell(double amount, double us, double unit) {
  return amount > 0 && us > 0 ? report::rate_text(amount / us / unit) : "";
}

std::string table_of_page(const ProfilePage& page) {
  std::string text =
      "<h2>Table</h2>\n<div class=\"wide\"><table>\n<tr><th class=\"number\"></th><th>layer</th>"
      "<th class=\"number\">us</th><th class=\"number\">share</th><th class=\"number\">GB/s</th>"
      "<th class=\"number\">GOP/s</th><th>shapes</th><th>layouts</th><th>kernel</th></tr>\n";
  for (size_t i = 0; i < page.layers.size(); ++i) {
    const Layer& layer = page.layers[i];
    text += fmt::format(
        "<tr><td class=\"number\">{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>"
        "<td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        i + 1, report::escaped(layer.name), us_text(layer.us.median), share_text(page, layer),
        rate_cell(layer.bytes, layer.us.median, 1e3), rate_cell(layer.operations, layer.us.median, 1e3),
        report::escaped(layer.shapes), report::escaped(layer.layouts), report::id_html(layer.kernel));
  }
  return text + "</table></div>\n";
}

}  // namespace

std::string page_of(const ProfilePage& page) {
  const double sum = sum_us(page);
  const std::string head = fmt::format(
      "<p>{} {}. A replay takes <b>{} us</b>. The {} layers, each timed alone, take {} us together: launches do not "
      "overlap then. Times are medians of {} replays.</p>\n",
      report::escaped(page.device.driver_name), report::escaped(page.device.driver_info), us_text(page.headline_us),
      page.layers.size(), us_text(sum), page.replays);
  return report::html_file(fmt::format("{} on {}", page.model, page.device.name),
                           head + bars_of_layers(page) + charts_of(page) + report::speeds_table(page.device) +
                               memory_of(page) + table_of_page(page));
}

}  // namespace qgen::model
