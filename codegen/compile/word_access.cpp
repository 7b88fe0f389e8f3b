// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/compile/word_access.h"

#include <fmt/format.h>

#include <bit>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "codegen/compile/instructions.h"

namespace qgen::compile {
namespace {

using spv::Op;
using Words = std::span<const uint32_t>;

Op op_of(Words instruction) { return static_cast<Op>(instruction[0] & spv::OpCodeMask); }

struct NarrowType {
  uint32_t width = 0;
  bool is_signed = false;
};

// The location of an element: array `base.member`, at `index`. All are ids.
struct Element {
  uint32_t base = 0, member = 0, index = 0;
  NarrowType type;
};

// Capabilities and extensions that only narrow storage needs. The integer types themselves are gone too.
bool is_of_narrow_storage(spv::Capability capability) {
  switch (capability) {
    case spv::Capability::StorageBuffer8BitAccess:
    case spv::Capability::UniformAndStorageBuffer8BitAccess:
    case spv::Capability::StorageBuffer16BitAccess:
    case spv::Capability::UniformAndStorageBuffer16BitAccess:
    case spv::Capability::Int8:
    case spv::Capability::Int16: return true;
    default: return false;
  }
}

bool is_of_narrow_storage(Words extension) {
  const std::string_view name(reinterpret_cast<const char*>(&extension[1]));
  return name == "SPV_KHR_8bit_storage" || name == "SPV_KHR_16bit_storage";
}

class Rewriter {
 public:
  explicit Rewriter(const Spirv& spirv) : spirv_(spirv), bound_(spirv[kBoundWord]) {
    for_each_instruction(spirv, [this](const Instruction& instruction) { instructions_.push_back(instruction.words); });
  }

  Outcome<Spirv, std::string> run() {
    for (const Words instruction : instructions_) read(instruction);
    result_.assign(spirv_.begin(), spirv_.begin() + kHeaderWords);
    for (const Words instruction : instructions_) {
      write(instruction);
      if (!error_.empty()) return error_;
    }
    result_[kBoundWord] = bound_;
    return std::move(result_);
  }

 private:
  // ---- what the module says of itself -------------------------------------------------------------------------------

  void read(Words w) {
    switch (op_of(w)) {
      case Op::OpTypeInt:
        if (w[2] < 32) narrow_[w[1]] = {w[2], w[3] != 0};
        else if (w[2] == 32) (w[3] ? int_ : uint_) = w[1];
        break;
      case Op::OpTypeRuntimeArray:
        if (narrow_.contains(w[2])) arrays_.insert(w[1]);
        break;
      case Op::OpTypePointer:
        pointees_[w[1]] = w[3];
        if (is_buffer(w[2]) && narrow_.contains(w[3])) element_pointers_.insert(w[1]);
        if (is_buffer(w[2]) && w[3] == uint_ && uint_ != 0) word_pointer_ = w[1];
        break;
      case Op::OpDecorate:
        if (static_cast<spv::Decoration>(w[2]) == spv::Decoration::Aliased) aliased_.insert(w[1]);
        break;
      case Op::OpAccessChain:
      case Op::OpInBoundsAccessChain: read_access(w); break;
      case Op::OpStore:
        if (const auto element = elements_.find(w[1]); element != elements_.end()) {
          written_.insert(element->second.base);
          written_.insert(pointees_[types_[element->second.base]]);  // its block
        }
        break;
      default: break;
    }
    bool has_result = false, has_type = false;
    spv::HasResultAndType(op_of(w), &has_result, &has_type);
    if (has_result && has_type) types_[w[2]] = w[1];
  }

  static bool is_buffer(uint32_t storage_class) {
    return storage_class == static_cast<uint32_t>(spv::StorageClass::StorageBuffer);
  }

  void read_access(Words w) {
    if (!element_pointers_.contains(w[1])) return;
    if (w.size() == 6) elements_[w[2]] = {w[3], w[4], w[5], narrow_.at(pointees_.at(w[1]))};
    else error_ = "it reaches an element of a buffer by other means than its array's index";
  }

