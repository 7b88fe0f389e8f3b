// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/calls/weight.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/engine/tensor/weight_form.h"

namespace qgen {
namespace {

Done check_zero_points(std::span<const int32_t> zero_points) {
  const auto nonzero = std::ranges::find_if(zero_points, [](int32_t z) { return z != 0; });
  if (nonzero == zero_points.end()) return std::monostate{};
  return refused(fmt::format("weight zero point [{}] is {}, and kernels take symmetric weights",
                             nonzero - zero_points.begin(), *nonzero),
                 "quantize the weight with zero point 0");
}

uint64_t bytes_of(const WeightForm& form, const Shape& shape) {
  return static_cast<uint64_t>(packed_bytes(form, shape));
}

}  // namespace

bool fits_four_bits(const HostTensor& weight) {
  return std::ranges::all_of(weight.as<int8_t>(), [](int8_t w) { return w >= -8 && w <= 7; });
}

uint32_t weight_layouts(bool has_four_bits) {
  uint32_t mask = 0;
  for (const WeightForm& form : weight_forms()) {
    if (form.bits != 4 || has_four_bits) mask |= bit(form.layout);
  }
  return mask;
}

Expected<Weight> Weight::create(HostTensor source, const WeightOptions& options) {
  if (const Done matrix = check_weight(source.dtype, source.shape); !matrix) return matrix.error();
  if (const Done whole = check_host_tensor(source, "the weight"); !whole) return whole.error();
  if (const Done symmetric = check_zero_points(options.zero_points); !symmetric) return symmetric.error();
  Weight weight(source.shape, qgen::fits_four_bits(source), options.max_form_bytes);
  weight.source_ = std::move(source);
  if (weight.layouts() != 0) return weight;
  return refused(fmt::format("no form of a weight {} fits {} bytes", to_text(weight.shape_), options.max_form_bytes),
                 "raise max_form_bytes");
}

Done Weight::check_is_here() const { return is_moved_from() ? Done(moved_from("weight")) : Done(std::monostate{}); }

uint32_t Weight::layouts() const {
  if (is_moved_from()) return 0;
  uint32_t mask = 0;
  for (const WeightForm& form : weight_forms()) {
    if (form.bits == 4 && !fits_four_bits_) continue;
    const bool fits = bytes_of(form, shape_) <= max_form_bytes_ - form_bytes_;
    if (fits || forms_.contains(form.layout)) mask |= bit(form.layout);
  }
  return mask;
}

Expected<Weight> Weight::create(PackedWeight packed, const WeightOptions& options) {
  auto source = unpack(packed);
  if (!source) return source.error();
  auto weight = create(*std::move(source), options);
  if (weight) {
    const Layout layout = packed.layout;
    weight->loaded_.emplace(layout, std::move(packed));
  }
  return weight;
}

Expected<Weight> Weight::create(SavedWeight saved) {
  if (const Done matrix = check_weight(DType::i8, saved.shape); !matrix) return matrix.error();
  Weight weight(saved.shape, saved.fits_four_bits, std::numeric_limits<uint64_t>::max());
  for (PackedWeight& form : saved.forms) {
    const WeightForm* row = find_weight_form(form.layout);
    if (!row || form.shape != saved.shape || bytes_of(*row, form.shape) != form.bytes.size())
      return refused(fmt::format("a weight {} was saved with a form of another size", to_text(saved.shape)));
    const Layout layout = form.layout;
    weight.loaded_.insert_or_assign(layout, std::move(form));
  }
  if (weight.loaded_.empty() && saved.turned.empty())
    return refused(fmt::format("a weight {} was saved without a form", to_text(saved.shape)));
  for (auto& [run, sums] : saved.sums) {
    if (sums.dtype != DType::i32 || run < 1 || sums.shape != run_sums_shape(saved.shape, run) ||
        !check_host_tensor(sums))
      return refused(fmt::format("a weight {} was saved with sums of another size", to_text(saved.shape)));
    weight.loaded_sums_.emplace(run, std::move(sums));
  }
  for (auto& [groups, turned] : saved.turned) {
    auto made = create(std::move(turned));
    if (!made) return made.error();
    weight.turned_.emplace(groups, std::make_unique<Weight>(*std::move(made)));
  }
  return weight;
}

Expected<SavedWeight> Weight::saved(Executor& executor) const {
  if (const Done here = check_is_here(); !here) return here.error();
  SavedWeight all{.shape = shape_, .fits_four_bits = fits_four_bits_};
  for (const auto& [layout, form] : forms_) {
    auto stored = executor.download_stored(form);
    if (!stored) return stored.error();
    all.forms.push_back({layout, shape_, *std::move(stored)});
  }
  for (const auto& [run, sums] : sums_) {
    auto numbers = executor.download(sums);
    if (!numbers) return numbers.error();
    all.sums.emplace(run, *std::move(numbers));
  }
  for (const auto& [groups, weight] : turned_) {
    auto turned = weight->saved(executor);
    if (!turned) return turned.error();
    all.turned.emplace(groups, *std::move(turned));
  }
  return all;
}

Expected<Weight> Weight::create(DeviceTensor form, const WeightOptions& options) {
  if (!form.shared_memory()) return moved_from("tensor");
  if (const Done matrix = check_weight(form.dtype(), form.shape()); !matrix) return matrix.error();
  if (const Done symmetric = check_zero_points(options.zero_points); !symmetric) return symmetric.error();
  const WeightForm* row = find_weight_form(form.layout());
  Weight weight(form.shape(), row && row->bits == 4, options.max_form_bytes);
  if (const Done kept = weight.keep(std::move(form)); !kept) return kept.error();
  return weight;
}

// The matrix in plain rows, from a form if the host does not have it.
Expected<const HostTensor*> Weight::source(Executor& executor) {
  if (const Done here = check_is_here(); !here) return here.error();
  if (!source_ && !loaded_.empty()) {
    auto unpacked = unpack(loaded_.begin()->second);
    if (!unpacked) return unpacked.error();
    source_ = *std::move(unpacked);
  }
  if (!source_ && forms_.empty()) return refused(fmt::format("the weight {} has no form any more", to_text(shape_)));
  if (!source_) {
    auto downloaded = executor.download(forms_.begin()->second);
    if (!downloaded) return downloaded.error();
    source_ = *std::move(downloaded);
  }
  return &*source_;
}

Expected<PackedWeight> Weight::packed(Executor& executor, Layout layout) {
  const auto matrix = source(executor);
  if (!matrix) return matrix.error();
  return pack(layout, **matrix);
}

// The form, if there is room for it.
Expected<const WeightForm*> Weight::affordable(Layout layout) const {
  const WeightForm* form = find_weight_form(layout);
  if (!form) return refused(fmt::format("{} is no weight form", name(layout)));
  const uint64_t size = bytes_of(*form, shape_);
  if (size <= max_form_bytes_ - form_bytes_) return form;
  return refused(fmt::format("a weight {} takes {} bytes as {}, and {} of the {} bytes for its forms are free",
                             to_text(shape_), size, name(layout), max_form_bytes_ - form_bytes_, max_form_bytes_),
                 "raise max_form_bytes, or choose a kernel that reads a form that was already made");
}

Expected<DeviceTensor> Weight::packed_on_device(Executor& executor, Layout layout) {
  const auto matrix = source(executor);
  if (!matrix) return matrix.error();
  return executor.upload(**matrix, Storage::buffer, layout);
}

Expected<const DeviceTensor*> Weight::form(Executor& executor, Layout layout) {
  if (const Done here = check_is_here(); !here) return here.error();
  if (const auto made = forms_.find(layout); made != forms_.end()) return &made->second;
  const auto form = affordable(layout);
  if (!form) return form.error();
  const auto loaded = loaded_.find(layout);
  auto tensor = loaded == loaded_.end() ? packed_on_device(executor, layout)
                                        : executor.allocate(DType::i8, shape_, Storage::buffer, layout);
  if (!tensor) return tensor.error();
  if (loaded != loaded_.end()) {
    if (const Done written = executor.write_stored(*tensor, loaded->second.bytes); !written) return written.error();
    loaded_.erase(loaded);
  }
  form_bytes_ += bytes_of(**form, shape_);
  return &forms_.emplace(layout, *std::move(tensor)).first->second;
}

Done Weight::keep(DeviceTensor form) {
  if (const Done here = check_is_here(); !here) return here;
  if (!form.shared_memory()) return moved_from("tensor");
  if (form.shape() != shape_) {
    return refused(
        fmt::format("a form of a weight {} is given for a weight {}", to_text(form.shape()), to_text(shape_)));
  }
  const Layout layout = form.layout();
  if (forms_.contains(layout)) return std::monostate{};
  const auto row = affordable(layout);
  if (!row) return row.error();
  form_bytes_ += bytes_of(**row, shape_);
  forms_.emplace(layout, std::move(form));
  return std::monostate{};
}

HostTensor turned_weight(const HostTensor& source, int64_t groups) {
  const WeightMatrix from = matrix_of(source.shape);
  const int64_t channels = from.n / groups, outputs = from.channels;
  Shape shape = source.shape;
  shape[0] = outputs * groups;
  shape[1] = channels;
  HostTensor turned = zeros(DType::i8, shape);
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t row = (n / outputs * channels + c) * outputs + n % outputs;
      const auto taps =
          source.as<int8_t>().subspan(static_cast<size_t>(row * from.taps), static_cast<size_t>(from.taps));
      std::ranges::copy(taps, turned.as<int8_t>().begin() + (n * channels + c) * from.taps);
    }
  }
  return turned;
}

