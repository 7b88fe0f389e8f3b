// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A read-only view over generated tables. Built by the caller and handed on; there is no global registry.
//
//   const auto library = KernelLibrary::open(generated::library());
//   const OperatorInfo* op = library->find("quantize_affine");
#pragma once

#include <string_view>
#include <vector>

#include "runtime/engine/library/blob.h"
#include "runtime/engine/library/kernel_info.h"

namespace qgen {

class KernelLibrary {
 public:
  static Expected<KernelLibrary> open(const LibraryInfo& info);

  std::span<const OperatorInfo* const> operators() const { return info_.operators; }
  const OperatorInfo* find(std::string_view operator_name) const;  // null: none
  // By id, in any operator. Null: none.
  struct Found {
    const OperatorInfo* op = nullptr;
    const KernelInfo* kernel = nullptr;
    const RecipeInfo* recipe = nullptr;
  };
  Found find_kernel(std::string_view id) const;
  const Blob& blob() const { return blob_; }
  std::span<const TuningInfo* const> tunings() const { return info_.tunings; }  // tuning_info.h
  // Of a kernel's SPIR-V, the same for the same words in any library; MANIFEST.tsv has it in hexadecimal digits. The
  // blob's index holds it, so the tables need not.
  uint64_t digest(const KernelInfo& kernel) const { return blob_.module_digest(kernel.module); }

 private:
  KernelLibrary(LibraryInfo info, Blob blob) : info_(info), blob_(std::move(blob)) {}
  LibraryInfo info_;
  Blob blob_;
};

// The specialization values of a kernel's pipeline: a row of OperatorInfo::specializations, then the values that the
// operator's problem decides.
std::vector<uint32_t> specialization_values(const OperatorInfo& op, size_t row, const void* problem);

}  // namespace qgen
