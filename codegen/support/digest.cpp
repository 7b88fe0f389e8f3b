// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/support/digest.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace qgen {

Digest digest_of(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

std::string to_text(const Digest& digest) { return fmt::format("{:016x}{:016x}", digest.high, digest.low); }

struct DigestBuilder::State {
  XXH3_state_t xxh;
};

DigestBuilder::DigestBuilder() : state_(std::make_shared<State>()) { XXH3_128bits_reset(&state_->xxh); }

DigestBuilder& DigestBuilder::add(std::string_view field) {
  add(field.size());
  XXH3_128bits_update(&state_->xxh, field.data(), field.size());
  return *this;
}

DigestBuilder& DigestBuilder::add(uint64_t field) {
  XXH3_128bits_update(&state_->xxh, &field, sizeof(field));
  return *this;
}

Digest DigestBuilder::finish() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->xxh);
  return {hash.high64, hash.low64};
}

}  // namespace qgen