  // ---- the new module -----------------------------------------------------------------------------------------------

  void write(Words w) {
    switch (op_of(w)) {
      case Op::OpCapability:
        if (!is_of_narrow_storage(static_cast<spv::Capability>(w[1]))) copy(w);
        break;
      case Op::OpExtension:
        if (!is_of_narrow_storage(w)) copy(w);
        break;
      case Op::OpDecorate: write_decoration(w, 2); break;
      case Op::OpMemberDecorate: write_decoration(w, 3); break;
      case Op::OpTypeInt:
        begin_types();
        if (!narrow_.contains(w[1]) && w[1] != uint_ && w[1] != int_) copy(w);
        break;
      case Op::OpTypeRuntimeArray:
        begin_types();
        emit(Op::OpTypeRuntimeArray, {w[1], arrays_.contains(w[1]) ? uint_ : w[2]});
        break;
      case Op::OpTypePointer:
        if (!element_pointers_.contains(w[1])) write_with_types(w, 3);
        break;
      case Op::OpTypeFunction:
      case Op::OpTypeVector:
      case Op::OpTypeArray: write_with_types(w, 2); break;
      case Op::OpFunction:
        end_types();
        write_with_types(w, 1);
        break;
      case Op::OpAccessChain:
      case Op::OpInBoundsAccessChain:
        if (!elements_.contains(w[2])) copy(w);
        break;
      case Op::OpLoad:
        if (const auto element = elements_.find(w[3]); element != elements_.end()) load(w[2], element->second);
        else write_with_types(w, 1);
        break;
      case Op::OpStore:
        if (const auto element = elements_.find(w[1]); element != elements_.end()) store(element->second, w[2]);
        else copy(w);
        break;
      case Op::OpSConvert:
      case Op::OpUConvert:
      case Op::OpBitcast: convert(w); break;
      default: write_other(w); break;
    }
  }

  void copy(Words w) { result_.insert(result_.end(), w.begin(), w.end()); }

  void emit(Op op, std::initializer_list<uint32_t> operands) {
    result_.push_back(head(operands.size() + 1, op));
    result_.insert(result_.end(), operands.begin(), operands.end());
  }

  // A new id, of an instruction with a type.
  uint32_t make(Op op, uint32_t type, std::initializer_list<uint32_t> operands) {
    const uint32_t id = bound_++;
    define(op, type, id, operands);
    return id;
  }
  void define(Op op, uint32_t type, uint32_t id, std::initializer_list<uint32_t> operands) {
    result_.push_back(head(operands.size() + 3, op));
    result_.push_back(type);
    result_.push_back(id);
    result_.insert(result_.end(), operands.begin(), operands.end());
  }

  // The 32-bit types stand before all that is made of them.
  void begin_types() {
    if (has_begun_types_) return;
    has_begun_types_ = true;
    if (uint_ == 0) uint_ = bound_++;
    if (int_ == 0) int_ = bound_++;
    emit(Op::OpTypeInt, {uint_, 32, 0});
    emit(Op::OpTypeInt, {int_, 32, 1});
  }

  // After the last type; before the first function.
  void end_types() {
    if (has_ended_types_) return;
    has_ended_types_ = true;
    if (word_pointer_ == 0) {
      word_pointer_ = bound_++;
      emit(Op::OpTypePointer, {word_pointer_, static_cast<uint32_t>(spv::StorageClass::StorageBuffer), uint_});
    }
    for (const uint32_t value : {0U, 1U, 2U, 3U, 4U, 8U, 16U, 0xffU, 0xffffU}) {
      constants_[value] = make(Op::OpConstant, uint_, {value});
    }
  }
  uint32_t constant(uint32_t value) const { return constants_.at(value); }

  // The 32-bit type for a narrow one; any other type unchanged.
  uint32_t widened(uint32_t type) const {
    const auto narrow = narrow_.find(type);
    return narrow == narrow_.end() ? type : wide(narrow->second);
  }
  uint32_t wide(const NarrowType& type) const { return type.is_signed ? int_ : uint_; }

