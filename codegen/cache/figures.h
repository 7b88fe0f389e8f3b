// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The figures of a run: its summary, and --stats-json.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qgen {

struct Figures {
  uint64_t specs = 0;
  uint64_t variants = 0;
  uint64_t modules = 0;  // different ones
  uint64_t compiled = 0;
  uint64_t from_cache = 0;
  uint64_t from_remote = 0;  // the part of them that the remote cache had
  uint64_t raw_bytes = 0;    // of the modules of all variants
  uint64_t blob_bytes = 0;
  uint64_t cpp_bytes = 0;
  uint64_t tuning_bytes = 0;  // of times in the program's tables
};

}  // namespace qgen
