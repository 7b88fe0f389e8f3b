// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Bindings, push constants and specialization constants are SPIRV-Cross's answers about the module's stub (stub.h);
// capabilities, workgroup memory and cooperative matrices are read from the words.
//
// SPIRV-Cross does not check its input, so the stub first goes through the validator, which refuses damaged words.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <spirv-tools/libspirv.hpp>
#define SPV_ENABLE_UTILITY_CODE
#include <spirv/unified1/spirv.hpp>
#include <spirv_cross/spirv_cross.hpp>

#include "codegen/reflect/access.h"
#include "codegen/reflect/fault.h"
#include "codegen/reflect/interface.h"
#include "codegen/reflect/module.h"
#include "codegen/reflect/resources.h"
#include "codegen/reflect/stub.h"
#include "vocabulary/features.h"

namespace qgen::reflect {
namespace {

// ---- capabilities ---------------------------------------------------------------------------------------------------

// Some needs have no capability: they are seen in the instructions.

// Of a scalar or a vector; 0: of neither.
uint32_t width_of(const Module& module, uint32_t type) {
  const Instruction& definition = module.definition(type);
  if (!Module::has(definition, 1)) return 0;
  if (definition.opcode == spv::OpTypeVector) return width_of(module, definition.operands[0]);
  const bool is_number = definition.opcode == spv::OpTypeInt || definition.opcode == spv::OpTypeFloat;
  return is_number ? definition.operands[0] : 0;
}

bool has_extended_type(const Module& module, const Instruction& instruction) {
  const auto is_extended = [&](uint32_t type) {
    const uint32_t width = width_of(module, type);
    return width != 0 && width != 32;
  };
  const bool is_vote = instruction.opcode == spv::OpGroupNonUniformAllEqual && Module::has(instruction, 2);
  return is_extended(is_vote ? module.definition(instruction.operands[1]).type : instruction.type);
}

bool is_of_subgroup(uint32_t opcode) {
  return (opcode >= spv::OpGroupNonUniformElect && opcode <= spv::OpGroupNonUniformQuadSwap) ||
         opcode == spv::OpGroupNonUniformRotateKHR;
}

FeatureMask unannounced_needs(const Module& module) {
  FeatureMask needs = 0;
  for (const Instruction& instruction : module.instructions()) {
    if (is_of_subgroup(instruction.opcode) && has_extended_type(module, instruction))
      needs |= bit(Feature::subgroup_extended_types);
  }
  return needs;
}

Result<FeatureMask> needs_of(const Module& module) {
  FeatureMask needs = unannounced_needs(module);
  Diagnostics errors;
  for (const Instruction& instruction : module.instructions()) {
    if (instruction.opcode != spv::OpCapability || !Module::has(instruction, 1)) continue;
    const uint32_t capability = instruction.operands[0];
    const CapabilityNeed need = need_of_capability(capability);
    if (need.feature) {
      needs |= bit(*need.feature);
    } else if (!need.is_always_there) {
      append(errors, fault(fmt::format("the module needs the SPIR-V capability {} ({}), which qgen does not know as "
                                       "a feature",
                                       spv::CapabilityToString(static_cast<spv::Capability>(capability)), capability),
                           "avoid it, or add a row to vocabulary/feature_rows.inc"));
    }
  }
  if (!errors.empty()) return errors;
  return needs;
}

// ---- what SPIRV-Cross says ------------------------------------------------------------------------------------------

using spirv_cross::Compiler;
using spirv_cross::SPIRType;

Member::Kind kind_of(const SPIRType& type) {
  if (type.vecsize != 1 || type.columns != 1) return Member::Kind::other;
  switch (type.basetype) {
    case SPIRType::UInt: return Member::Kind::u32;
    case SPIRType::Int: return Member::Kind::i32;
    case SPIRType::Float: return Member::Kind::f32;
    default: return Member::Kind::other;
  }
}

Member member_of(const Compiler& compiler, const SPIRType& block, uint32_t index) {
  const SPIRType& type = compiler.get_type(block.member_types[index]);
  Member member;
  member.name = compiler.get_member_name(block.self, index);
  member.offset = compiler.type_struct_member_offset(block, index);
  member.size_bytes = static_cast<uint32_t>(compiler.get_declared_struct_member_size(block, index));
  member.kind = type.array.size() > 1 ? Member::Kind::other : kind_of(type);
  if (type.array.size() == 1) member.count = type.array[0];
  return member;
}

bool has_fixed_size(const Compiler& compiler, const SPIRType& block) {
  return std::ranges::all_of(block.member_types, [&](uint32_t id) {
    const SPIRType& type = compiler.get_type(id);
    const auto is_literal = [](bool literal) { return literal; };
    return std::ranges::all_of(type.array_size_literal, is_literal) &&
           std::ranges::none_of(type.array, [](uint32_t side) { return side == 0; });
  });
}

std::vector<Member> members_of(const Compiler& compiler, const SPIRType& block) {
  std::vector<Member> members;
  if (!has_fixed_size(compiler, block)) return members;
  for (uint32_t i = 0; i < block.member_types.size(); ++i) members.push_back(member_of(compiler, block, i));
  return members;
}

// readonly and writeonly decide it; without them, the instructions do. Both at once are a query of the size.
Access access_of(const spirv_cross::Bitset& decorations, Use use) {
  const bool may_read = !decorations.get(spv::DecorationNonReadable);
  const bool may_write = !decorations.get(spv::DecorationNonWritable);
  if (!may_write) return Access::read;
  if (!may_read) return Access::write;
  if (use.is_read == use.is_written) return Access::read_write;
  return use.is_read ? Access::read : Access::write;
}

class InterfaceReader {
 public:
  InterfaceReader(const Compiler& compiler, const std::vector<Use>& uses) : compiler_(compiler), uses_(uses) {}

