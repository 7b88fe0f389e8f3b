// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A weight matrix and the packed forms that kernels read. The forms are Layouts; each is made when a kernel that reads it is
// first run, and kept. Two layers that share a matrix (an embedding and its head) share one Weight and so its forms.
//
//   Weight weight = *Weight::create(codes);             // [N, K] integers, in host memory
//   const DeviceTensor* packed = *weight.form(executor, Layout::...);
#pragma once

#include <map>

#include "runtime/dispatch/executor.h"

namespace qgen {

class Weight {
 public:
  // `source`: the matrix as its author has it, row-major [N, K].
  explicit Weight(HostTensor source) : source_(std::move(source)) {}

  const HostTensor& source() const { return source_; }
  // The matrix in one form, made and uploaded on the first call. It belongs to the Executor of that call.
  Expected<const DeviceTensor*> form(Executor& executor, Layout layout);

 private:
  HostTensor source_;
  std::map<Layout, DeviceTensor> forms_;
};

}  // namespace qgen
