// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Two passes over the instructions: Facts collects the facts that the second pass needs in advance, and Rewriter writes
// the older module. The rules are in the specification of SPIR-V, section 3 ("missing before version"), and in the
// specifications of the extensions.
#include "runtime/engine/library/older_spirv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace qgen {
namespace {

// The instructions, decorations and bits that are read here, by the specification's numbers.
enum Op : uint32_t {
  kExtension = 10,
  kEntryPoint = 15,
  kExecutionMode = 16,
  kCapability = 17,
  kFirstType = 19,  // to kLastType: types, whose result comes first
  kTypeBool = 20,
  kTypeVector = 23,
  kTypeArray = 28,
  kTypeStruct = 30,
  kTypePointer = 32,
  kLastType = 39,
  kConstant = 43,
  kSpecConstantComposite = 51,
  kSpecConstantOp = 52,
  kFunction = 54,
  kVariable = 59,
  kDecorate = 71,
  kMemberDecorate = 72,
  kCompositeConstruct = 80,
  kCompositeExtract = 81,
  kImageFetch = 95,
  kImageRead = 98,
  kImageWrite = 99,
  kUConvert = 113,
  kSelect = 169,
  kLoopMerge = 246,
  kExecutionModeId = 331,
  kDecorateId = 332,
  kCopyLogical = 400,
  kPtrEqual = 401,
  kPtrNotEqual = 402,
  kPtrDiff = 403,
  kFirstExtendedType = 4456,  // OpTypeCooperativeMatrixKHR; other types of extensions are never results of selections
};
constexpr uint32_t kLocalSize = 17, kLocalSizeId = 38;  // execution modes
constexpr uint32_t kBuiltIn = 11, kNonWritable = 24;    // decorations
constexpr uint32_t kWorkgroupSize = 25;                 // of BuiltIn
constexpr uint32_t kInput = 1, kUniform = 2, kOutput = 3, kStorageBuffer = 12, kPrivate = 6,
                   kFunctionStorage = 7;     // storage classes
constexpr uint32_t kExtensionBits = 0x3000;  // of image operands: SignExtend, ZeroExtend
constexpr uint32_t kPlainLoopBits = 0x7;     // hints without a number

constexpr size_t kHeaderWords = 5, kVersionWord = 1, kBoundWord = 3;
constexpr uint32_t kMagic = 0x07230203;
constexpr uint32_t kMostIds = 1 << 22;    // the specification's limit
constexpr uint32_t kMostParts = 1 << 14;  // for a composite that is split

// A capability, the version that contains it, and the extension that older modules declare for it.
struct CapabilityRow {
  uint32_t capability;
  uint32_t since;
  std::string_view extension;
};
constexpr CapabilityRow kCapabilities[] = {
    {4448, kSpirv1_5, "SPV_KHR_8bit_storage"},             // StorageBuffer8BitAccess
    {4449, kSpirv1_5, "SPV_KHR_8bit_storage"},             // UniformAndStorageBuffer8BitAccess
    {4450, kSpirv1_5, "SPV_KHR_8bit_storage"},             // StoragePushConstant8
    {5345, kSpirv1_5, "SPV_KHR_vulkan_memory_model"},      // VulkanMemoryModel
    {5346, kSpirv1_5, "SPV_KHR_vulkan_memory_model"},      // VulkanMemoryModelDeviceScope
    {5347, kSpirv1_5, "SPV_KHR_physical_storage_buffer"},  // PhysicalStorageBufferAddresses
    {5301, kSpirv1_5, "SPV_EXT_descriptor_indexing"},      // ShaderNonUniform
    {4464, kSpirv1_4, "SPV_KHR_float_controls"},           // DenormPreserve
    {4465, kSpirv1_4, "SPV_KHR_float_controls"},           // DenormFlushToZero
    {4466, kSpirv1_4, "SPV_KHR_float_controls"},           // SignedZeroInfNanPreserve
    {4467, kSpirv1_4, "SPV_KHR_float_controls"},           // RoundingModeRTE
    {4468, kSpirv1_4, "SPV_KHR_float_controls"},           // RoundingModeRTZ
    {6016, kSpirv1_6, "SPV_KHR_integer_dot_product"},      // DotProductInputAll
    {6017, kSpirv1_6, "SPV_KHR_integer_dot_product"},      // DotProductInput4x8Bit
    {6018, kSpirv1_6, "SPV_KHR_integer_dot_product"},      // DotProductInput4x8BitPacked
    {6019, kSpirv1_6, "SPV_KHR_integer_dot_product"},      // DotProduct
};
// NoSignedWrap and NoUnsignedWrap, which no capability announces.
constexpr uint32_t kNoSignedWrap = 4469, kNoUnsignedWrap = 4470;
constexpr std::string_view kWrapExtension = "SPV_KHR_no_integer_wrap_decoration";

using Words = std::span<const uint32_t>;

Error no_module(std::string_view why) { return refused(fmt::format("the words are no SPIR-V module: {}", why)); }

// ---- reading --------------------------------------------------------------------------------------------------------

struct Instruction {
  uint32_t op = 0;
  Words words;  // the one with length and opcode included
};

std::string_view text_of(Words words) {
  const std::string_view bytes(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t));
  return bytes.substr(0, bytes.find('\0'));
}

