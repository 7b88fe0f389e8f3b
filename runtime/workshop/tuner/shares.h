// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The share of a run's budget that each problem gets. Pure: it knows the sizes of the problems, and the times that the
// problems so far took.
//
//   Shares shares(600, {1 << 10, 1 << 16, 1 << 26});   // seconds; elements of the problems, in their order
//   const Share share = shares.next();
//   shares.spent({.seconds = 7.5, .opening_s = 0.4, .pace = {.each_s = 0.2}});
//
// For each later problem, the expected time of its first candidate, its inputs and its references is reserved. So no
// problem goes without a time because of the others. The rest is shared equally. Expected times are straight lines over
// sizes, through the times of this run's problems so far.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/engine/library/error.h"

namespace qgen::tuner {

// The time to measure candidates. Compiling uses all cores, and takes as long for several as for one.
struct Pace {
  double compiling_s = 0;
  double each_s = 0;  // verified and timed

  double of(size_t count) const { return compiling_s + each_s * static_cast<double>(count); }
};

// Of one problem, in seconds.
struct Share {
  double budget_s = 60;  // in all
  double most_s = 0;     // the end of a first candidate, even if it is later than budget_s
  Pace pace;             // expected, until something was measured
};

// y = fixed + slope * x, by least squares, through the added points and two that stand for expectations.
class Line {
 public:
  Line(double fixed, double slope);
  void add(double x, double y);
  double at(double x) const;

 private:
  double count_ = 0, x_ = 0, y_ = 0, xx_ = 0, xy_ = 0;  // sums
};

class Shares {
 public:
  Shares(double budget_s, std::vector<double> elements);

  Share next() const;
  // Error: the next problem's first candidate is not expected to end in time. The first problem of a run may always
  // begin, since its expected times come from another host.
  Done may_begin() const;

  // The time that a problem took.
  struct Spent {
    double seconds = 0;        // in all
    double opening_s = 0;      // 0: unknown
    Pace pace;                 // of its first candidates; 0: unknown
    bool is_left_out = false;  // no kernel of the problem has a time, for lack of time
  };
  void spent(const Spent& spent);  // by the next problem, which is over
  // The number of problems that were left out, and their expected time. Empty: none was.
  std::string of_left_out() const;

 private:
  Pace expected_pace(size_t problem) const;
  double expected_s(size_t problem) const;

  double left_s_, over_s_;
  std::vector<double> elements_;
  size_t at_ = 0;
  std::vector<size_t> left_out_;
  bool has_learned_ = false;
  Line opening_, compiling_, each_;
};

}  // namespace qgen::tuner
