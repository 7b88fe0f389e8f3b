// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/device/architecture.h"

namespace qgen {
namespace {

struct ArchitectureRow {
  std::string_view name;
  uint32_t vendor_id, first, last;
};
constexpr ArchitectureRow kArchitectures[] = {
#define QGEN_ARCHITECTURE(name, vendor, first, last) {name, vendor, first, last},
#include "vocabulary/architecture_rows.inc"
};

}  // namespace

std::string_view architecture_of(uint32_t vendor_id, uint32_t device_id) {
  for (const ArchitectureRow& row : kArchitectures) {
    if (row.vendor_id == vendor_id && row.first <= device_id && device_id <= row.last) return row.name;
  }
  return "";
}

}  // namespace qgen