  // A copy in which the words from `first` on are types.
  void write_with_types(Words w, size_t first) {
    begin_types();
    std::vector<uint32_t> words(w.begin(), w.end());
    const bool is_one_type = op_of(w) == Op::OpLoad || op_of(w) == Op::OpFunction || op_of(w) == Op::OpTypeVector ||
                             op_of(w) == Op::OpTypeArray;
    const size_t end = is_one_type ? first + 1 : words.size();
    for (size_t i = first; i < end; ++i) words[i] = widened(words[i]);
    copy(words);
  }

  void write_decoration(Words w, size_t at) {
    const auto decoration = static_cast<spv::Decoration>(w[at]);
    if (decoration == spv::Decoration::NonReadable && written_.contains(w[1])) return;
    if (decoration == spv::Decoration::ArrayStride && arrays_.contains(w[1])) {
      return emit(Op::OpDecorate, {w[1], w[2], 4});
    }
    copy(w);
  }

  // Whatever only hands values on has another type, and whatever calculates is refused.
  void write_other(Words w) {
    bool has_result = false, has_type = false;
    spv::HasResultAndType(op_of(w), &has_result, &has_type);
    if (!has_result || !has_type || !narrow_.contains(w[1])) return copy(w);
    switch (op_of(w)) {
      case Op::OpConstant:
      case Op::OpConstantNull:
      case Op::OpUndef:
      case Op::OpPhi:
      case Op::OpSelect:
      case Op::OpCopyObject:
      case Op::OpFunctionCall:
      case Op::OpFunctionParameter: return write_with_result_type(w);
      default:
        error_ = fmt::format("it calculates with integers of {} bits (SPIR-V instruction {})", narrow_[w[1]].width,
                             static_cast<uint32_t>(op_of(w)));
    }
  }
  void write_with_result_type(Words w) {
    std::vector<uint32_t> words(w.begin(), w.end());
    words[1] = widened(words[1]);
    copy(words);
  }

  // ---- elements -----------------------------------------------------------------------------------------------------

  static constexpr uint32_t kDevice = static_cast<uint32_t>(spv::Scope::Device);

  uint32_t as(uint32_t type, uint32_t value) {
    return widened(types_[value]) == type ? value : make(Op::OpBitcast, type, {value});
  }

  struct Place {
    uint32_t pointer, shift;  // ids: to the word, and the element's first bit in it
  };
  Place place_of(const Element& element) {
    const uint32_t in_a_word = 32 / element.type.width;
    const uint32_t index = as(uint_, element.index);
    const auto log2 = [](uint32_t power) { return static_cast<uint32_t>(std::countr_zero(power)); };
    const uint32_t word = make(Op::OpShiftRightLogical, uint_, {index, constant(log2(in_a_word))});
    const uint32_t rest = make(Op::OpBitwiseAnd, uint_, {index, constant(in_a_word - 1)});
    return {make(Op::OpAccessChain, word_pointer_, {element.base, element.member, word}),
            make(Op::OpShiftLeftLogical, uint_, {rest, constant(log2(element.type.width))})};
  }

  // Whether an invocation may store into a word while another one loads it: the buffer is written here, or by a binding
  // that shares its bytes.
  bool is_shared(const Element& element) const {
    return written_.contains(element.base) || aliased_.contains(element.base);
  }

  // A plain load of a shared word would race with the stores of other invocations, and a device may then move the load
  // behind the first half of this invocation's own store. An atomic load has its place in the order of the word.
  void load(uint32_t result, const Element& element) {
    const Place place = place_of(element);
    const uint32_t word = is_shared(element)
                              ? make(Op::OpAtomicLoad, uint_, {place.pointer, constant(kDevice), constant(0)})
                              : make(Op::OpLoad, uint_, {place.pointer});
    extract(result, word, uint_, place.shift, element.type);
  }

