// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/reflect/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <spirv/unified1/spirv.hpp>
#include <tuple>

#include "codegen/reflect/fault.h"

namespace qgen::reflect {
namespace {

// ---- workgroup size -------------------------------------------------------------------------------------------------

// A constant decorated WorkgroupSize overrides the execution modes (SPIR-V 1.6, BuiltIn WorkgroupSize).
std::vector<uint32_t> workgroup_size_ids(const Module& module, const Constants& constants) {
  for (const Instruction& instruction : module.instructions()) {
    if (instruction.opcode != spv::OpDecorate || !Module::has(instruction, 3)) continue;
    if (instruction.operands[1] != spv::DecorationBuiltIn) continue;
    if (instruction.operands[2] != spv::BuiltInWorkgroupSize) continue;
    const auto parts = constants.parts(instruction.operands[0]);
    return {parts.begin(), parts.end()};
  }
  for (const Instruction& instruction : module.instructions()) {
    if (instruction.opcode != spv::OpExecutionModeId || !Module::has(instruction, 2)) continue;
    if (instruction.operands[1] != spv::ExecutionModeLocalSizeId) continue;
    return {instruction.operands.begin() + 2, instruction.operands.end()};
  }
  return {};
}

std::optional<std::array<uint32_t, 3>> literal_workgroup_size(const Module& module) {
  for (const Instruction& instruction : module.instructions()) {
    if (instruction.opcode != spv::OpExecutionMode || !Module::has(instruction, 5)) continue;
    if (instruction.operands[1] != spv::ExecutionModeLocalSize) continue;
    return std::array{instruction.operands[2], instruction.operands[3], instruction.operands[4]};
  }
  return std::nullopt;
}

Result<std::array<uint32_t, 3>> workgroup_size(const Module& module, const Constants& constants) {
  const std::vector<uint32_t> ids = workgroup_size_ids(module, constants);
  if (ids.empty()) {
    const auto literal = literal_workgroup_size(module);
    if (!literal) return fault("the module declares no workgroup size");
    return *literal;
  }
  std::array<uint32_t, 3> size{};
  for (size_t axis = 0; axis < size.size(); ++axis) {
    const auto side = axis < ids.size() ? constants.scalar(ids[axis]) : std::nullopt;
    if (!side) {
      return fault(fmt::format("dimension {} of the workgroup is not integer arithmetic over constants", "xyz"[axis]));
    }
    size[axis] = *side;
  }
  return size;
}

// ---- workgroup memory -----------------------------------------------------------------------------------------------

// Sizes by the rules of std430, which is how Vulkan counts maxComputeSharedMemorySize.
struct TypeLayout {
  uint64_t size_bytes = 0;
  uint64_t alignment = 1;
  bool is_known = false;
};

constexpr uint64_t kLargestSize = std::numeric_limits<uint32_t>::max();

uint64_t align(uint64_t offset, uint64_t alignment) { return (offset + alignment - 1) / alignment * alignment; }

TypeLayout scalar_layout(uint32_t bits) {
  const uint64_t bytes = std::max<uint64_t>(bits / 8, 1);
  return {bytes, bytes, bits <= 64};
}

class Layouts {
 public:
  Layouts(const Module& module, const Constants& constants) : constants_(constants), layouts_(module.id_bound()) {
    for (const Instruction& instruction : module.declarations()) {
      if (instruction.result != 0) layouts_[instruction.result] = layout(instruction);
    }
  }
  TypeLayout of(uint32_t type) const { return type < layouts_.size() ? layouts_[type] : TypeLayout{}; }

 private:
  TypeLayout layout(const Instruction& type) const {
    const Words operands = type.operands;
    switch (type.opcode) {
      case spv::OpTypeBool: return {4, 4, true};
      case spv::OpTypeInt:
      case spv::OpTypeFloat: return operands.empty() ? TypeLayout{} : scalar_layout(operands[0]);
      case spv::OpTypePointer: return {8, 8, true};  // PhysicalStorageBuffer: the only one that memory can hold
      case spv::OpTypeVector: return operands.size() < 2 ? TypeLayout{} : vector_layout(of(operands[0]), operands[1]);
      case spv::OpTypeMatrix: return operands.size() < 2 ? TypeLayout{} : array_layout(of(operands[0]), operands[1]);
      case spv::OpTypeArray: {
        const auto count = operands.size() < 2 ? std::nullopt : constants_.scalar(operands[1]);
        return count ? array_layout(of(operands[0]), *count) : TypeLayout{};
      }
      case spv::OpTypeStruct: return struct_layout(operands);
      default: return {};
    }
  }

  static TypeLayout vector_layout(TypeLayout component, uint64_t count) {
    if (!component.is_known || count > 16) return {};
    return {component.size_bytes * count, component.alignment * (count == 3 ? 4 : count), true};
  }

