// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The constants of costs (`fit:` of specs and fragments) from measured times of one or several devices.
//
//   const auto fitted = fit_costs(tuning_files, library, {});
//   std::fputs(to_text(*fitted).c_str(), stdout);
//   for (const FittedConstant& constant : fitted->constants) ...      // written into the specs by write_constants()
//
// A row is the measured time of a choice. Its cost is the sum over its launches, each a function of the constants of
// its family. A family's constants are found from the rows of all operators whose recipes run it; a fragment's
// constants from the rows of all families that use it. The fit minimises the squares of log(cost / time) over all rows,
// in the logarithms of the constants. So constants stay positive, and twice too long counts as much as twice too short.
// Costs have to find the best choice. So errors of slow choices count less. The fit also minimises the slowdown of the
// choice that these errors are expected to cause. Large errors count linearly (Huber's loss), so that a few wrong times
// decide nothing. A weak prior keeps a constant that no row determines at its value before.
//
// Cross-validation shows whether the constants hold for other problems. The problems are divided into groups, and each
// group is judged by constants that were fitted to the other groups.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/library/kernel_library.h"
#include "runtime/engine/tuning/tuning_file.h"

namespace qgen::fitting {

struct FitOptions {
  std::vector<std::string> operators;  // rows of these alone; empty: all
  std::vector<std::string> only;       // the specs and fragments whose constants are found; empty: all
  size_t groups = 5;                   // of problems, for the judgement on problems that were not fitted to
};

struct FittedConstant {
  std::string spec;  // or the fragment, which says its number for all specs that use it
  std::string name;
  double before = 0;
  double after = 0;  // of three significant digits
  size_t rows = 0;   // that launch a kernel whose cost reads it
};

// How far costs are from times, as factors of at least 1: max(cost / time, time / cost).
struct CostErrors {
  double geometric_mean = 1;
  double worst = 1;
};

// How good the choice is that the costs rank first, among those that were measured: best time / its time.
struct ChoiceQuality {
  double geometric_mean = 1;
  double worst = 1;
  double in_first_five = 1;  // share of the problems with a best choice among the five that the costs rank first
};

struct Judgement {
  CostErrors errors;
  ChoiceQuality choices;
};

struct OperatorFit {
  std::string name;
  size_t rows = 0;
  size_t problems = 0;  // of a device each
  Judgement before = {}, after = {};
  Judgement unseen = {};  // each problem by constants that were fitted without it; as `before`, where there are too few
};

struct CostFit {
  std::vector<FittedConstant> constants;  // by family, in the order of its spec
  std::vector<OperatorFit> operators;     // by name
  std::vector<std::string> passed_over;   // rows that could not be used, a sentence a reason
};

// Errors: no row can be used; an operator that the library does not have; a spec without a constant that a row reads.
Expected<CostFit> fit_costs(std::span<const tuning::TuningFile> files, const KernelLibrary& library,
                            const FitOptions& options);

// Two tables, and the skipped rows.
std::string to_text(const CostFit& fit);

}  // namespace qgen::fitting
