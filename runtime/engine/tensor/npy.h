// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// NumPy's .npy files, versions 1 to 3.
//
//   const auto tensor = load_npy("input.npy");
//   if (!tensor) return tensor.error();       // "input.npy: the header has no 'shape'"
//
// Reading converts to qgen's types and never changes a value. Fortran order becomes row-major, big endian becomes
// little endian, booleans become u8. NumPy's 64-bit types (f8, i8, u8) become 32-bit types if every element stays the
// same, and are refused otherwise. The header is parsed, not evaluated, and no size in it is trusted.
//
// Writing gives, byte for byte, the output of numpy.save for the same array. bf16, which NumPy lacks, is written as
// float32.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "common/files.h"
#include "runtime/engine/tensor/tensor.h"

namespace qgen {

Expected<HostTensor> read_npy(std::span<const std::byte> file);
Expected<HostTensor> load_npy(const std::filesystem::path& path);  // errors name the path

// As the tensor stands: of one that check_host_tensor() refuses, a file that read_npy() refuses.
std::vector<std::byte> write_npy(const HostTensor& tensor);
// Errors start with the path: data that do not fit the shape, failures of the system.
Done save_npy(const std::filesystem::path& path, const HostTensor& tensor);
// One of the files that a command writes together (common/files.h).
Done add_npy(Outputs& outputs, const std::filesystem::path& path, const HostTensor& tensor);

}  // namespace qgen
