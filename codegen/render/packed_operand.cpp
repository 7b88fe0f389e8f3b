// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/render/packed_operand.h"

#include <fmt/format.h>

#include <array>

#include "codegen/render/glsl.h"
#include "codegen/support/text_writer.h"

namespace qgen::render {
namespace {

using expression::Function;
using expression::Type;
using expression::Value;
using expression::Word;

constexpr char kComponents[] = "xyzw";
constexpr std::string_view kLetters[] = {"W", "H", "C", "N"};

char component(Dim dim) { return kComponents[index(dim)]; }

class PackedPrinter {
 public:
  explicit PackedPrinter(const PackedOperand& operand) : operand_(operand), dims_(info(operand.layout).dims) {}

  std::string print() {
    if (is_in_any_order()) {
      out_.line("// {}: {}, in any order", operand_.name, block_text());
    } else {
      out_.line("// {}: {}, blocks in the order {}", operand_.name, name(operand_.layout), order_text());
    }
    if (operand_.shares_bytes) out_.text(kSharedBytesExtension);
    declare_buffer("Buffer", "uint", "data");
    if (is_blocked() || may_follow()) declare_buffer("Blocks", "uvec4", "blocks");
    if (is_strided() && is_written()) declare_buffer("Bytes", scalar_type(operand_.dtype), "bytes");
    place();
    if (operand_.access != Access::write) loads();
    if (is_written()) stores();
    std::string text = std::move(out_).take();
    text.pop_back();  // the renderer ends the line
    return text;
  }

 private:
  bool is_strided() const { return operand_.layout == Layout::strided; }
  bool is_written() const { return operand_.access != Access::read; }
  // Whether a block is four words along `across`.
  bool is_blocked() const { return dims_.outer_block > 1; }
  bool has_blocks_across() const { return is_blocked() && operand_.across == dims_.outer; }
  bool is_in_any_order() const { return operand_.is_in_any_order && has_twin(operand_.layout); }
  // Whether words that follow each other along `across` do so in memory, or may.
  bool may_follow() const {
    if (is_blocked() || !operand_.across) return false;
    return is_in_any_order() || (dims_.is_transposed && operand_.across == dims_.outer);
  }

  std::string order_text() const {
    std::string text;
    for (const Dim dim : dims_.order()) {
      const int block = dims_.block_of(dim);
      text +=
          block == 1 ? fmt::format("[{}]", kLetters[index(dim)]) : fmt::format("[{}/{}]", kLetters[index(dim)], block);
    }
    return text + (dims_.block == 1 ? " of bytes" : " of " + block_text());
  }

  std::string block_text() const {
    std::string text;
    if (dims_.outer_block > 1) text += fmt::format("[{} {}]", dims_.outer_block, kLetters[index(dims_.outer)]);
    return text + fmt::format("[{} {}]", dims_.block, kLetters[index(dims_.packed)]);
  }

  void declare_buffer(std::string_view suffix, std::string_view type, std::string_view member) {
    out_.line("layout(set = 0, binding = {}, std430) {}buffer {}{} {{ {} {}_{}[]; }};", operand_.binding,
              qualifiers(operand_.access, operand_.shares_bytes), camel_case(operand_.name), suffix, type,
              operand_.name, member);
  }

  // ---- addresses

  // The number of the block that holds `at`; of strided, of the byte.
  std::string block_number() const {
    constexpr std::array kAnyOrder = {Dim::batch, Dim::channels, Dim::height, Dim::width};
    std::string sum;
    const auto order = is_in_any_order() ? kAnyOrder : dims_.order();
    for (size_t i = 0; i < kDims; ++i) {
      const int block = dims_.block_of(order[i]);
      sum += fmt::format("{}at.{}", sum.empty() ? "" : " + ", component(order[i]));
      if (block > 1) sum += fmt::format(" / {}u", block);
      if (is_in_any_order() || i + 1 < kDims) {
        sum += fmt::format(" * problem.{}_strides[{}]", operand_.name, index(order[i]));
      }
    }
    return sum;
  }

  void place() {
    if (is_strided()) {
      out_.line("uint {}_byte(uvec4 at) {{ return {}; }}", operand_.name, block_number());
    } else if (is_blocked()) {
      out_.line("uint {}_block(uvec4 at) {{ return {}; }}", operand_.name, block_number());
      out_.line("uint {0}_word(uvec4 at) {{ return {0}_block(at) * {1}u + at.{2} % {1}u; }}", operand_.name,
                dims_.outer_block, component(dims_.outer));
    } else {
      out_.line("uint {}_word(uvec4 at) {{ return {}; }}", operand_.name, block_number());
    }
  }