  static TypeLayout array_layout(TypeLayout element, uint64_t count) {
    const uint64_t stride = align(element.size_bytes, element.alignment);
    if (!element.is_known || (stride != 0 && count > kLargestSize / stride)) return {};
    return {stride * count, element.alignment, true};
  }

  TypeLayout struct_layout(Words members) const {
    TypeLayout whole{0, 1, true};
    for (const uint32_t member : members) {
      const TypeLayout one = of(member);
      if (!one.is_known) return {};
      whole.size_bytes = align(whole.size_bytes, one.alignment) + one.size_bytes;
      whole.alignment = std::max(whole.alignment, one.alignment);
      if (whole.size_bytes > kLargestSize) return {};
    }
    whole.size_bytes = align(whole.size_bytes, whole.alignment);
    return whole;
  }

  const Constants& constants_;
  std::vector<TypeLayout> layouts_;  // by id
};

bool is_block(const Module& module, uint32_t type) {
  return std::ranges::any_of(module.declarations(), [type](const Instruction& instruction) {
    return instruction.opcode == spv::OpDecorate && Module::has(instruction, 2) && instruction.operands[0] == type &&
           instruction.operands[1] == spv::DecorationBlock;
  });
}

// Plain variables follow one another; blocks (SPV_KHR_workgroup_memory_explicit_layout) all start at 0.
Result<uint32_t> shared_bytes(const Module& module, const Constants& constants) {
  const Layouts layouts(module, constants);
  uint64_t end = 0;
  uint64_t largest_block = 0;
  for (const Instruction& variable : module.declarations()) {
    if (variable.opcode != spv::OpVariable || !Module::has(variable, 1)) continue;
    if (variable.operands[0] != spv::StorageClassWorkgroup) continue;
    const Instruction& pointer = module.definition(variable.type);
    const uint32_t type = pointer.opcode == spv::OpTypePointer && Module::has(pointer, 2) ? pointer.operands[1] : 0;
    const TypeLayout layout = layouts.of(type);
    if (!layout.is_known) {
      return fault("the size of a shared variable is not integer arithmetic over constants, or exceeds 4 GiB");
    }
    if (is_block(module, type)) {
      largest_block = std::max(largest_block, layout.size_bytes);
    } else {
      end = align(end, layout.alignment) + layout.size_bytes;
    }
  }
  const uint64_t bytes = std::max(end, largest_block);
  if (bytes > kLargestSize) return fault("the shared variables together exceed 4 GiB");
  return static_cast<uint32_t>(bytes);
}

// ---- cooperative matrices -------------------------------------------------------------------------------------------

constexpr uint32_t kBFloat16 = 0;  // of FP Encoding (SPV_KHR_bfloat16), newer than some headers

struct Matrix {
  uint32_t component = 0;
  uint32_t scope = 0;
  uint32_t rows = 0;
  uint32_t columns = 0;
  uint32_t use = 0;
};

class MatrixReader {
 public:
  MatrixReader(const Module& module, const Constants& constants) : module_(module), constants_(constants) {}

  Result<std::vector<CooperativeMatrixShape>> read() {
    for (const Instruction& instruction : module_.instructions()) {
      if (instruction.opcode == spv::OpCooperativeMatrixMulAddKHR) read_product(instruction);
    }
    for (const Instruction& instruction : module_.instructions()) {
      if (instruction.opcode == spv::OpTypeCooperativeMatrixKHR) read_unmultiplied(instruction);
    }
    if (!errors_.empty()) return errors_;
    const auto order = [](const CooperativeMatrixShape& s) {
      return std::tuple(s.m, s.n, s.k, s.a, s.b, s.c, s.result, s.workgroup_scope);
    };
    std::ranges::sort(shapes_, {}, order);
    shapes_.erase(std::unique(shapes_.begin(), shapes_.end()), shapes_.end());
    return shapes_;
  }

 private:
  void read_product(const Instruction& product) {
    if (!Module::has(product, 3)) return error("a cooperative matrix product lacks an operand");
    const uint32_t types[] = {type_of(product.operands[0]), type_of(product.operands[1]), type_of(product.operands[2]),
                              product.type};
    const uint32_t signs = Module::has(product, 4) ? product.operands[3] : 0;
    const uint32_t sign_bits[] = {spv::CooperativeMatrixOperandsMatrixASignedComponentsKHRMask,
                                  spv::CooperativeMatrixOperandsMatrixBSignedComponentsKHRMask,
                                  spv::CooperativeMatrixOperandsMatrixCSignedComponentsKHRMask,
                                  spv::CooperativeMatrixOperandsMatrixResultSignedComponentsKHRMask};
    std::array<Matrix, 4> matrices;
    std::array<DType, 4> dtypes{};
    for (size_t i = 0; i < 4; ++i) {
      const auto matrix = matrix_of(types[i]);
      const auto dtype = matrix ? component(matrix->component, (signs & sign_bits[i]) != 0) : std::nullopt;
      if (!dtype) return;
      matrices[i] = *matrix;
      dtypes[i] = *dtype;
      multiplied_.push_back(types[i]);
    }
    add(matrices[3].rows, matrices[3].columns, matrices[0].columns, dtypes, matrices[3].scope);
  }

