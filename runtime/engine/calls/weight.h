// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A weight matrix and its packed forms (runtime/engine/tensor/weight_form.h). A form is packed when a kernel that reads
// it is first chosen, and kept. Layers with the same matrix share one Weight, such as an embedding and its head.
//
//   Weight weight = *Weight::create(codes, {});                        // [N, K] or [N, C, H, W] of i8, in host memory
//   const DeviceTensor* packed = *weight.form(executor, Layout::weight_q8_rows);
//
// packed() returns a form as a value to save, and create() accepts a loaded one, so that nothing is packed again.
// create() also accepts a form that was made on the device, as by quantize_q4gsw(). The host does not know such a
// weight. If a second form is needed, or sums, the first form is downloaded once.
//
// Forms need device memory: `max_form_bytes` limits the bytes of all of them. layouts() lists for select() which forms
// exist, and which may still be packed. Beyond the limit, it chooses a kernel that reads an existing form.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "runtime/engine/dispatch/executor.h"
#include "runtime/engine/tensor/packed_weight.h"

namespace qgen {

struct WeightOptions {
  uint64_t max_form_bytes = std::numeric_limits<uint64_t>::max();
  // Of each row, or one for all; none: 0. Kernels take 0 only, and others are refused rather than dropped.
  std::span<const int32_t> zero_points = {};
};

// That each element is from -8 to 7. Of data that check_host_tensor() allows.
bool fits_four_bits(const HostTensor& weight);
// bit(Layout) of each form that a matrix can have.
uint32_t weight_layouts(bool fits_four_bits);

// From [C, N / groups, taps] to [N, C / groups, taps], group by group: what Weight::turned() is made of. `groups` divides
// the first side.
HostTensor turned_weight(const HostTensor& source, int64_t groups);

// All that is on the device of a weight, to be put there again: nothing is packed or added up twice.
struct SavedWeight {
  Shape shape;
  bool fits_four_bits = false;
  std::vector<PackedWeight> forms;
  std::map<int64_t, HostTensor> sums;     // by run
  std::map<int64_t, SavedWeight> turned;  // by groups
};

class Weight {
 public:
  // Errors: the source is no weight or lacks some of it, a zero point is not 0, not one form fits the bound.
  static Expected<Weight> create(HostTensor source, const WeightOptions& options);
  // Of a form that was saved. Errors: the errors of unpack() too.
  static Expected<Weight> create(PackedWeight packed, const WeightOptions& options);
  // Each form goes to the device at its first request. Errors: none is there, a form or sums of another size.
  static Expected<Weight> create(SavedWeight saved);
  // Of a form on the device. Errors: the errors of keep() too.
  static Expected<Weight> create(DeviceTensor form, const WeightOptions& options);

  bool is_moved_from() const { return shape_.empty(); }
  const Shape& shape() const { return shape_; }
  int64_t n() const { return is_moved_from() ? 0 : shape_[0]; }
  int64_t k() const { return is_moved_from() ? 0 : matrix_of(shape_).k(); }
  // Each element is known to be from -8 to 7: there are forms of four bits too.
  bool fits_four_bits() const { return fits_four_bits_; }

  // bit(Layout) of each form that is there or fits the bound.
  uint32_t layouts() const;
  uint64_t form_bytes() const { return form_bytes_; }

  // The matrix in one form, made and uploaded on the first call. It belongs to the Executor of that call, as do sums;
  // another refuses it.
  // Errors: no form of this matrix, past the bound, out of memory.
  Expected<const DeviceTensor*> form(Executor& executor, Layout layout);
  // A form that was made elsewhere, as by pack_weight() on the device, takes the place of the one that form() would
  // make. Errors: the tensor is no form of a matrix of this shape, past the bound.
  Done keep(DeviceTensor form);
  // The forms that were requested so far.
  Expected<SavedWeight> saved(Executor& executor) const;
  // The matrix in one form, to save.
  Expected<PackedWeight> packed(Executor& executor, Layout layout);
  // A transposed convolution's weight [C, N / groups, H, W], as [N, C / groups, H, W]: made once. Errors: no weight of
  // so many groups, and the errors of downloading.
  Expected<Weight*> turned(Executor& executor, int64_t groups);
  // Frees the host's matrix if a form of it is on the device. At a later request it is downloaded from there.
  void release_source();
  // The sum of each row, i32 [N]; or of each `run` neighbours in a row, of the shape that run_sums_shape() says.
  Expected<const DeviceTensor*> sums(Executor& executor) { return sums(executor, k()); }
  Expected<const DeviceTensor*> sums(Executor& executor, int64_t run);

 private:
  Weight(Shape shape, bool fits_four_bits, uint64_t max_form_bytes)
      : shape_(std::move(shape)), fits_four_bits_(fits_four_bits), max_form_bytes_(max_form_bytes) {}
  Done check_is_here() const;
  Expected<DeviceTensor> packed_on_device(Executor& executor, Layout layout);
  Expected<const WeightForm*> affordable(Layout layout) const;
  Expected<const HostTensor*> source(Executor& executor);

  Shape shape_;
  std::optional<HostTensor> source_;  // nullopt: it is on the device alone
  bool fits_four_bits_;
  uint64_t max_form_bytes_;
  uint64_t form_bytes_ = 0;                // of forms_
  std::map<Layout, PackedWeight> loaded_;  // until they are uploaded
  std::map<int64_t, HostTensor> loaded_sums_;
  std::map<Layout, DeviceTensor> forms_;
  std::map<int64_t, DeviceTensor> sums_;               // by run
  std::map<int64_t, std::unique_ptr<Weight>> turned_;  // by groups
};

}  // namespace qgen