  std::string side(Dim dim) const { return fmt::format("problem.{}[{}]", operand_.sides, index(dim)); }

  // ---- loads

  void loads() {
    load();
    element();
    if (is_blocked())
      out_.line("uvec4 {0}_load_block(uvec4 at) {{ return {0}_blocks[{0}_block(at)]; }}", operand_.name);
    if (operand_.across) load_rows(*operand_.across);
  }

  void load() {
    if (!is_strided()) {
      out_.line("uint {0}_load(uvec4 at) {{ return {0}_data[{0}_word(at)]; }}", operand_.name);
      return;
    }
    out_.line("uint {}_load(uvec4 at) {{", operand_.name);
    {
      const auto indented = out_.indent();
      out_.line("const uint byte = {}_byte(at);", operand_.name);
      out_.line("const uint lanes = 4u - byte % 4u;");
      out_.line("const uint low = {}_data[byte / 4u] >> (32u - 8u * lanes);", operand_.name);
      out_.line("// The other lanes are in the next word, if the row goes on.");
      out_.line("if (lanes == 4u || at.{} + lanes >= {}) return low;", component(dims_.packed), side(dims_.packed));
      out_.line("return low | {}_data[byte / 4u + 1u] << (8u * lanes);", operand_.name);
    }
    out_.text("}");
  }

  void element() {
    const std::string word =
        is_strided() ? fmt::format("{}_byte(at) / 4u", operand_.name) : fmt::format("{}_word(at)", operand_.name);
    const std::string lane =
        is_strided() ? fmt::format("{}_byte(at)", operand_.name) : fmt::format("at.{}", component(dims_.packed));
    out_.line("uint {0}_element(uvec4 at) {{ return {0}_data[{1}] >> (8u * ({2} % 4u)) & 0xffu; }}", operand_.name,
              word, lane);
  }

  // Four words at once where they are 16 bytes, whatever those past the side hold, or where there are four rows, each
  // of whole words. Else one by one, and of rows past the side the last one again: loads stay inside.
  void load_rows(Dim across) {
    const char a = component(across);
    if (has_blocks_across()) {
      out_.line("uvec4 {0}_rows(uvec4 at) {{ return {0}_load_block(at); }}", operand_.name);
      return;
    }
    out_.line("uint {0}_row(uvec4 at, uint i) {{ at.{1} += min(i, {2} - 1u - at.{1}); return {0}_load(at); }}",
              operand_.name, a, side(across));
    out_.line("uvec4 {}_rows(uvec4 at) {{", operand_.name);
    {
      const auto indented = out_.indent();
      four_rows(across);
      if (may_follow()) out_.line("if ({}) return {}_blocks[word / 4u];", follow(), operand_.name);
      out_.line("if ({}) {{", are_words(Access::read));
      out_.line("  return uvec4({0}_data[{1}], {0}_data[{2}], {0}_data[{3}], {0}_data[{4}]);", operand_.name,
                kRowWords[0], kRowWords[1], kRowWords[2], kRowWords[3]);
      out_.text("}");
      out_.line("return uvec4({0}_row(at, 0u), {0}_row(at, 1u), {0}_row(at, 2u), {0}_row(at, 3u));", operand_.name);
    }
    out_.text("}");
  }

  // ---- stores

  void stores() {
    store();
    if (is_blocked()) {
      out_.line("void {0}_store_block(uvec4 at, uvec4 words) {{ {0}_blocks[{0}_block(at)] = words; }}", operand_.name);
    }
    if (operand_.across) store_rows(*operand_.across);
  }

  void store() {
    if (!is_strided()) {
      out_.line("void {0}_store(uvec4 at, uint word) {{ {0}_data[{0}_word(at)] = word; }}", operand_.name);
      return;
    }
    const std::string_view byte_type = scalar_type(operand_.dtype);
    out_.line("void {}_store(uvec4 at, uint word) {{", operand_.name);
    {
      const auto indented = out_.indent();
      out_.line("const uint byte = {}_byte(at);", operand_.name);
      out_.line("const uint lanes = min(4u, {} - at.{});", side(dims_.packed), component(dims_.packed));
      out_.line("if (byte % 4u == 0u && lanes == 4u) {{");
      out_.line("  {}_data[byte / 4u] = word;", operand_.name);
      out_.line("  return;");
      out_.text("}");
      out_.line("// The words at a row's ends hold bytes of other rows, which other invocations write.");
      // Through an int of the byte's sign, since a conversion that also changes the sign would require 8-bit
      // arithmetic.
      out_.line("for (uint i = 0u; i < lanes; ++i) {}_bytes[byte + i] = {}({}(word >> (8u * i)));", operand_.name,
                byte_type, operand_.dtype == DType::i8 ? "int" : "uint");
    }
    out_.text("}");
  }

