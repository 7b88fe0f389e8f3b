// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Digests of contents: 128 bits of XXH3. Good against accidents, not against attackers; the same user wrote everything
// that a digest finds in a cache.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace qgen {

struct Digest {
  uint64_t high = 0;
  uint64_t low = 0;
  friend auto operator<=>(const Digest&, const Digest&) = default;
};

Digest digest_of(std::string_view bytes);
std::string to_text(const Digest& digest);  // 32 hexadecimal digits

// The digest of a sequence of fields. A field's length counts, so ("ab", "c") and ("a", "bc") differ.
class DigestBuilder {
 public:
  DigestBuilder();
  DigestBuilder& add(std::string_view field);
  DigestBuilder& add(uint64_t field);
  Digest finish() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace qgen
