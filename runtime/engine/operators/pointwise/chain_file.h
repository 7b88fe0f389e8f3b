// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The file of chain kernels (chain_kernels.h), which `qgen-model chains` writes:
//
//   Header              magic, version, number of chains; the checksum of all bytes behind it
//   ChainRow[chains]    the dtypes, steps and constants of each
//   blob                the module of each: blob_format.h
#pragma once

#include <memory>
#include <string>

#include "runtime/engine/operators/pointwise/chain_kernels.h"

namespace qgen::chains {

std::vector<std::byte> write_chains(std::span<const TypedChain> chains, std::span<const std::byte> blob);

// The kernels of a file, which join `library`; null if `path` is empty. Errors: those of reading the file and of
// ChainKernels::create(); another kind or version of file, a byte that is missing or another.
Expected<std::shared_ptr<const ChainKernels>> load_chains(const std::string& path, const LibraryInfo& library);
Expected<std::shared_ptr<const ChainKernels>> read_chains(std::span<const std::byte> file, const LibraryInfo& library);

}  // namespace qgen::chains
