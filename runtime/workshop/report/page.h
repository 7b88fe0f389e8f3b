// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One HTML file about a tuned device, which needs no network. It has rooflines of the problems, a map of the kernels of
// one problem, estimates over measurements, and a table of the gains of tuning.
//
//   write_file("report.html", page_of(facts_of(file, library)));
//
// It stays below two megabytes for ten thousand rows, and says how much it left out. Texts from files are escaped.
#pragma once

#include <string>

#include "runtime/workshop/report/facts.h"

namespace qgen::report {

std::string page_of(const Facts& facts);

}  // namespace qgen::report