  // `result`: the element's bits of a word, with the sign if it has one.
  void extract(uint32_t result, uint32_t word, uint32_t word_type, uint32_t shift, const NarrowType& type) {
    const uint32_t to = wide(type);
    const uint32_t base = word_type == to ? word : make(Op::OpBitcast, to, {word});
    define(type.is_signed ? Op::OpBitFieldSExtract : Op::OpBitFieldUExtract, to, result,
           {base, shift, constant(type.width)});
  }

  void store(const Element& element, uint32_t value) {
    const Place place = place_of(element);
    const uint32_t ones = constant(element.type.width == 8 ? 0xffU : 0xffffU);
    const uint32_t low = make(Op::OpBitwiseAnd, uint_, {as(uint_, value), ones});
    const uint32_t bits = make(Op::OpShiftLeftLogical, uint_, {low, place.shift});
    const uint32_t own = make(Op::OpShiftLeftLogical, uint_, {ones, place.shift});
    const uint32_t others = make(Op::OpNot, uint_, {own});
    make(Op::OpAtomicAnd, uint_, {place.pointer, constant(kDevice), constant(0), others});
    make(Op::OpAtomicOr, uint_, {place.pointer, constant(kDevice), constant(0), bits});
  }

  // ---- conversions --------------------------------------------------------------------------------------------------

  std::optional<NarrowType> narrow_type(uint32_t type) const {
    const auto narrow = narrow_.find(type);
    return narrow == narrow_.end() ? std::nullopt : std::optional(narrow->second);
  }

  // From or to a narrow integer: the bits that both types have, with the sign that the instruction or the result
  // requires.
  void convert(Words w) {
    const uint32_t from_type = types_[w[3]];
    const auto from = narrow_type(from_type), to = narrow_type(w[1]);
    if (!from && !to) return copy(w);
    if (w[1] != uint_ && w[1] != int_ && !to) {
      error_ = "it converts narrow integers to integers that do not have 32 bits";
      return;
    }
    uint32_t value = w[3], value_type = widened(from_type);
    if (from && op_of(w) != Op::OpBitcast) {
      const NarrowType read_as{from->width, op_of(w) == Op::OpSConvert};
      if (!to) return extract_as(w[2], w[1], value, value_type, read_as);
      const uint32_t whole = bound_++;
      extract(whole, value, value_type, constant(0), read_as);
      value = whole;
      value_type = wide(read_as);
    }
    extract(w[2], value, value_type, constant(0), *to);
  }

  // The same into a 32-bit type of either sign.
  void extract_as(uint32_t result, uint32_t type, uint32_t value, uint32_t value_type, const NarrowType& read_as) {
    if (wide(read_as) == type) return extract(result, value, value_type, constant(0), read_as);
    const uint32_t other = bound_++;
    extract(other, value, value_type, constant(0), read_as);
    define(Op::OpBitcast, type, result, {other});
  }

  const Spirv& spirv_;
  std::vector<Words> instructions_;
  Spirv result_;
  std::string error_;
  uint32_t bound_;
  uint32_t uint_ = 0, int_ = 0, word_pointer_ = 0;
  bool has_begun_types_ = false, has_ended_types_ = false;
  std::map<uint32_t, NarrowType> narrow_;   // types
  std::set<uint32_t> arrays_;               // types: of narrow elements
  std::set<uint32_t> element_pointers_;     // types
  std::map<uint32_t, uint32_t> pointees_;   // of pointer types
  std::map<uint32_t, uint32_t> types_;      // of values
  std::map<uint32_t, Element> elements_;    // pointers to elements
  std::set<uint32_t> written_;              // variables with narrow stores, and their blocks
  std::set<uint32_t> aliased_;              // variables that may share bytes with others
  std::map<uint32_t, uint32_t> constants_;  // of type uint
};

}  // namespace

Outcome<Spirv, std::string> with_word_access(const Spirv& spirv) { return Rewriter(spirv).run(); }

}  // namespace qgen::compile
