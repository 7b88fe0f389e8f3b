// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The kernels that a model launches, as a separate library, and the launches of each step. So a compiled model runs
// even if the program's library lacks these kernels, or has other versions of them.
//
//   auto own = OwnKernels::of(schedule->steps, library);           // their modules and tables, and no others
//   Executor executor = *Executor::create(device, (*own)->library(), {});
//   (*own)->choices()[3]                                           // of step 3, of that library
//
// A kernel that is already chosen needs only a part of the generated tables: its bindings, its specialization, and the
// formats of its operands. So each kernel is an operator here, with one kernel and one specialization. Conditions,
// grids and costs are left out, since the choices contain their results. select() finds nothing to choose in this
// library.
#pragma once

#include <memory>
#include <span>

#include "runtime/engine/selector/select.h"

namespace qgen::graph {

struct Step;  // schedule.h

class OwnKernels {
 public:
  struct Operand {
    std::string name;
    Access access = Access::read;
    bool is_optional = false;
    uint32_t in_place = 0;  // OperandInfo::in_place
    OperandForm form{};
  };
  struct Kernel {
    std::string id;
    std::vector<Operand> operands;
    std::vector<BindingInfo> bindings;
    std::vector<BlockField> push_constants, problem_buffer;
    uint16_t push_constants_bytes = 0, problem_buffer_bytes = 0;
    std::vector<SpecializationSlot> slots;
    std::vector<uint32_t> specialization;
    FeatureMask needs = 0;
    std::array<uint32_t, 3> workgroup{};
    uint8_t required_subgroup_size = 0;
    uint32_t module = 0;  // of the blob
  };
  struct Scratch {
    std::string name;
    DType dtype = DType::f32;
    uint64_t elements = 0;
  };
  struct OwnLaunch {
    uint32_t kernel = 0;  // of Parts::kernels
    std::array<uint64_t, 3> groups{};
    std::vector<std::byte> problem;
    std::vector<OperandSource> operands;
    uint8_t indirect = kAbsent;  // Launch::indirect
  };
  struct OwnChoice {
    std::string id;
    bool is_recipe = false;
    std::vector<Scratch> scratch;
    std::vector<OwnLaunch> launches;
  };
  struct Parts {
    std::vector<Kernel> kernels;
    std::vector<OwnChoice> choices;  // by step
    std::string blob;                // blob_format.h
  };

  // Errors: a module that the library's blob does not give.
  static Expected<std::shared_ptr<const OwnKernels>> of(std::span<const Step> steps, const KernelLibrary& library);
  // The parts are checked, except for the code of modules, which must be trusted like a program. Errors: inconsistent
  // parts, a damaged blob or module.
  static Expected<std::shared_ptr<const OwnKernels>> create(Parts parts);

  const Parts& parts() const { return parts_; }
  const KernelLibrary& library() const { return *library_; }
  // By step; without Choice::problem, which is the caller's to say.
  std::span<const Choice> choices() const { return choices_; }

  OwnKernels(const OwnKernels&) = delete;
  OwnKernels& operator=(const OwnKernels&) = delete;
  ~OwnKernels();

 private:
  struct Table;
  explicit OwnKernels(Parts parts);

  Parts parts_;
  std::vector<std::unique_ptr<Table>> tables_;  // of the kernels; they refer to parts_
  std::vector<const OperatorInfo*> operators_;
  std::vector<std::unique_ptr<RecipeInfo>> recipes_;
  std::vector<std::vector<ScratchInfo>> scratch_;
  std::vector<Choice> choices_;
  std::optional<KernelLibrary> library_;
};

// The digest of a choice's module, or of the modules of a recipe's launches. Equal to digest_of().
uint64_t digest_of(const Choice& choice, const KernelLibrary& library);

}  // namespace qgen::graph