Expected<Weight*> Weight::turned(Executor& executor, int64_t groups) {
  if (const Done here = check_is_here(); !here) return here.error();
  if (const auto made = turned_.find(groups); made != turned_.end()) return made->second.get();
  if (groups < 1 || shape_[0] % groups != 0)
    return refused(fmt::format("a weight {} cannot be divided into {} groups", to_text(shape_), groups));
  const auto plain = source(executor);
  if (!plain) return plain.error();
  auto weight = create(turned_weight(**plain, groups), {.max_form_bytes = max_form_bytes_ - form_bytes_});
  if (!weight) return weight.error();
  return turned_.emplace(groups, std::make_unique<Weight>(*std::move(weight))).first->second.get();
}

void Weight::release_source() {
  if (!forms_.empty()) {
    source_.reset();
    loaded_.clear();
  }
  for (auto& [groups, weight] : turned_) weight->release_source();
}

Expected<const DeviceTensor*> Weight::sums(Executor& executor, int64_t run) {
  if (const Done here = check_is_here(); !here) return here.error();
  if (const auto made = sums_.find(run); made != sums_.end()) return &made->second;
  if (const auto loaded = loaded_sums_.find(run); loaded != loaded_sums_.end()) {
    auto tensor = executor.upload(loaded->second, Storage::buffer);
    if (!tensor) return tensor.error();
    loaded_sums_.erase(loaded);
    return &sums_.emplace(run, *std::move(tensor)).first->second;
  }
  const auto matrix = source(executor);
  if (!matrix) return matrix.error();
  const HostTensor sums = make_tensor<int32_t>(DType::i32, run_sums_shape(shape_, run), run_sums(**matrix, run));
  auto uploaded = executor.upload(sums, Storage::buffer);
  if (!uploaded) return uploaded.error();
  return &sums_.emplace(run, *std::move(uploaded)).first->second;
}

}  // namespace qgen
