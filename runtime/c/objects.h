// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The objects that the handles of qgen.h point to. A function of qgen.h converts its arguments, calls the C++
// interface, and converts the error to a code and a sentence: guarded() below. No exception leaves the library.
#pragma once

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "qgen.h"
#include "runtime/engine/calls/mixed_arguments.h"
#include "runtime/engine/device/device.h"
#include "runtime/engine/selector/decision_cache.h"
#include "runtime/models/graph/fixed_model.h"
#include "runtime/models/graph/model.h"

struct qgen_error {
  qgen::Error error;
};

struct qgen_text {
  std::string text;
};

namespace qgen::c {

// All that a device's objects share: freed with the last of them.
struct OnDevice {
  OnDevice(std::shared_ptr<const Device> device, DeviceProfile profile, std::shared_ptr<const graph::OwnKernels> own,
           KernelLibrary kernels, Executor made);
  OnDevice(const OnDevice& of, graph::FixedModel model);                         // on the same device
  graph::FixedModel* fixed() { return std::get_if<graph::FixedModel>(&owner); }  // null: made by the first
  void choose_by(std::optional<TimeBook> measured);

  std::shared_ptr<const Device> device;
  DeviceProfile profile;                                 // of the device, without what its stored verdict says is wrong
  std::shared_ptr<const graph::OwnKernels> own_kernels;  // null: the shipped operators
  KernelLibrary library;
  std::variant<Executor, graph::FixedModel> owner;  // of the executor
  Executor& executor;
  std::optional<TimeBook> times;
  std::optional<DecisionCache> decisions;
  Context context;
};

// The shipped operators on a device, with what is stored of it. Errors: those of Executor::create().
Expected<std::shared_ptr<OnDevice>> with_shipped(std::shared_ptr<const Device> device);

}  // namespace qgen::c

struct qgen_device {
  std::shared_ptr<qgen::c::OnDevice> on;
};

// On the device, or a model's output in host memory.
struct qgen_tensor {
  std::shared_ptr<qgen::c::OnDevice> on;
  std::variant<qgen::DeviceTensor, qgen::HostTensor> tensor;
  qgen::DType dtype;
  qgen::Shape shape;
};

struct qgen_weight {
  std::shared_ptr<qgen::c::OnDevice> on;
  qgen::Weight weight;
};

struct qgen_results {
  struct Named {
    std::string name;
    std::unique_ptr<qgen_tensor> tensor;
  };
  std::vector<Named> all;
};

struct qgen_frame {
  std::shared_ptr<qgen::c::OnDevice> on;
  qgen::Commands commands;
};

struct qgen_model {
  struct Operand {
    std::string name, dtype;
    qgen::Shape shape;
  };
  qgen_device device;
  std::unique_ptr<qgen::graph::Model> model;  // null: `device` has it, as its FixedModel
  std::vector<Operand> inputs;
  std::vector<std::string> outputs;  // their names
};

namespace qgen::c {

// Sets *error, and gives the code.
qgen_code failed(const Error& why, qgen_error** error);

// The code of `body`, a function that returns a Done.
template <typename Body>
qgen_code guarded(qgen_error** error, const Body& body) {
  if (error) *error = nullptr;
  try {
    const Done done = body();
    return done ? QGEN_OK : failed(done.error(), error);
  } catch (const std::bad_alloc&) {
    return failed({Error::Kind::system, "out of memory", ""}, error);
  } catch (...) {
    return failed({Error::Kind::system, "an internal fault", "this is a fault of qgen: please report it"}, error);
  }
}

// Moves the value into *into, a new object.
template <typename T>
Done give(T** into, T value) {
  *into = new T(std::move(value));
  return std::monostate{};
}

inline Error is_null(const char* what) { return refused(std::string(what) + " is null"); }

Expected<DType> dtype_of(const char* name);
Expected<Shape> shape_of(size_t rank, const int64_t* sides);
// With its data, if it has any.
Expected<HostTensor> host_tensor(const qgen_array* array);
// By name. Errors: no arrays, but tensors; one name twice.
Expected<Tensors> arrays_of(const qgen_argument* given, size_t count);
std::unique_ptr<qgen_tensor> tensor_of(std::shared_ptr<OnDevice> on, DeviceTensor tensor);
std::unique_ptr<qgen_tensor> tensor_of(std::shared_ptr<OnDevice> on, HostTensor tensor);
Expected<const DeviceTensor*> on_device(const qgen_tensor* tensor);

Expected<const OperatorEntry*> operator_of(const qgen_call* call);
Expected<MixedArguments> arguments_of(const OperatorEntry& entry, const qgen_call& call);

}  // namespace qgen::c