size_t words_of_text(std::string_view text) { return text.size() / sizeof(uint32_t) + 1; }

// The least words that each instruction read here has.
size_t least_words(uint32_t op) {
  switch (op) {
    case kCapability:
    case kExtension: return 2;
    case kTypeArray:
    case kTypeVector:
    case kTypePointer:
    case kEntryPoint:
    case kConstant:
    case kVariable:
    case kSpecConstantOp:
    case kImageWrite:
    case kCopyLogical:
    case kLoopMerge: return 4;
    case kTypeStruct: return 2;
    case kDecorate:
    case kExecutionMode:
    case kExecutionModeId:
    case kFunction: return 3;
    case kImageFetch:
    case kImageRead: return 5;
    case kSelect: return 6;
    default: return 1;
  }
}

Expected<std::vector<Instruction>> instructions_of(Words module) {
  if (module.size() < kHeaderWords || module[0] != kMagic) return no_module("they begin with other words");
  if (module[kBoundWord] > kMostIds) return no_module("they have too many ids");
  std::vector<Instruction> instructions;
  for (size_t at = kHeaderWords; at < module.size();) {
    const uint32_t length = module[at] >> 16, op = module[at] & 0xffff;
    if (length == 0 || length > module.size() - at) return no_module("an instruction passes their end");
    if (length < least_words(op)) return no_module("an instruction lacks operands");
    instructions.push_back({op, module.subspan(at, length)});
    at += length;
  }
  return instructions;
}

// A number for each id; 0 where there is none.
class ById {
 public:
  explicit ById(uint32_t bound) : numbers_(bound) {}
  void set(uint32_t id, uint32_t number) {
    if (id < numbers_.size()) numbers_[id] = number;
  }
  uint32_t of(uint32_t id) const { return id < numbers_.size() ? numbers_[id] : 0; }

 private:
  std::vector<uint32_t> numbers_;
};

// Facts about a module that must be known before it is rewritten.
struct Facts {
  Facts(const std::vector<Instruction>& instructions, uint32_t bound) : storage_classes(bound), value_types(bound) {
    for (const Instruction& one : instructions) read(one);
  }

  void read(const Instruction& one) {
    const Words w = one.words;
    switch (one.op) {
      case kExtension: extensions.push_back(text_of(w.subspan(1))); return;
      case kCapability: capabilities.push_back(w[1]); return;
      case kExecutionModeId:
        if (w[2] == kLocalSizeId && w.size() == 6) workgroup = {w[3], w[4], w[5]};
        return;
      case kDecorate:
        if (w[2] == kBuiltIn && w.size() == 4 && w[3] == kWorkgroupSize) has_workgroup_constant = true;
        if (w[2] == kNoSignedWrap || w[2] == kNoUnsignedWrap) has_wrap_decorations = true;
        return;
      default: break;
    }
    if ((one.op >= kFirstType && one.op <= kLastType) || one.op == kFirstExtendedType) {
      if (w.size() >= 2) types.emplace(w[1], one);
      return;
    }
    if (one.op == kConstant) constants.emplace(w[2], w[3]);
    if (one.op == kVariable) storage_classes.set(w[2], w[3]);
    // After the annotations, the first word is a type only if the opcode has a typed result.
    if (w.size() >= 3 && types.contains(w[1])) value_types.set(w[2], w[1]);
  }