  void store_rows(Dim across) {
    if (has_blocks_across()) {
      out_.line("void {0}_store_rows(uvec4 at, uvec4 rows) {{ {0}_store_block(at, rows); }}", operand_.name);
      return;
    }
    const char a = component(across);
    out_.line("void {}_store_rows(uvec4 at, uvec4 rows) {{", operand_.name);
    {
      const auto indented = out_.indent();
      four_rows(across);
      if (may_follow()) {
        out_.line("if ({} && count >= 4u) {{", follow());
        out_.line("  {}_blocks[word / 4u] = rows;", operand_.name);
        out_.line("  return;");
        out_.text("}");
      }
      out_.line("if ({}) {{", are_words(Access::write));
      for (int i = 0; i < 4; ++i) out_.line("  {}_data[{}] = rows.{};", operand_.name, kRowWords[i], kComponents[i]);
      out_.line("  return;");
      out_.text("}");
      out_.line("{}_store(at, rows.x);", operand_.name);
      for (int i = 1; i < 4; ++i) {
        out_.line("++at.{}; if (count > {}u) {}_store(at, rows.{});", a, i, operand_.name, kComponents[i]);
      }
    }
    out_.text("}");
  }

  // ---- four rows along `across` from `at` on

  static constexpr std::string_view kRowWords[] = {"word", "word + next", "word + 2u * next", "word + 3u * next"};

  // How many there are, the word of the first, and how many words on the next is.
  void four_rows(Dim across) {
    out_.line("const uint count = {} - at.{};", side(across), component(across));
    const bool is_fastest = !is_in_any_order() && across == dims_.fastest();
    const std::string stride = is_fastest ? "1u" : fmt::format("problem.{}_strides[{}]", operand_.name, index(across));
    if (is_strided()) {
      out_.line("const uint byte = {}_byte(at);", operand_.name);
      out_.line("const uint word = byte / 4u, next = {} / 4u;", stride);
      out_.line("const bool are_words = (byte | {}) % 4u == 0u;", stride);
    } else {
      const std::string words = is_blocked() ? fmt::format("{}u * ", dims_.outer_block) : "";
      out_.line("const uint word = {}_word(at), next = {}{};", operand_.name, words, stride);
    }
  }

  // Whether four words are 16 bytes in the order of blocks.
  std::string_view follow() const { return is_in_any_order() ? "next == 1u && word % 4u == 0u" : "word % 4u == 0u"; }

  // Whether there are four and each is a word of memory, of a plain buffer to be written a whole one.
  std::string are_words(Access access) const {
    std::string condition = "count >= 4u";
    if (is_strided()) condition += " && are_words";
    if (is_strided() && access == Access::write) {
      condition += fmt::format(" && {} - at.{} >= 4u", side(dims_.packed), component(dims_.packed));
    }
    return condition;
  }

  const PackedOperand& operand_;
  const PackedDimInfo& dims_;
  TextWriter out_;
};

// ---- functions ------------------------------------------------------------------------------------------------------

// The layout that a word names; nullopt: none.
std::optional<Layout> layout_at(std::span<const Value> arguments, size_t i) {
  return find_layout(std::get<Word>(arguments[i]).text);
}

template <typename OfLayouts>
Function dimension_of_two(std::string name, OfLayouts of_layouts) {
  const auto evaluate = [of_layouts](std::span<const Value> arguments) -> Value {
    const auto one = layout_at(arguments, 0);
    const auto other = layout_at(arguments, 1);
    return Integer(one && other ? static_cast<int64_t>(of_layouts(*one, *other)) : static_cast<int64_t>(kDims));
  };
  return {std::move(name), {Type::word, Type::word}, 0, Type::integer, evaluate};
}

Value outer(std::span<const Value> arguments) {
  const auto layout = layout_at(arguments, 0);
  const bool has_blocks = layout && info(*layout).dims.outer_block > 1;
  return Integer(static_cast<int64_t>(has_blocks ? info(*layout).dims.outer : Dim::batch));
}

}  // namespace

std::string print(const PackedOperand& operand) { return PackedPrinter(operand).print(); }

std::vector<Function> layout_functions() {
  return {
      {"outer", {Type::word}, 0, Type::integer, outer},
      dimension_of_two("across", across),
      dimension_of_two("third", third),
  };
}

}  // namespace qgen::render