  Result<Interface> read() {
    const auto entry_points = compiler_.get_entry_points_and_stages();
    if (entry_points.size() != 1 || entry_points[0].execution_model != spv::ExecutionModelGLCompute) {
      return fault("the module does not have exactly one compute entry point");
    }
    const spirv_cross::ShaderResources resources = compiler_.get_shader_resources();
    for (const auto& buffer : resources.storage_buffers) add_buffer(buffer, BindingKind::storage_buffer);
    for (const auto& buffer : resources.uniform_buffers) add_buffer(buffer, BindingKind::uniform_buffer);
    for (const auto& image : resources.storage_images) add_image(image);
    for (const auto& block : resources.push_constant_buffers) add_push_constants(block);
    refuse(resources.sampled_images, "a combined image and sampler");
    refuse(resources.separate_images, "a sampled image");
    refuse(resources.separate_samplers, "a sampler");
    refuse(resources.acceleration_structures, "an acceleration structure");
    refuse(resources.subpass_inputs, "a subpass input");
    add_specialization();
    if (!errors_.empty()) return errors_;
    std::ranges::stable_sort(interface_.bindings, {}, [](const Binding& b) { return std::pair(b.set, b.binding); });
    join_views();
    if (!errors_.empty()) return errors_;
    return std::move(interface_);
  }

 private:
  using Resource = spirv_cross::Resource;

  Binding place_of(const Resource& resource, BindingKind kind) const {
    Binding binding;
    binding.set = compiler_.get_decoration(resource.id, spv::DecorationDescriptorSet);
    binding.binding = compiler_.get_decoration(resource.id, spv::DecorationBinding);
    binding.kind = kind;
    binding.name = resource.name;
    return binding;
  }

  void add_buffer(const Resource& resource, BindingKind kind) {
    if (refuse_array(resource)) return;
    Binding binding = place_of(resource, kind);
    binding.access = kind == BindingKind::uniform_buffer
                         ? Access::read
                         : access_of(compiler_.get_buffer_block_flags(resource.id), uses_[resource.id]);
    binding.is_aliased = compiler_.has_decoration(resource.id, spv::DecorationAliased);
    binding.members = members_of(compiler_, compiler_.get_type(resource.base_type_id));
    interface_.bindings.push_back(std::move(binding));
  }

  void add_image(const Resource& resource) {
    if (refuse_array(resource)) return;
    if (compiler_.get_type(resource.base_type_id).image.dim == spv::DimBuffer) {
      return error(resource, "a texel buffer");
    }
    Binding binding = place_of(resource, BindingKind::storage_image);
    binding.access = access_of(compiler_.get_decoration_bitset(resource.id), uses_[resource.id]);
    interface_.bindings.push_back(std::move(binding));
  }

  // A kernel may see one buffer as two types, words and single elements: two variables, one binding. The access of both
  // is the binding's.
  void join_views() {
    std::vector<Binding> joined;
    for (Binding& view : interface_.bindings) {
      if (joined.empty() || joined.back().set != view.set || joined.back().binding != view.binding) {
        joined.push_back(std::move(view));
        continue;
      }
      Binding& first = joined.back();
      if (first.kind != view.kind) {
        append(errors_, fault(fmt::format("'{}' and '{}' share binding {}, but are of different kinds", first.name,
                                          view.name, view.binding)));
      }
      first.is_aliased &= view.is_aliased;
      if (first.access != view.access) first.access = Access::read_write;
    }
    interface_.bindings = std::move(joined);
  }

