// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The rows that operators_main.cpp times: each shipped operator at the sizes of networks, and the plain kernel for
// comparison, as qgen-run requests. A family of operators is a file in families/.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/workshop/runner/command.h"

namespace qgen::bench {

struct TimedRequest {
  runner::RequestText request;
  std::string kernel = {};  // a part of its id, or of a recipe's; empty: whatever is chosen
};

struct Row {
  std::string op;
  std::string size;
  TimedRequest chosen;
  std::optional<TimedRequest>
      plain;              // an output or a tile at a time, in plain buffers; nullopt: its kernel is the plain one
  double operations = 0;  // multiplications and additions; 0: it only moves bytes
  double bytes = 0;       // that must be moved; 0: all of all operands
};

std::vector<Row> operator_rows();
// The rows of `operators_bench --short`: every operator at sizes that fill a large GPU, and once each granularity,
// layout or number of rows that has its own kernel.
std::vector<Row> short_rows();
// A file of problems for qgen-tune: tuning/problems.yaml comes from short_rows().
std::string problems_text(const std::vector<Row>& rows);
std::vector<std::string> names_without_rows();  // that a family lists as short, and no row of it bears

}  // namespace qgen::bench
