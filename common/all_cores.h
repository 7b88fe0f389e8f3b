// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The same job for many things, on all cores.
#pragma once

#include <cstddef>
#include <functional>

namespace qgen {

// Calls `job` with each number below `count`, from as many threads as there are cores, and waits for all. If jobs throw,
// one of their exceptions is thrown then.
void on_all_cores(size_t count, const std::function<void(size_t)>& job);

}  // namespace qgen
