// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/report/html.h"

#include <fmt/format.h>

#include "runtime/workshop/report/svg.h"

namespace qgen::report {
namespace {

constexpr std::string_view kStyle = R"(
  :root { color-scheme: light dark; --text: #222; --back: #fff; --line: #ddd; --faint: #eee; --grid: #e4e4e4;
          --note: #555; --tick: #444; --first: #1f6f8b; --second: #c4431a; --others: #9aa7ad; --area: #cfe3ea;
          --r0: #333; --r1: #777; --r2: #8a5a00; --r3: #7a3b8f; --r4: #2e6b34; --r5: #a03060; }
  @media (prefers-color-scheme: dark) {
    :root { --text: #e4e6e8; --back: #16191c; --line: #3c4247; --faint: #2a2f33; --grid: #30363b;
            --note: #a8b0b6; --tick: #b8c0c6; --first: #5fb3d1; --second: #ff8a5c; --others: #7d8a91; --area: #234350;
            --r0: #ddd; --r1: #999; --r2: #d9a441; --r3: #c58ad9; --r4: #7fc487; --r5: #e57fa8; } }
  body { font: 15px/1.45 system-ui, sans-serif; color: var(--text); background: var(--back); max-width: 1100px;
         margin: 2em auto; padding: 0 1em; }
  h1 { font-size: 1.6em; overflow-wrap: anywhere; }
  h2 { margin: 2.2em 0 .4em; border-top: 1px solid var(--line); padding-top: .8em; font-size: 1.2em; }
  h3 { font-size: 1em; margin: 1em 0 .2em; }
  table { border-collapse: collapse; font-size: 13px; margin: .8em 0; }
  th, td { text-align: left; vertical-align: top; padding: .25em .8em .25em 0; border-bottom: 1px solid var(--faint); }
  td > div > span { white-space: nowrap; } td div + div { margin-top: .4em; }
  td.number, th.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
  code { font: 12px/1.35 ui-monospace, monospace; } code.key { overflow-wrap: anywhere; }
  .wide { overflow-x: auto; } .wide svg { max-width: none; }
  nav a { margin-right: .9em; white-space: nowrap; }
  .row { display: flex; flex-wrap: wrap; gap: 1em; align-items: flex-start; }
  .note { color: var(--note); font-size: 13px; }
  figure { margin: 1em 0; } figcaption { font-size: 13px; color: var(--note); }
  svg { max-width: 100%; height: auto; font: 11px system-ui, sans-serif; }
  svg .title { font-size: 13px; font-weight: 600; fill: var(--text); } svg .cell { font-size: 11px; }
  svg .grid { stroke: var(--grid); fill: none; } svg .tick, svg .key { fill: var(--tick); }
  svg .axis, svg .mark { fill: var(--text); }
  svg .rate { fill: none; stroke-width: 1.5; } svg .r0 { stroke: var(--r0); }
  svg .r1 { stroke: var(--r1); stroke-dasharray: 6 3; } svg .r2 { stroke: var(--r2); stroke-dasharray: 2 3; }
  svg .r3 { stroke: var(--r3); stroke-dasharray: 8 3 2 3; } svg .r4 { stroke: var(--r4); stroke-dasharray: 10 4; }
  svg .r5 { stroke: var(--r5); stroke-dasharray: 4 2; }
  svg .best, svg .layer, svg .bar { fill: var(--first); } svg .others { fill: none; stroke: var(--others); }
  svg .untuned { fill: none; stroke: var(--second); stroke-width: 1.6; r: 5.5px; }
  svg .conversion { fill: var(--second); } svg .least { stroke: var(--text); stroke-width: 2; }
  svg .area { fill: var(--area); stroke: var(--first); }
  svg .t0 { fill: var(--first); } svg .t1 { fill: var(--others); } svg .t2 { fill: var(--area); }
  svg .tensor { stroke: var(--back); stroke-width: .6; }
  @media print { body { margin: 0; max-width: none; } h2, figure, svg, tr { break-inside: avoid; } nav { display: none; }
                 .wide { overflow: visible; } .wide svg { max-width: 100%; } }
)";

std::string speed_row(const DeviceProfile& device, std::string_view field, std::string_view name, double value,
                      std::string_view unit) {
  const auto source = device.sources.find(field);
  return fmt::format("<tr><td>{}</td><td class=\"number\">{} {}</td><td>{}</td></tr>\n", name, rate_text(value), unit,
                     source == device.sources.end() ? "estimated" : escaped(source->second));
}

}  // namespace

std::string html_file(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" "
      "content=\"width=device-width\"/>\n<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n{2}"
      "</body>\n</html>\n",
      escaped(title), kStyle, body);
}

std::string shortened(std::string_view text) {
  if (text.size() <= kMostLetters) return escaped(text);
  return escaped(text.substr(0, kMostLetters)) + " ...";
}

std::string id_html(std::string_view id) {
  std::string text = "<code>";
  for (const char c : shortened(id)) {
    text += c;
    if (c == '.' || c == '/' || c == '(') text += "<wbr/>";
  }
  return text + "</code>";
}

std::string speeds_table(const DeviceProfile& device) {
  const DeviceNumbers& numbers = device.numbers;
  const auto row = [&](std::string_view field, std::string_view name, double value, std::string_view unit) {
    return speed_row(device, field, name, value, unit);
  };
  return "<table>\n<tr><th>the lines of the charts</th><th class=\"number\"></th><th>source</th></tr>\n" +
         row("bytes_per_us", "memory", numbers.bytes_per_us / 1e3, "GB/s") +
         row("cache_bytes_per_us", "last cache", numbers.cache_bytes_per_us / 1e3, "GB/s") +
         row("int8_matrix_ops_per_us", "int8 matrices", numbers.int8_matrix_ops_per_us / 1e6, "TOP/s") +
         row("f16_matrix_ops_per_us", "f16 matrices", numbers.f16_matrix_ops_per_us / 1e6, "TOP/s") +
         row("int8_ops_per_us", "int8 dot products", numbers.int8_ops_per_us / 1e6, "TOP/s") +
         row("f32_ops_per_us", "f32", numbers.f32_ops_per_us / 1e6, "TOP/s") + "</table>\n";
}

}  // namespace qgen::report
