// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The kernels that a model launches, as a library of their own, and what each of its steps launches of them. So a
// compiled model runs where the program's library lacks these kernels, or has other versions of them.
//
//   auto own = OwnKernels::of(schedule->steps, library);           // their modules and tables, and no others
//   Executor executor = *Executor::create(device, (*own)->library(), {});
//   (*own)->choices()[3]                                           // of step 3, of that library
//
// What is chosen already needs little of what generated tables say: how a module is bound, its specialization, and the
// forms of its operands. So each kernel is an operator here, with one kernel and one specialization. Its conditions,
// grid and cost are left behind: what they came to is in the choices. select() finds nothing among them that it may
// choose.
#pragma once

#include <memory>
#include <span>

#include "runtime/selector/select.h"

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
  // Nothing in the parts is trusted, but what a module does: that is code, as a program is. Errors: parts that do not
  // hold together, a damaged blob or module.
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

// What a step's choice runs: the digest of its module, or of those of a recipe's launches. digest_of() gives the same.
uint64_t digest_of(const Choice& choice, const KernelLibrary& library);

}  // namespace qgen::graph
