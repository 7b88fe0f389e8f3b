// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Kernels that were compiled for one chain each. They join a library that has the operator `pointwise`, whose own
// kernels interpret any chain. select() then ranks both, and everything else treats them as any kernel:
//
//   const auto kernels = ChainKernels::create(generated::library(), chains, blob);
//   const auto library = KernelLibrary::open((*kernels)->library());
//   // pointwise.f32.f32/workgroup256, pointwise.f32.f32.chain_0123456789abcdef/workgroup256
//
// Such a kernel has the interface of the kernel that interprets chains of its dtypes, and reads a part of it. Its
// estimate is that kernel's, with cheaper steps.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "runtime/engine/library/kernel_info.h"
#include "runtime/engine/operators/pointwise/chain_glsl.h"

namespace qgen::chains {

// "pointwise.f32.f32.chain_0123456789abcdef"
std::string kernel_id(const TypedChain& chain);

class ChainKernels {
 public:
  // `library` must outlive it. `blob` has the module of each chain, in their order. Errors: a library without
  // `pointwise` or without a kernel of these dtypes, a chain that is given twice, a blob with another number of
  // modules.
  static Expected<std::shared_ptr<const ChainKernels>> create(const LibraryInfo& library,
                                                              std::vector<TypedChain> chains,
                                                              std::span<const std::byte> blob);

  // `library` with the kernels.
  const LibraryInfo& library() const { return library_; }
  std::span<const TypedChain> chains() const { return chains_; }

  ChainKernels(const ChainKernels&) = delete;
  ChainKernels& operator=(const ChainKernels&) = delete;
  ~ChainKernels();

 private:
  struct Row;
  ChainKernels(const LibraryInfo& library, const OperatorInfo& interpreter, std::vector<TypedChain> chains,
               std::vector<std::byte> blob, uint32_t first_module);
  void add(const KernelInfo& interpreter, const TypedChain* chain, uint32_t module);

  std::vector<TypedChain> chains_;
  std::vector<std::byte> blob_;
  std::deque<std::string> ids_;
  std::vector<std::unique_ptr<Row>> rows_;
  std::vector<KernelInfo> kernels_;
  std::vector<ConditionInfo> conditions_;
  OperatorInfo op_;
  std::vector<const OperatorInfo*> operators_;
  LibraryInfo library_;
};

}  // namespace qgen::chains