  void read_unmultiplied(const Instruction& type) {
    if (std::ranges::find(multiplied_, type.result) != multiplied_.end()) return;
    const auto matrix = matrix_of(type.result);
    const auto dtype = matrix ? component(matrix->component, is_signed(matrix->component)) : std::nullopt;
    if (!dtype) return;
    const std::array<DType, 4> dtypes{*dtype, *dtype, *dtype, *dtype};
    switch (matrix->use) {
      case spv::CooperativeMatrixUseMatrixAKHR: return add(matrix->rows, 0, matrix->columns, dtypes, matrix->scope);
      case spv::CooperativeMatrixUseMatrixBKHR: return add(0, matrix->columns, matrix->rows, dtypes, matrix->scope);
      case spv::CooperativeMatrixUseMatrixAccumulatorKHR:
        return add(matrix->rows, matrix->columns, 0, dtypes, matrix->scope);
      default: return error(fmt::format("a cooperative matrix has the unknown use {}", matrix->use));
    }
  }

  void add(uint32_t m, uint32_t n, uint32_t k, const std::array<DType, 4>& dtypes, uint32_t scope) {
    if (scope != spv::ScopeSubgroup && scope != spv::ScopeWorkgroup) {
      return error(fmt::format("a cooperative matrix has scope {}", scope));
    }
    const auto side = [](uint32_t s) { return static_cast<uint16_t>(s); };  // matrix_of() checked the range
    shapes_.push_back(
        {side(m), side(n), side(k), dtypes[0], dtypes[1], dtypes[2], dtypes[3], scope == spv::ScopeWorkgroup});
  }

  uint32_t type_of(uint32_t id) const { return module_.definition(id).type; }

  std::optional<Matrix> matrix_of(uint32_t id) {
    const Instruction& type = module_.definition(id);
    if (type.opcode != spv::OpTypeCooperativeMatrixKHR || !Module::has(type, 5)) {
      error("a cooperative matrix product has an operand that is no cooperative matrix");
      return std::nullopt;
    }
    const Words operands = type.operands;
    std::array<uint32_t, 4> numbers{};
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto number = constants_.scalar(operands[i + 1]);
      if (!number || *number > std::numeric_limits<uint16_t>::max()) {
        error("a dimension of a cooperative matrix is not integer arithmetic over constants, or not below 65536");
        return std::nullopt;
      }
      numbers[i] = *number;
    }
    return Matrix{operands[0], numbers[0], numbers[1], numbers[2], numbers[3]};
  }

  bool is_signed(uint32_t type) const {
    const Instruction& definition = module_.definition(type);
    return definition.opcode == spv::OpTypeInt && Module::has(definition, 2) && definition.operands[1] != 0;
  }

  // Signedness is of the operation, not of the type (SPV_KHR_cooperative_matrix, Cooperative Matrix Operands).
  std::optional<DType> component(uint32_t type, bool is_signed_operand) {
    const Instruction& definition = module_.definition(type);
    const uint32_t bits = Module::has(definition, 1) ? definition.operands[0] : 0;
    if (definition.opcode == spv::OpTypeFloat) {
      const bool is_bfloat = Module::has(definition, 2) && definition.operands[1] == kBFloat16;
      if (bits == 32) return DType::f32;
      if (bits == 16) return is_bfloat ? DType::bf16 : DType::f16;
    }
    if (definition.opcode == spv::OpTypeInt) {
      if (bits == 8) return is_signed_operand ? DType::i8 : DType::u8;
      if (bits == 16) return is_signed_operand ? DType::i16 : DType::u16;
      if (bits == 32) return is_signed_operand ? DType::i32 : DType::u32;
    }
    error(fmt::format("a cooperative matrix has components of {} bits that qgen has no dtype for", bits));
    return std::nullopt;
  }

  void error(std::string message) { append(errors_, fault(std::move(message))); }

  const Module& module_;
  const Constants& constants_;
  std::vector<uint32_t> multiplied_;
  std::vector<CooperativeMatrixShape> shapes_;
  Diagnostics errors_;
};

}  // namespace

Result<Resources> resources_of(const Module& module, const Constants& constants) {
  const auto workgroup = workgroup_size(module, constants);
  if (!workgroup) return workgroup.error();
  const auto bytes = shared_bytes(module, constants);
  if (!bytes) return bytes.error();
  auto matrices = MatrixReader(module, constants).read();
  if (!matrices) return matrices.error();
  return Resources{*workgroup, *bytes, std::move(*matrices)};
}

}  // namespace qgen::reflect
