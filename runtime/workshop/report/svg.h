// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Charts as SVG text, for an HTML page.
//
//   LogChart chart("time against bytes", "bytes moved", "time, us");
//   chart.add_point(1e6, 12.5, "best", "q8ta_linear m=512");
//   chart.add_rate(4.8e6, "memory 4.8 TB/s");          // the line y = x / rate
//   chart.add_level(2e9, "f32");                       // the line y = 2e9
//   page += chart.text();
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace qgen::report {

// Foreign text for HTML and SVG, and for attributes: bytes that are no printable UTF-8 are shown as numbers.
std::string escaped(std::string_view text);

// "4092.0", and of less than one three digits: "0.032".
std::string rate_text(double rate);

constexpr double kLetter = 7;  // how wide one is at most, of the pictures' small text

// Both axes logarithmic, from one power of ten to another.
class LogChart {
 public:
  LogChart(std::string title, std::string x_title, std::string y_title);
  // `kind`: a class of the page's style, and the word in the legend. Points at 0 or less are left out: a logarithmic
  // axis has no place for them.
  // `mark` is written beside the point.
  void add_point(double x, double y, std::string_view kind, std::string_view told, std::string_view mark = "");
  void add_rate(double rate, std::string_view name);
  void add_level(double y, std::string_view name);
  bool is_empty() const { return points_.empty(); }
  std::string text() const;

 private:
  struct Point {
    double x, y;  // logarithms
    std::string kind, told, mark;
  };
  struct Line {
    bool is_level;
    double log;  // of the rate, or of the level
    std::string name;
  };
  std::string title_, x_title_, y_title_;
  std::vector<Point> points_;
  std::vector<Line> lines_;
};

}  // namespace qgen::report
