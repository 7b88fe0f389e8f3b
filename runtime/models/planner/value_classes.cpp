// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/planner/value_classes.h"

#include <algorithm>

namespace qgen::planner {
namespace {

Classes with_equal(const std::vector<uint32_t>& masks) {
  std::vector<uint32_t> distinct = masks;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  auto classes = std::make_shared<ValueClasses>();
  classes->count = static_cast<uint32_t>(distinct.size());
  for (const uint32_t mask : masks)
    classes->of.push_back(
        static_cast<uint16_t>(std::lower_bound(distinct.begin(), distinct.end(), mask) - distinct.begin()));
  return classes;
}

}  // namespace

std::vector<FitClasses> classes_of(const ChoiceModel& model) {
  std::vector<FitClasses> all;
  all.reserve(model.fits.size());
  for (const auto& fit : model.fits) all.push_back({with_equal(fit.a_masks), with_equal(fit.b_masks)});
  return all;
}

Classes refined(const Classes& a, const Classes& b) {
  if (a == b || a->count == a->of.size() || b->count == 1) return a;
  if (b->count == b->of.size() || a->count == 1) return b;
  // Classes of both are numbered as values come to them.
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> number_of(size_t{a->count} * b->count, kNone);
  auto both = std::make_shared<ValueClasses>();
  both->of.reserve(a->of.size());
  for (size_t value = 0; value < a->of.size(); ++value) {
    uint32_t& number = number_of[size_t{a->of[value]} * b->count + b->of[value]];
    if (number == kNone) number = both->count++;
    both->of.push_back(static_cast<uint16_t>(number));
  }
  if (both->count == a->count) return a;
  return both->count == b->count ? b : both;
}

}  // namespace qgen::planner
