// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/selector/times.h"

#include <algorithm>
#include <iterator>

namespace qgen {

KernelTimes::KernelTimes(std::initializer_list<value_type> times) {
  for (const auto& [id, time] : times) add(id, time);
}

void KernelTimes::add(std::string_view id, KnownTime time) {
  auto kept = std::make_shared<const std::string>(id);
  std::vector<value_type> one;
  one.emplace_back(*kept, std::move(time));
  add(std::move(one), std::move(kept));
}

void KernelTimes::add(std::vector<value_type> times, std::shared_ptr<const void> owner) {
  owners_.push_back(std::move(owner));
  if (times_.empty()) {
    times_ = std::move(times);
    return;
  }
  std::vector<value_type> all;
  std::ranges::set_union(times_, times, std::back_inserter(all), {}, &value_type::first, &value_type::first);
  times_ = std::move(all);
}

const KnownTime* KernelTimes::find(std::string_view id) const {
  const auto time = std::ranges::lower_bound(times_, id, {}, &value_type::first);
  return time == times_.end() || time->first != id ? nullptr : &time->second;
}

std::span<const KernelTimes::value_type> KernelTimes::beginning_with(std::string_view beginning) const {
  const auto first = std::ranges::lower_bound(times_, beginning, {}, &value_type::first);
  const auto last =
      std::find_if(first, times_.end(), [&](const value_type& time) { return !time.first.starts_with(beginning); });
  return {first, last};
}

}  // namespace qgen
