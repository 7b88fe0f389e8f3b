// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/reflect/access.h"

#include <spirv/unified1/spirv.hpp>

namespace qgen::reflect {
namespace {

class UseFinder {
 public:
  explicit UseFinder(const Module& module) : module_(module), roots_(module.id_bound()), uses_(module.id_bound()) {}

  std::vector<Use> find() {
    for (const Instruction& instruction : module_.instructions()) look_at(instruction);
    return std::move(uses_);
  }

 private:
  // The variable that a pointer, or an image loaded from one, belongs to; 0: none.
  uint32_t root(uint32_t id) const { return id < roots_.size() ? roots_[id] : 0; }

  void note(uint32_t id, bool is_read, bool is_written) {
    Use& use = uses_[root(id)];  // uses_[0] collects ids without a root, and is never read
    use.is_read |= is_read;
    use.is_written |= is_written;
  }

  void follow(const Instruction& instruction) { roots_[instruction.result] = root(instruction.operands[0]); }

  void look_at(const Instruction& instruction) {
    if (instruction.opcode == spv::OpVariable) roots_[instruction.result] = instruction.result;
    if (!Module::has(instruction, 1)) return;
    const uint32_t first = instruction.operands[0];
    switch (instruction.opcode) {
      case spv::OpAccessChain:
      case spv::OpInBoundsAccessChain:
      case spv::OpPtrAccessChain:
      case spv::OpInBoundsPtrAccessChain:
      case spv::OpCopyObject: follow(instruction); break;
      case spv::OpLoad:
        follow(instruction);
        note(first, !is_image(instruction.type), false);
        break;
      case spv::OpImageRead:
      case spv::OpImageFetch:
      case spv::OpAtomicLoad:
      case spv::OpCooperativeMatrixLoadKHR:
      case spv::OpCooperativeMatrixLoadTensorNV: note(first, true, false); break;
      case spv::OpStore:
      case spv::OpImageWrite:
      case spv::OpAtomicStore:
      case spv::OpCooperativeMatrixStoreKHR:
      case spv::OpCooperativeMatrixStoreTensorNV: note(first, false, true); break;
      case spv::OpCopyMemory:
        note(first, false, true);
        if (Module::has(instruction, 2)) note(instruction.operands[1], true, false);
        break;
      case spv::OpImageTexelPointer:  // only atomics take one
      case spv::OpAtomicExchange:
      case spv::OpAtomicCompareExchange:
      case spv::OpAtomicIIncrement:
      case spv::OpAtomicIDecrement:
      case spv::OpAtomicIAdd:
      case spv::OpAtomicISub:
      case spv::OpAtomicSMin:
      case spv::OpAtomicUMin:
      case spv::OpAtomicSMax:
      case spv::OpAtomicUMax:
      case spv::OpAtomicAnd:
      case spv::OpAtomicOr:
      case spv::OpAtomicXor:
      case spv::OpAtomicFAddEXT:
      case spv::OpAtomicFMinEXT:
      case spv::OpAtomicFMaxEXT: note(first, true, true); break;
      case spv::OpFunctionCall:
      case spv::OpPhi:
      case spv::OpSelect:
        for (const uint32_t operand : instruction.operands) note(operand, true, true);
        break;
      default: break;
    }
  }

  bool is_image(uint32_t type) const { return module_.definition(type).opcode == spv::OpTypeImage; }

  const Module& module_;
  std::vector<uint32_t> roots_;
  std::vector<Use> uses_;
};

}  // namespace

std::vector<Use> uses_of_variables(const Module& module) { return UseFinder(module).find(); }

}  // namespace qgen::reflect
