// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A view over generated tables. Built by the caller and handed on; there is no global registry.
//
//   const auto library = KernelLibrary::open(generated::library());
//   const OperatorInfo* op = library->find("quantize_affine");
//
// The tables never change. The modules may: reload() takes newer ones from a file, for an edit loop. Copies of a library
// share their modules, so the copies in executors see them too. All functions may be called from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/library/blob.h"
#include "runtime/engine/library/kernel_info.h"

namespace qgen {

// The modules of a library between two reloads. It never changes.
class Modules {
 public:
  uint64_t digest(const KernelInfo& kernel) const;
  // Errors: damaged bytes.
  Expected<std::vector<uint32_t>> words(const KernelInfo& kernel) const;

 private:
  friend class KernelLibrary;
  struct Newer {
    Blob blob;
    size_t index = 0;  // in the blob
  };
  explicit Modules(Blob built) : built_(std::move(built)) {}
  uint64_t digest(uint32_t module) const;

  Blob built_;                       // which the program was built with
  std::map<uint32_t, Newer> newer_;  // by KernelInfo::module
};

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
  const Blob& blob() const { return built_; }  // with the modules that the library was opened with
  std::shared_ptr<const Modules> modules() const;
  std::span<const TuningInfo* const> tunings() const { return info_.tunings; }  // tuning_info.h
  // Of a kernel's SPIR-V, the same for the same words in any library; MANIFEST.tsv has it in hexadecimal digits. The
  // blob's index holds it, so the tables need not. After reload(): of the newer SPIR-V.
  uint64_t digest(const KernelInfo& kernel) const { return modules()->digest(kernel); }

  // Takes the modules of a file `kernels.blob` that a later run of qgen wrote, for this library and all its copies. With
  // `--filter` the file may have only some of the kernels; the other kernels keep their modules. Returns how many
  // kernels have other SPIR-V than before. The next recording makes their pipelines; existing recordings keep theirs.
  //
  // Takes all modules of the file or none. Errors: the file cannot be read or is damaged; a kernel that the tables do
  // not have, or have with another interface or spec, since only a build of the program changes the tables.
  Expected<size_t> reload(const std::string& path);

  KernelLibrary(const KernelLibrary&) = default;  // and no move: copies share the modules, and none is ever empty
  KernelLibrary& operator=(const KernelLibrary&) = default;

 private:
  struct State;
  KernelLibrary(LibraryInfo info, Blob blob);
  Expected<std::shared_ptr<const Modules>> with_modules_of(const Blob& newer) const;

  LibraryInfo info_;
  Blob built_;
  std::shared_ptr<State> state_;  // never null
};

// The specialization values of a kernel's pipeline: a row of OperatorInfo::specializations, then the values that the
// operator's problem decides.
std::vector<uint32_t> specialization_values(const OperatorInfo& op, size_t row, const void* problem);

}  // namespace qgen
