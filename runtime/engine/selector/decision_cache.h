// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A cache of the best choice for each problem. A program that runs the same layers again and again uses it instead of
// select(). In a Context it also keeps what the typed functions inferred from their arguments.
//
//   DecisionCache decisions(profile, library, &times);
//   if (const auto choice = decisions.best(problem)) ...     // select() the first time, then a look
//
// A lookup that finds a choice allocates nothing. It is safe to use from many threads. If two look up a new problem at
// the same time, both may choose; they get the same.
#pragma once

#include <cstddef>
#include <memory>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/engine/selector/select.h"
#include "runtime/engine/selector/time_book.h"

namespace qgen {

// One choice for each problem. A problem is recognised by everything on which its choice depends: its fields, including
// scales, and its operands with their shapes. Safe from many threads.
class KeptChoices {
 public:
  // Past `most` problems all are forgotten.
  explicit KeptChoices(size_t most = 4096) : most_(most) {}

  std::shared_ptr<const Choice> find(const Problem& problem) const;  // null: not there
  // It replaces the problem's earlier choice.
  std::shared_ptr<const Choice> keep(Choice choice);

 private:
  using ByHash = std::unordered_multimap<uint64_t, std::shared_ptr<const Choice>>;
  ByHash::const_iterator find(uint64_t hash, const Problem& problem) const;

  size_t most_;
  mutable std::shared_mutex mutex_;
  ByHash choices_;  // by hash_of() their problems
};

struct Call;  // calls/call.h. This room keeps calls, and does not read them

// A call that was inferred before, and the choice for its problem.
struct KeptCall {
  std::shared_ptr<const Call> call;      // null: not there
  std::shared_ptr<const Choice> choice;  // null: none is kept, so each run chooses
};

class DecisionCache {
 public:
  // Its arguments must outlive it. Past `most` problems all are forgotten, and chosen again.
  DecisionCache(const DeviceProfile& device, const KernelLibrary& library, const TimeBook* times = nullptr,
                size_t most = 4096)
      : device_(device), library_(library), times_(times), most_(most), kept_(most) {}

  // Null: no kernel fits; select() says why.
  std::shared_ptr<const Choice> best(const Problem& problem);

  // Calls by the bytes of their arguments (calls/typed_call.h). Past `most` calls all are forgotten.
  KeptCall find(std::span<const std::byte> arguments) const;
  void keep(std::span<const std::byte> arguments, KeptCall call);

 private:
  const DeviceProfile& device_;
  const KernelLibrary& library_;
  const TimeBook* times_;
  size_t most_;
  KeptChoices kept_;

  struct CallRow {
    std::vector<std::byte> arguments;
    KeptCall kept;
  };
  mutable std::shared_mutex calls_mutex_;
  std::unordered_multimap<uint64_t, CallRow> calls_;  // by the checksum of their arguments
};

}  // namespace qgen
