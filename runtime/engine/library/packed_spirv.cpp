// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/library/packed_spirv.h"

#include <algorithm>
#include <cstring>

namespace qgen::packed_spirv {
namespace {

using Words = std::span<const uint32_t>;

constexpr uint32_t kMagic = 0x07230203;
constexpr size_t kHeaderWords = 5;
constexpr char kPlain = 0, kInstructions = 1;
constexpr uint32_t kFunction = 54;

// ---- which opcodes have a result, and a type before it ---------------------------------------------------------------

// Debug text, the module's head, decorations, stores, barriers and the ends of blocks.
constexpr uint32_t kWithoutResult[] = {0,   2,   3,   4,   5,   6,   8,   10,  14,   15,   16,   17,  56,
                                       62,  63,  71,  72,  99,  224, 225, 228, 246,  247,  249,  250, 251,
                                       252, 253, 254, 255, 317, 330, 331, 332, 4416, 4458, 5632, 5633};
// Strings, imports, types, groups of decorations and labels.
constexpr uint32_t kWithoutType[] = {7, 11, 73, 248, 4456, 5358};
constexpr uint32_t kFirstType = 19, kLastType = 39;

template <size_t N>
bool is_among(uint32_t opcode, const uint32_t (&opcodes)[N]) {
  return std::find(opcodes, opcodes + N, opcode) != opcodes + N;
}

struct Parts {
  bool has_type = false;
  bool has_result = false;
};
Parts parts_of(uint32_t opcode, uint32_t count) {
  if (count < 2 || is_among(opcode, kWithoutResult)) return {};
  if (count < 3 || (opcode >= kFirstType && opcode <= kLastType) || is_among(opcode, kWithoutType))
    return {.has_result = true};
  return {.has_type = true, .has_result = true};
}

bool is_spirv(Words words) {
  if (words.size() < kHeaderWords || words[0] != kMagic) return false;
  size_t i = kHeaderWords;
  while (i < words.size()) {
    const uint32_t count = words[i] >> 16;
    if (count == 0 || count > words.size() - i) return false;
    i += count;
  }
  return true;
}

uint32_t least_id_of_functions(Words words) {
  uint32_t least = ~0U;
  bool is_inside = false;
  for (size_t i = kHeaderWords; i < words.size(); i += words[i] >> 16) {
    const uint32_t opcode = words[i] & 0xffff;
    const Parts parts = parts_of(opcode, words[i] >> 16);
    if (is_inside && parts.has_result && opcode != kFunction)
      least = std::min(least, words[i + 1 + (parts.has_type ? 1 : 0)]);
    is_inside |= opcode == kFunction;
  }
  return least;
}

// ---- numbers --------------------------------------------------------------------------------------------------------

constexpr uint64_t zigzag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}
constexpr int64_t from_zigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

void put(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool is_at_end() const { return next_ == bytes_.size(); }
  bool is_damaged() const { return is_damaged_; }

  uint64_t number() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 42; shift += 7) {
      if (is_at_end()) break;
      const auto byte = static_cast<uint8_t>(bytes_[next_++]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    is_damaged_ = true;
    return 0;
  }
  uint32_t word() { return word_of(static_cast<int64_t>(number())); }
  uint32_t word_of(int64_t value) {
    is_damaged_ |= value < 0 || value > int64_t{~uint32_t{0}};
    return static_cast<uint32_t>(value);
  }

 private:
  std::span<const std::byte> bytes_;
  size_t next_ = 0;
  bool is_damaged_ = false;
};

// ---- both directions ------------------------------------------------------------------------------------------------

// What is known before an instruction.
struct State {
  uint32_t least_id = ~0U;
  uint32_t last_result = 0;
  bool is_inside = false;  // a function
};

void put_instruction(std::string& to, Words words, State& state) {
  const uint32_t opcode = words[0] & 0xffff, count = words[0] >> 16;
  const Parts parts = parts_of(opcode, count);
  put(to, 4 * opcode + (parts.has_result ? 2 : 0) + (parts.has_type ? 1 : 0));
  put(to, count);
  state.is_inside |= opcode == kFunction;
  size_t i = 1;
  if (parts.has_type) put(to, words[i++]);
  if (parts.has_result) {
    put(to, zigzag(int64_t{words[i]} - state.last_result - 1));
    state.last_result = words[i++];
  }
  for (; i < count; ++i) {
    if (!state.is_inside) {
      put(to, words[i]);
    } else if (words[i] < state.least_id) {
      put(to, uint64_t{words[i]} * 2);
    } else {
      put(to, zigzag(int64_t{state.last_result} - words[i]) * 2 + 1);
    }
  }
}

// false: the bytes are damaged, or the module would have more than `most` words.
bool take_instruction(Reader& reader, size_t most, std::vector<uint32_t>& words, State& state) {
  const uint64_t head = reader.number(), count = reader.number();
  const size_t fixed = 1 + (head & 1) + (head >> 1 & 1);
  if (reader.is_damaged() || head >> 2 > 0xffff || count > 0xffff || count < fixed || count > most - words.size())
    return false;
  const auto opcode = static_cast<uint32_t>(head >> 2);
  state.is_inside |= opcode == kFunction;
  words.push_back(static_cast<uint32_t>(count) << 16 | opcode);
  if ((head & 1) != 0) words.push_back(reader.word());
  if ((head & 2) != 0) {
    state.last_result = reader.word_of(from_zigzag(reader.number()) + state.last_result + 1);
    words.push_back(state.last_result);
  }
  for (size_t i = fixed; i < count; ++i) {
    const uint64_t value = reader.number();
    if (!state.is_inside) {
      words.push_back(reader.word_of(static_cast<int64_t>(value)));
    } else if ((value & 1) == 0) {
      words.push_back(reader.word_of(static_cast<int64_t>(value >> 1)));
    } else {
      words.push_back(reader.word_of(int64_t{state.last_result} - from_zigzag(value >> 1)));
    }
  }
  return !reader.is_damaged();
}

}  // namespace

