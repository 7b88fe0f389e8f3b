// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <cstring>

#include "runtime/c/objects.h"
#include "runtime/engine/calls/attributes.h"
#include "vocabulary/dtypes.h"

namespace qgen::c {

Expected<DType> dtype_of(const char* name) {
  if (!name) return is_null("dtype");
  const auto dtype = dtype_named(name);
  if (!dtype)
    return refused(std::string("unknown dtype '") + name + "'", "f32, f16, bf16, i8, u8, i16, u16, i32 or u32");
  return *dtype;
}

Expected<Shape> shape_of(size_t rank, const int64_t* sides) {
  if (rank > kMaxRank) return refused("a tensor has at most " + std::to_string(kMaxRank) + " sides");
  if (rank != 0 && !sides) return is_null("shape");
  Shape shape(sides, sides + rank);
  if (Done sound = check_shape(shape); !sound) return sound.error();
  return shape;
}

Expected<HostTensor> host_tensor(const qgen_array* array) {
  if (!array) return is_null("array");
  const auto dtype = dtype_of(array->dtype);
  if (!dtype) return dtype.error();
  auto shape = shape_of(array->rank, array->shape);
  if (!shape) return shape.error();
  const auto* data = static_cast<const std::byte*>(array->data);
  HostTensor tensor{*dtype, *std::move(shape), {}};
  if (!data) return tensor;
  tensor.data.assign(data, data + array->bytes);
  if (Done whole = check_host_tensor(tensor); !whole) return whole.error();
  return tensor;
}

std::unique_ptr<qgen_tensor> tensor_of(std::shared_ptr<OnDevice> on, DeviceTensor tensor) {
  const DType dtype = tensor.dtype();
  Shape shape = tensor.shape();
  return std::make_unique<qgen_tensor>(qgen_tensor{std::move(on), std::move(tensor), dtype, std::move(shape)});
}

std::unique_ptr<qgen_tensor> tensor_of(std::shared_ptr<OnDevice> on, HostTensor tensor) {
  const DType dtype = tensor.dtype;
  Shape shape = tensor.shape;
  return std::make_unique<qgen_tensor>(qgen_tensor{std::move(on), std::move(tensor), dtype, std::move(shape)});
}

Expected<const DeviceTensor*> on_device(const qgen_tensor* tensor) {
  if (!tensor) return is_null("tensor");
  const auto* there = std::get_if<DeviceTensor>(&tensor->tensor);
  if (!there) return refused("an output of a model is in host memory", "read it, and give it as an array");
  return there;
}

namespace {

size_t bytes_of(const qgen_tensor& tensor) {
  return static_cast<size_t>(element_count(tensor.shape)) * static_cast<size_t>(bytes(tensor.dtype));
}

Done check_bytes(const qgen_tensor& tensor, size_t given) {
  if (given == bytes_of(tensor)) return std::monostate{};
  return refused("the tensor has " + std::to_string(bytes_of(tensor)) + " bytes, and " + std::to_string(given) +
                 " were given");
}

Done give_tensor(const qgen_device& device, Expected<DeviceTensor> made, qgen_tensor** tensor) {
  if (!made) return made.error();
  *tensor = tensor_of(device.on, *std::move(made)).release();
  return std::monostate{};
}

// The dtype and shape that a caller gives for a tensor on the device.
struct Described {
  DType dtype = DType::f32;
  Shape shape;
};
Expected<Described> described(const qgen_device* device, qgen_tensor** tensor, const char* dtype, size_t rank,
                              const int64_t* sides) {
  if (!device || !tensor) return is_null(device ? "tensor" : "device");
  const auto read = dtype_of(dtype);
  if (!read) return read.error();
  auto shape = shape_of(rank, sides);
  if (!shape) return shape.error();
  return Described{*read, *std::move(shape)};
}

}  // namespace
}  // namespace qgen::c

using namespace qgen;
using namespace qgen::c;

extern "C" {

qgen_code qgen_tensor_create(qgen_device* device, const char* dtype, size_t rank, const int64_t* shape,
                             qgen_tensor** tensor, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    const auto what = described(device, tensor, dtype, rank, shape);
    if (!what) return what.error();
    return give_tensor(*device, device->on->executor.allocate(what->dtype, what->shape, Storage::buffer), tensor);
  });
}

qgen_code qgen_tensor_upload(qgen_device* device, const qgen_array* array, qgen_tensor** tensor, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!device || !tensor) return is_null(device ? "tensor" : "device");
    const auto host = host_tensor(array);
    if (!host) return host.error();
    return give_tensor(*device, device->on->executor.upload(*host, Storage::buffer), tensor);
  });
}

qgen_code qgen_tensor_wrap(qgen_device* device, uint64_t buffer, uint64_t offset, uint64_t bytes, const char* dtype,
                           size_t rank, const int64_t* shape, qgen_tensor** tensor, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    const auto what = described(device, tensor, dtype, rank, shape);
    if (!what) return what.error();
    const LentBuffer lent{(VkBuffer)(uintptr_t)buffer, offset, bytes};
    return give_tensor(*device, device->on->executor.wrap(lent, what->dtype, what->shape), tensor);
  });
}

void qgen_tensor_free(qgen_tensor* tensor) { delete tensor; }
const char* qgen_tensor_dtype(const qgen_tensor* tensor) { return tensor ? name(tensor->dtype).data() : ""; }
size_t qgen_tensor_rank(const qgen_tensor* tensor) { return tensor ? tensor->shape.size() : 0; }
const int64_t* qgen_tensor_shape(const qgen_tensor* tensor) { return tensor ? tensor->shape.data() : nullptr; }
size_t qgen_tensor_bytes(const qgen_tensor* tensor) { return tensor ? bytes_of(*tensor) : 0; }

qgen_code qgen_tensor_read(const qgen_tensor* tensor, void* data, size_t bytes, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!tensor || (!data && bytes != 0)) return is_null(tensor ? "data" : "tensor");
    if (Done fits = check_bytes(*tensor, bytes); !fits) return fits;
    if (bytes == 0) return std::monostate{};
    if (const auto* host = std::get_if<HostTensor>(&tensor->tensor)) {
      std::memcpy(data, host->data.data(), bytes);
      return std::monostate{};
    }
    const auto read = tensor->on->executor.download(std::get<DeviceTensor>(tensor->tensor));
    if (!read) return read.error();
    std::memcpy(data, read->data.data(), bytes);
    return std::monostate{};
  });
}

qgen_code qgen_tensor_write(qgen_tensor* tensor, const void* data, size_t bytes, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    const auto to = on_device(tensor);
    if (!to) return to.error();
    if (!data && bytes != 0) return is_null("data");
    if (Done fits = check_bytes(*tensor, bytes); !fits) return fits;
    const auto* first = static_cast<const std::byte*>(data);
    return tensor->on->executor.write(**to, HostTensor{tensor->dtype, tensor->shape, {first, first + bytes}});
  });
}

qgen_code qgen_weight_create(qgen_device* device, const qgen_array* array, qgen_weight** weight, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!device || !weight) return is_null(device ? "weight" : "device");
    auto host = host_tensor(array);
    if (!host) return host.error();
    auto made = Weight::create(*std::move(host), {});
    if (!made) return made.error();
    return give(weight, qgen_weight{device->on, *std::move(made)});
  });
}

void qgen_weight_free(qgen_weight* weight) { delete weight; }

}  // extern "C"
