// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen/tuning.h: keeps a measured time in a store, and chooses by it.
//
//   tuning STORE FILE
#include "qgen/tuning.h"

#include <cstdio>

#include "common.h"
#include "operators.h"
#include "qgen/device_file.h"
#include "qgen/select.h"
#include "registry.h"

using namespace qgen;

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const DeviceProfile profile = or_exit(profiles::load_device(arguments[2]));
  const KernelLibrary library = or_exit(KernelLibrary::open(generated::library()));
  const TensorDesc x{.dtype = DType::f32, .shape = {64, 1000}};
  const Call call = or_exit(generated::operators::softmax_call({.input = x}));
  const Choice last = select(call.problem, profile, library).ranked.back();  // as if a measurement had found it fast
  tuning::Store store = or_exit(tuning::Store::open(arguments[1]));
  const tuning::TunedRow measured{.problem = key_of(call.problem),
                                  .kernel = last.id,
                                  .digest = *digest_of(*call.problem.op, last.id, library),
                                  .us = 2.5,
                                  .low_us = 2.4,
                                  .high_us = 2.7,
                                  .date = "2026-11-27",
                                  .samples = 9};
  or_exit(store.add(tuning::device_key(profile), profiles::to_yaml(profile), std::span(&measured, 1)));

  TimeBook book(library);
  for (const tuning::TunedRow& row : or_exit(store.rows(tuning::device_key(profile)))) {
    const TimedKernel known{
        .problem = row.problem, .kernel = row.kernel, .digest = row.digest, .us = row.us, .date = row.date};
    book.add(profile, std::span(&known, 1));
  }
  const auto times = book.of(call.problem, profile);
  const Selection tuned = select(call.problem, profile, library, {.times = times.get()});
  std::printf("%s, %s\n", tuned.ranked.front().id.c_str(), tuned.ranked.front().source_text.c_str());
  return tuned.ranked.front().id == last.id ? 0 : 1;
}