  const Instruction* type(uint32_t id) const {
    const auto found = types.find(id);
    return found == types.end() ? nullptr : &found->second;
  }
  bool is(uint32_t id, uint32_t op) const {
    const Instruction* found = type(id);
    return found && found->op == op;
  }
  uint32_t type_of(uint32_t value) const { return value_types.of(value); }
  std::optional<uint32_t> vector_of(uint32_t component, uint32_t count) const {
    for (const auto& [id, type] : types) {
      if (type.op == kTypeVector && type.words[2] == component && type.words[3] == count) return id;
    }
    return std::nullopt;
  }
  // Types of the parts of a struct or an array; nullopt: it is neither, or has a length that is no literal.
  std::optional<std::vector<uint32_t>> parts(uint32_t id) const {
    const Instruction* composite = type(id);
    if (!composite) return std::nullopt;
    if (composite->op == kTypeStruct) return std::vector(composite->words.begin() + 2, composite->words.end());
    if (composite->op != kTypeArray) return std::nullopt;
    const auto length = constants.find(composite->words[3]);
    if (length == constants.end() || length->second > kMostParts) return std::nullopt;
    return std::vector(length->second, composite->words[2]);
  }
  bool is_composite(uint32_t id) const { return is(id, kTypeStruct) || is(id, kTypeArray); }

  std::vector<std::string_view> extensions;
  std::vector<uint32_t> capabilities;
  std::optional<std::array<uint32_t, 3>> workgroup;  // ids of LocalSizeId
  bool has_workgroup_constant = false;
  bool has_wrap_decorations = false;
  std::map<uint32_t, Instruction> types;
  std::map<uint32_t, uint32_t> constants;  // of 32 bits: value
  ById storage_classes;                    // of variables; UniformConstant, which is 0, is in no list that is read
  ById value_types;
};

// ---- writing --------------------------------------------------------------------------------------------------------

class Rewriter {
 public:
  Rewriter(Words module, const Facts& facts, uint32_t version, UniformBlocks blocks)
      : facts_(facts), version_(version), blocks_(blocks), next_id_(module[kBoundWord]) {
    out_.reserve(module.size() + module.size() / 8);
    out_.assign(module.begin(), module.begin() + kHeaderWords);
    out_[kVersionWord] = version;
  }

  Expected<std::vector<uint32_t>> rewrite(const std::vector<Instruction>& instructions) {
    for (const Instruction& one : instructions) {
      begin_section(one.op);
      if (const Done written = write(one); !written) return written.error();
    }
    out_[kBoundWord] = next_id_;
    return std::move(out_);
  }

 private:
  uint32_t new_id() { return next_id_++; }

