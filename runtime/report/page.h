// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One HTML file about a tuned device, which needs no network: its problems against what the device can do, the tile
// space of an operator's best family, estimates against measurements, and a table of what tuning gained.
//
//   write_file("report.html", page_of(facts_of(file, library)));
//
// It stays below two megabytes for ten thousand rows: of what is too much to draw or list, the page says how much it
// left out. Whatever came from files is escaped.
#pragma once

#include <string>

#include "runtime/report/facts.h"

namespace qgen::report {

std::string page_of(const Facts& facts);

}  // namespace qgen::report