  void add_push_constants(const Resource& resource) {
    const SPIRType& block = compiler_.get_type(resource.base_type_id);
    interface_.push_constants = members_of(compiler_, block);
    interface_.push_constants_bytes = static_cast<uint32_t>(compiler_.get_declared_struct_size(block));
  }

  // If the workgroup's size is specialized, glslang adds a constant without a name. The module's author knows one
  // constant per id.
  void add_specialization() {
    std::map<uint32_t, SpecializationConstant> by_id;
    for (const auto& constant : compiler_.get_specialization_constants()) {
      SpecializationConstant& known = by_id[constant.constant_id];
      if (!known.name.empty()) continue;
      known = {compiler_.get_name(constant.id), constant.constant_id, compiler_.get_constant(constant.id).scalar()};
    }
    for (auto& [id, constant] : by_id) interface_.specialization.push_back(std::move(constant));
  }

  bool refuse_array(const Resource& resource) {
    if (compiler_.get_type(resource.type_id).array.empty()) return false;
    error(resource, "an array of bindings");
    return true;
  }

  void refuse(const spirv_cross::SmallVector<Resource>& resources, std::string_view what) {
    for (const Resource& resource : resources) error(resource, what);
  }

  void error(const Resource& resource, std::string_view what) {
    append(errors_, fault(fmt::format("'{}' is {}, which qgen cannot bind", resource.name, what),
                          "use storage buffers, storage images or uniform buffers"));
  }

  const Compiler& compiler_;
  const std::vector<Use>& uses_;
  Interface interface_;
  Diagnostics errors_;
};

// ---- the door -------------------------------------------------------------------------------------------------------

std::optional<Diagnostics> check(const std::vector<uint32_t>& stub) {
  std::string reason;
  spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_3);
  tools.SetMessageConsumer([&reason](spv_message_level_t level, const char*, const spv_position_t&, const char* text) {
    if (level <= SPV_MSG_ERROR && reason.empty())
      reason = std::string_view(text).substr(0, std::string_view(text).find('\n'));
  });
  spvtools::ValidatorOptions options;
  options.SetAllowLocalSizeId(true);  // as compile() does, and
  options.SetUniformBufferStandardLayout(true);
  if (tools.Validate(stub.data(), stub.size(), options)) return std::nullopt;
  return fault(fmt::format("the SPIR-V is damaged: {}", reason));
}

Result<Interface> read_with_spirv_cross(const Module& module) {
  std::vector<uint32_t> stub = interface_stub(module);
  if (auto damage = check(stub)) return *damage;
  try {
    const Compiler compiler(std::move(stub));
    return InterfaceReader(compiler, uses_of_variables(module)).read();
  } catch (const std::exception& exception) {
    return fault(fmt::format("SPIRV-Cross cannot read the module: {}", exception.what()));
  }
}

}  // namespace

Result<Interface> reflect(std::span<const uint32_t> spirv) {
  const auto module = Module::read(spirv);
  if (!module) return module.error();
  auto interface = read_with_spirv_cross(*module);
  if (!interface) return interface;

  const Constants constants(*module, {});
  Diagnostics errors;
  const auto take = [&errors](auto result, auto& into) {
    if (result) into = std::move(*result);
    else append(errors, result.error());
  };
  take(needs_of(*module), interface->needs);
  take(resources_of(*module, constants), interface->defaults);
  if (!errors.empty()) return errors;
  return interface;
}

Result<Resources> resources_with(std::span<const uint32_t> spirv, std::span<const uint32_t> ids,
                                 std::span<const uint32_t> values) {
  const auto module = Module::read(spirv);
  if (!module) return module.error();
  return resources_of(*module, Constants(*module, {ids, values}));
}

Result<std::vector<Resources>> resources_of_rows(std::span<const uint32_t> spirv,
                                                 std::span<const std::vector<uint32_t>> rows) {
  const auto module = Module::read(spirv);
  if (!module) return module.error();
  std::vector<uint32_t> ids(rows.empty() ? 0 : rows.front().size());
  std::iota(ids.begin(), ids.end(), 0u);
  std::vector<Resources> all;
  for (const auto& row : rows) {
    auto resources = resources_of(*module, Constants(*module, {ids, row}));
    if (!resources) return resources.error();
    all.push_back(*std::move(resources));
  }
  return all;
}

}  // namespace qgen::reflect
