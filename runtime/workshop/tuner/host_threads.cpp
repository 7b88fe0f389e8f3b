// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/tuner/host_threads.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace qgen::tuner {
namespace {

std::vector<size_t> allowed_processors() {
  cpu_set_t allowed;
  std::vector<size_t> processors;
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return processors;
  for (size_t processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &allowed)) processors.push_back(processor);
  }
  return processors;
}

void allow(pid_t thread, std::span<const size_t> processors) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  for (const size_t processor : processors) CPU_SET(processor, &allowed);
  ::sched_setaffinity(thread, sizeof(allowed), &allowed);
}

}  // namespace

std::set<pid_t> threads_of_process() {
  std::set<pid_t> threads;
  std::error_code failed;
  for (std::filesystem::directory_iterator entry("/proc/self/task", failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename();
    pid_t thread = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), thread).ec == std::errc()) threads.insert(thread);
  }
  return threads;
}

std::set<pid_t> threads_since(const std::set<pid_t>& before) {
  const std::set<pid_t> now = threads_of_process();
  std::set<pid_t> since;
  std::ranges::set_difference(now, before, std::inserter(since, since.end()));
  return since;
}

PinnedApart::PinnedApart(const std::set<pid_t>& threads) : threads_(threads) {
  const std::vector<size_t> processors = allowed_processors();
  if (processors.empty()) return;
  size_t place = 0;
  for (const pid_t thread : threads) allow(thread, std::span(&processors[place++ % processors.size()], 1));
}

PinnedApart::~PinnedApart() {
  const std::vector<size_t> processors = allowed_processors();
  if (processors.empty()) return;
  for (const pid_t thread : threads_) allow(thread, processors);
}

}  // namespace qgen::tuner
