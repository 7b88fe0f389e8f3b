// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What each problem of a run may take of its budget. Pure: of problems it knows their sizes, and what they took.
//
//   Shares shares(600, {1 << 10, 1 << 16, 1 << 26});   // seconds; elements of the problems, in their order
//   const Share share = shares.next();
//   shares.took({.seconds = 7.5, .opening_s = 0.4, .candidate_s = 0.2});
//
// What the first candidate of each problem to come is expected to take, its inputs and references with it, is held
// back: no problem is without a time because others came before. What is left beyond that is for all alike. It is
// expected by straight lines over sizes, through what the problems of this run took so far.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/library/error.h"

namespace qgen::tuner {

// What measuring candidates takes: compiling goes on on all cores, as long for several as for one.
struct Pace {
  double compiling_s = 0;
  double each_s = 0;  // verified and timed

  double of(size_t count) const { return compiling_s + each_s * static_cast<double>(count); }
};

// Of one problem, in seconds.
struct Share {
  double budget_s = 60;  // in all
  double most_s = 0;     // where that is spent before anything is measured, one candidate that ends by then still is
  Pace pace;             // what is expected, until something was measured
};

// y = fixed + slope * x, by least squares, through what was added and two points that stand for it before.
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
  // Error: the next problem's first candidate is not expected to end in time. While no problem was opened it may begin
  // at any rate, since all that is known is what another host took.
  Done may_begin() const;

  struct Took {
    double seconds = 0;        // in all
    double opening_s = 0;      // 0: unknown
    Pace pace;                 // of its first candidates; 0: unknown
    bool is_left_out = false;  // no kernel of it has a time, for lack of time
  };
  void took(const Took& took);  // the next problem, which is over
  // How many problems were left out, and how much more time would do. Empty: none was.
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
