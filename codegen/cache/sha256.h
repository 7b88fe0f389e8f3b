// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// SHA-256 of FIPS 180-4, for bytes that came over a network. digests of our own files are in support/digest.h.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace qgen::cache {

using Sha256 = std::array<uint8_t, 32>;

Sha256 sha256_of(std::string_view bytes);

}  // namespace qgen::cache
