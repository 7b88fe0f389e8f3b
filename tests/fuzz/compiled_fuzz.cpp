// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Any bytes as a compiled model: as they are, and with a checksum that fits them, since no mutation meets one by
// chance. A model that is read is written back unchanged. Its graph, weights, decision and own kernels are used as a
// program uses them, up to the device.
#include <cstdlib>
#include <cstring>

#include "operators.h"
#include "registry.h"
#include "runtime/engine/library/blob_format.h"
#include "runtime/models/graph/compiled.h"
#include "runtime/models/graph/constants.h"

namespace {

using namespace qgen;
using Bytes = std::span<const std::byte>;

constexpr size_t kMostUnpacked = 4;  // a module may have 64 MiB

void check(bool holds) {
  if (!holds) std::abort();
}

const KernelLibrary& library() {
  static const KernelLibrary kLibrary = *KernelLibrary::open(generated::library());
  return kLibrary;
}

void take(Bytes file) {
  auto compiled = graph::read_compiled(file);
  if (!compiled) return check(!compiled.error().message.empty());
  const auto again = graph::read_compiled(graph::write_compiled(*compiled));
  check(bool(again));
  const OperatorEntries operators = generated::operators::entries();
  const auto inferred = graph::infer(compiled->graph, operators, compiled->shapes);
  if (!inferred) return check(!inferred.error().message.empty());
  const auto constants = graph::Constants::create(compiled->graph, *inferred, std::move(compiled->weights));
  if (!constants) return check(!constants.error().message.empty());
  const DeviceProfile device;
  const graph::OwnKernels& own = *compiled->own_kernels;
  for (size_t i = 0; i < std::min<size_t>(own.library().blob().module_count(), kMostUnpacked); ++i) {
    const auto words = own.library().blob().module(i);
    check(words || !words.error().message.empty());
  }
  const graph::Chooser choosers[] = {{device, library(), operators}, {device, own.library(), operators, nullptr, &own}};
  for (const graph::Chooser& chooser : choosers) {
    const auto schedule =
        graph::make_schedule(compiled->graph, *inferred, constants->weight_descs(), chooser, &compiled->decision);
    check(schedule || !schedule.error().message.empty());
  }
}

// The last eight of the header's 32 bytes, as runtime/models/graph/compiled.h has them.
std::vector<std::byte> with_checksum(Bytes file) {
  constexpr size_t kHeader = 32, kChecksum = 24;
  std::vector<std::byte> fitting(file.begin(), file.end());
  if (fitting.size() < kHeader) return fitting;
  const auto put = [&](uint64_t checksum) { std::memcpy(fitting.data() + kChecksum, &checksum, sizeof(checksum)); };
  put(blob_format::checksum(Bytes(fitting).subspan(kHeader)));
  put(blob_format::checksum(Bytes(fitting).first(kHeader)));
  return fitting;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes file = std::as_bytes(std::span(data, size));
  take(file);
  take(with_checksum(file));
  return 0;
}
