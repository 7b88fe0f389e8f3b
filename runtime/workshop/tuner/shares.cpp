// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/tuner/shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace qgen::tuner {
namespace {

constexpr double kLarge = 1 << 26;  // elements
constexpr double kOver = 0.02;      // of the budget, by which a first candidate may end later

// Before anything was measured. On llvmpipe with two cores, element-wise problems of 2^25 elements took 0.7 to 1.6 s to
// open and 0.5 to 1.6 s for a candidate.
constexpr double kFixedS = 0.2;                           // to open, and as much for a candidate
constexpr double kOpeningS = 30e-9, kCandidateS = 20e-9;  // for each element

}  // namespace

Line::Line(double fixed, double slope) {
  add(0, fixed);
  add(kLarge, fixed + slope * kLarge);
}

void Line::add(double x, double y) {
  count_ += 1;
  x_ += x;
  y_ += y;
  xx_ += x * x;
  xy_ += x * y;
}

// Neither part is negative: a larger problem is expected to take no less.
double Line::at(double x) const {
  const double slope = std::max((count_ * xy_ - x_ * y_) / (count_ * xx_ - x_ * x_), 0.0);
  return std::max((y_ - slope * x_) / count_, 0.0) + slope * x;
}

Shares::Shares(double budget_s, std::vector<double> elements)
    : left_s_(budget_s),
      over_s_(kOver * budget_s),
      elements_(std::move(elements)),
      opening_(kFixedS, kOpeningS),
      compiling_(kFixedS / 2, 0),
      each_(kFixedS / 2, kCandidateS) {}

Pace Shares::expected_pace(size_t problem) const {
  return {compiling_.at(elements_[problem]), each_.at(elements_[problem])};
}

double Shares::expected_s(size_t problem) const {
  return opening_.at(elements_[problem]) + expected_pace(problem).of(1);
}

Share Shares::next() const {
  double held_s = 0;
  for (size_t i = at_; i < elements_.size(); ++i) held_s += expected_s(i);
  const double spare_s = std::max(left_s_ - held_s, 0.0) / static_cast<double>(elements_.size() - at_);
  return {std::min(expected_s(at_) + spare_s, left_s_), left_s_ + over_s_, expected_pace(at_)};
}

Done Shares::may_begin() const {
  if (left_s_ <= 0) return refused("nothing was measured: the earlier problems took the whole budget");
  if (!has_learned_ || expected_s(at_) <= left_s_ + over_s_) return std::monostate{};
  return refused(fmt::format("nothing was measured: the first kernel is expected to take {:.1f} s, and {:.1f} are left",
                             expected_s(at_), left_s_));
}

void Shares::spent(const Spent& spent) {
  left_s_ -= spent.seconds;
  has_learned_ |= spent.opening_s > 0;
  if (spent.opening_s > 0) opening_.add(elements_[at_], spent.opening_s);
  if (spent.pace.each_s > 0) {
    compiling_.add(elements_[at_], spent.pace.compiling_s);
    each_.add(elements_[at_], spent.pace.each_s);
  }
  if (spent.is_left_out) left_out_.push_back(at_);
  ++at_;
}

std::string Shares::of_left_out() const {
  if (left_out_.empty()) return "";
  double seconds = 0;
  for (const size_t problem : left_out_) seconds += expected_s(problem);
  return fmt::format(
      "{} of {} problems have no time, because the budget was too short: they would take about {:.1f} "
      "s",
      left_out_.size(), elements_.size(), seconds);
}

}  // namespace qgen::tuner