std::string pack(Words words) {
  if (!is_spirv(words)) {
    std::string plain(1 + words.size_bytes(), kPlain);
    if (!words.empty()) std::memcpy(plain.data() + 1, words.data(), words.size_bytes());
    return plain;
  }
  std::string bytes(1, kInstructions);
  for (size_t i = 0; i < kHeaderWords; ++i) put(bytes, words[i]);
  State state{.least_id = least_id_of_functions(words)};
  put(bytes, state.least_id);
  for (size_t i = kHeaderWords; i < words.size(); i += words[i] >> 16)
    put_instruction(bytes, words.subspan(i, words[i] >> 16), state);
  return bytes;
}

std::optional<std::vector<uint32_t>> unpack(std::span<const std::byte> bytes, size_t count) {
  if (bytes.empty()) return std::nullopt;
  const auto form = static_cast<char>(bytes.front());
  bytes = bytes.subspan(1);
  std::vector<uint32_t> words;
  if (form == kPlain) {
    if (bytes.size() != count * sizeof(uint32_t)) return std::nullopt;
    words.resize(count);
    if (count != 0) std::memcpy(words.data(), bytes.data(), bytes.size());
    return words;
  }
  if (form != kInstructions || count < kHeaderWords) return std::nullopt;
  words.reserve(count);
  Reader reader(bytes);
  for (size_t i = 0; i < kHeaderWords; ++i) words.push_back(reader.word());
  State state{.least_id = reader.word()};
  while (words.size() < count) {
    if (!take_instruction(reader, count, words, state)) return std::nullopt;
  }
  if (reader.is_damaged() || !reader.is_at_end()) return std::nullopt;
  return words;
}

}  // namespace qgen::packed_spirv
