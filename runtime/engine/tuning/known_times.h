// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The times by which programs on this machine choose: those that qgen-tune measured here, and the tables in the
// library (`qgen --tuning`). A program that only has compiled tables does not need this room: TimeBook(library) has
// them.
//
//   const auto book = known_times(library, Store::default_path());
//   Context context{.profile = ..., .library = library, .executor = executor, .times = &*book};
#pragma once

#include <filesystem>

#include "runtime/engine/selector/time_book.h"
#include "runtime/engine/tuning/store.h"

namespace qgen::tuning {

// A store that is not there has no times: the tables stand alone then. Errors: one that cannot be read. `library`
// outlives the book. Of a device whose stored profile is damaged the times are left out; `faults`, if given, gets a
// sentence for each.
Expected<TimeBook> known_times(const KernelLibrary& library, const std::filesystem::path& store,
                               std::vector<std::string>* faults = nullptr);

}  // namespace qgen::tuning