  void emit(uint32_t op, Words operands) {
    out_.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | op);
    out_.insert(out_.end(), operands.begin(), operands.end());
  }
  void emit(uint32_t op, std::initializer_list<uint32_t> operands) {
    emit(op, Words(operands.begin(), operands.size()));
  }
  void copy(const Instruction& one) { out_.insert(out_.end(), one.words.begin(), one.words.end()); }

  // Instructions to write at the end of a section of the module.
  void begin_section(uint32_t op) {
    if (!has_extensions_ && op != kCapability) {
      has_extensions_ = true;
      add_extensions();
    }
    const bool is_declaration = op >= kFirstType && op <= kVariable && op != kFunction;
    if (!has_decorations_ && is_declaration) {
      has_decorations_ = true;
      decorate_workgroup();
    }
    if (!has_constants_ && op == kFunction) {
      has_constants_ = true;
      add_workgroup_constant();
    }
  }

  void add_extension(std::string_view name) {
    if (std::ranges::count(facts_.extensions, name) || std::ranges::count(added_, name)) return;
    added_.push_back(name);
    std::vector<uint32_t> text(words_of_text(name));
    std::ranges::copy(name, reinterpret_cast<char*>(text.data()));
    emit(kExtension, text);
  }
  void add_extensions() {
    for (const CapabilityRow& row : kCapabilities) {
      if (version_ < row.since && std::ranges::count(facts_.capabilities, row.capability)) add_extension(row.extension);
    }
    if (version_ < kSpirv1_4 && facts_.has_wrap_decorations) add_extension(kWrapExtension);
  }

  bool needs_workgroup_constant() const {
    return version_ < kSpirv1_6 && facts_.workgroup && !facts_.has_workgroup_constant;
  }
  void decorate_workgroup() {
    if (!needs_workgroup_constant()) return;
    workgroup_id_ = new_id();
    emit(kDecorate, {workgroup_id_, kBuiltIn, kWorkgroupSize});
  }
  void add_workgroup_constant() {
    if (!needs_workgroup_constant()) return;
    const auto& [x, y, z] = *facts_.workgroup;
    emit(kSpecConstantComposite, {vector_of(facts_.type_of(x), 3), workgroup_id_, x, y, z});
  }

  // Known or new. Types may be declared anywhere before the first function.
  uint32_t vector_of(uint32_t component, uint32_t count) {
    if (const auto known = facts_.vector_of(component, count)) return *known;
    const uint32_t id = new_id();
    emit(kTypeVector, {id, component, count});
    return id;
  }

  Done write(const Instruction& one) {
    const Words w = one.words;
    if (one.op == kExecutionModeId && w[2] == kLocalSizeId && version_ < kSpirv1_6) {
      emit(kExecutionMode, {w[1], kLocalSize, 1, 1, 1});  // which the constant overrides
      return std::monostate{};
    }
    if (one.op == kTypePointer || one.op == kVariable) {
      write_stored(one, one.op == kTypePointer ? 2 : 3);
      return std::monostate{};
    }
    if (version_ >= kSpirv1_4) {
      copy(one);
      return std::monostate{};
    }
    switch (one.op) {
      case kEntryPoint: write_entry_point(one); break;
      case kDecorate: write_decoration(one); break;
      case kLoopMerge: write_loop(one); break;
      case kImageFetch:
      case kImageRead: write_image_access(one, 5); break;
      case kImageWrite: write_image_access(one, 4); break;
      case kCopyLogical: return rebuild(w[1], w[2], [&](uint32_t type, Words path) { return part(type, w[3], path); });
      case kSelect: return write_select(w);
      case kSpecConstantOp: return write_constant(one);
      case kPtrEqual:
      case kPtrNotEqual:
      case kPtrDiff: return cannot("compares pointers");
      default: copy(one);
    }
    return std::monostate{};
  }

  Error cannot(std::string_view what) const {
    return Error{Error::Kind::unsupported,
                 fmt::format("the module {}, which SPIR-V {}.{} cannot express", what, version_ >> 16 & 0xff,
                             version_ >> 8 & 0xff),
                 "such a kernel needs a driver of Vulkan 1.2"};
  }

  // `storage`: the word of its storage class. A module may have several ids for one type of pointers.
  void write_stored(const Instruction& one, size_t storage) {
    const size_t start = out_.size();
    copy(one);
    if (blocks_ == UniformBlocks::become_storage_buffers && one.words[storage] == kUniform)
      out_[start + storage] = kStorageBuffer;
  }

  // Of the variables that an entry point lists, older versions allow inputs and outputs only.
  void write_entry_point(const Instruction& one) {
    const size_t head = std::min(3 + words_of_text(text_of(one.words.subspan(3))), one.words.size());
    std::vector<uint32_t> operands(one.words.begin() + 1, one.words.begin() + static_cast<ptrdiff_t>(head));
    for (const uint32_t variable : one.words.subspan(head)) {
      const uint32_t storage = facts_.storage_classes.of(variable);
      if (storage == kInput || storage == kOutput) operands.push_back(variable);
    }
    emit(kEntryPoint, operands);
  }

  // NonWritable of variables that are the shader's own is a hint.
  void write_decoration(const Instruction& one) {
    const uint32_t storage = facts_.storage_classes.of(one.words[1]);
    const bool is_own = storage == kPrivate || storage == kFunctionStorage;
    if (one.words[2] != kNonWritable || !is_own) copy(one);
  }

  void write_loop(const Instruction& one) {
    const Words w = one.words;
    if ((w[3] & ~kPlainLoopBits) == 0) return copy(one);
    emit(kLoopMerge, {w[1], w[2], w[3] & kPlainLoopBits});
  }

  // The signedness of the image's format says the same.
  void write_image_access(const Instruction& one, size_t mask_word) {
    const size_t start = out_.size();
    copy(one);
    if (one.words.size() > mask_word) out_[start + mask_word] &= ~kExtensionBits;
  }

  Done write_constant(const Instruction& one) {
    const Words w = one.words;
    if (w[3] == kUConvert) return cannot("widens a specialization constant");
    const bool is_select = w[3] == kSelect && w.size() == 7;
    if (is_select && facts_.is_composite(w[1])) return cannot("selects a struct among specialization constants");
    if (is_select && facts_.is(w[1], kTypeVector) && facts_.is(facts_.type_of(w[4]), kTypeBool))
      return cannot("selects a vector among specialization constants by one condition");
    copy(one);
    return std::monostate{};
  }

  // Older versions select scalars and vectors, and a vector by a condition of each component.
  Done write_select(Words w) {
    const uint32_t type = w[1], result = w[2], condition = w[3], if_true = w[4], if_false = w[5];
    if (!facts_.is_composite(type)) return select(type, result, condition, if_true, if_false);
    Done fits = std::monostate{};
    const Done built = rebuild(type, result, [&](uint32_t part_type, Words path) {
      const uint32_t a = part(part_type, if_true, path), b = part(part_type, if_false, path), id = new_id();
      if (const Done selected = select(part_type, id, condition, a, b); !selected) fits = selected;
      return id;
    });
    return built ? fits : built;
  }
  Done select(uint32_t type, uint32_t result, uint32_t condition, uint32_t if_true, uint32_t if_false) {
    const uint32_t condition_type = facts_.type_of(condition);
    if (facts_.is(type, kTypeVector) && facts_.is(condition_type, kTypeBool)) {
      const uint32_t count = facts_.type(type)->words[3];
      const auto conditions = facts_.vector_of(condition_type, count);
      if (!conditions) return select_components(type, result, condition, if_true, if_false);
      const uint32_t id = new_id();
      std::vector<uint32_t> operands{*conditions, id};
      operands.insert(operands.end(), count, condition);
      emit(kCompositeConstruct, operands);
      condition = id;
    }
    emit(kSelect, {type, result, condition, if_true, if_false});
    return std::monostate{};
  }
  // Where the module has no vector of conditions.
  Done select_components(uint32_t type, uint32_t result, uint32_t condition, uint32_t if_true, uint32_t if_false) {
    const uint32_t component = facts_.type(type)->words[2], count = facts_.type(type)->words[3];
    std::vector<uint32_t> operands{type, result};
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t path[] = {i};
      const uint32_t a = part(component, if_true, path), b = part(component, if_false, path), id = new_id();
      emit(kSelect, {component, id, condition, a, b});
      operands.push_back(id);
    }
    emit(kCompositeConstruct, operands);
    return std::monostate{};
  }

  // An element of `composite`, however deep. Types match there: only structs and arrays have several ids for one type.
  uint32_t part(uint32_t type, uint32_t composite, Words path) {
    const uint32_t id = new_id();
    std::vector<uint32_t> operands{type, id, composite};
    operands.insert(operands.end(), path.begin(), path.end());
    emit(kCompositeExtract, operands);
    return id;
  }

  // `result` of a struct or an array, of what `leaf(type, path)` gives for each part that is neither.
  template <typename Leaf>
  Done rebuild(uint32_t type, uint32_t result, const Leaf& leaf) {
    std::vector<uint32_t> path;
    parts_left_ = kMostParts;
    return construct(type, result, path, leaf) ? Done(std::monostate{}) : Done(cannot("copies a whole struct"));
  }
  template <typename Leaf>
  bool construct(uint32_t type, uint32_t result, std::vector<uint32_t>& path, const Leaf& leaf) {
    const auto parts = facts_.parts(type);
    if (!parts || parts->size() > parts_left_) return false;
    parts_left_ -= static_cast<uint32_t>(parts->size());
    std::vector<uint32_t> operands{type, result};
    for (uint32_t i = 0; i < parts->size(); ++i) {
      const uint32_t of_part = (*parts)[i];
      path.push_back(i);
      uint32_t id = 0;
      if (facts_.is_composite(of_part)) {
        id = new_id();
        if (!construct(of_part, id, path, leaf)) return false;
      } else {
        id = leaf(of_part, path);
      }
      path.pop_back();
      operands.push_back(id);
    }
    emit(kCompositeConstruct, operands);
    return true;
  }

  const Facts& facts_;
  uint32_t version_;
  UniformBlocks blocks_;
  uint32_t next_id_;
  std::vector<uint32_t> out_;
  std::vector<std::string_view> added_;  // extensions
  bool has_extensions_ = false, has_decorations_ = false, has_constants_ = false;
  uint32_t workgroup_id_ = 0;
  uint32_t parts_left_ = 0;
};

}  // namespace

uint32_t spirv_version(uint32_t api_version, FeatureMask needs) {
  constexpr uint32_t kVulkan1_2 = 1U << 22 | 2U << 12, kVulkan1_3 = 1U << 22 | 3U << 12;
  if (api_version >= kVulkan1_3 || api_version == 0) return kSpirv1_6;
  if (api_version >= kVulkan1_2) return kSpirv1_5;
  return (needs & kFeaturesOfSpirv1_4) != 0 ? kSpirv1_4 : kSpirv1_3;
}

Expected<std::vector<uint32_t>> older_spirv(std::span<const uint32_t> module, uint32_t version, UniformBlocks blocks) {
  const auto instructions = instructions_of(module);
  if (!instructions) return instructions.error();
  const uint32_t own = module[kVersionWord];
  if (own <= version && blocks == UniformBlocks::stay) return std::vector(module.begin(), module.end());
  const Facts facts(*instructions, module[kBoundWord]);
  return Rewriter(module, facts, std::min(own, version), blocks).rewrite(*instructions);
}

}  // namespace qgen
