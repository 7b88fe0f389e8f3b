// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Kernels for the dispatcher's tests: GLSL here, tables by hand, compiled and joined to a library as the generator
// would.
//
//   KernelKit kit({{.id = "copy.f32", .glsl = "...", .forms = {...}, .bindings = {...}}});
//   Choice choice = kit.choice("copy.f32", {groups, 1, 1}, problem);
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/compile/compile.h"
#include "runtime/engine/library/kernel_library.h"
#include "runtime/engine/selector/select.h"
#include "tests/runtime/engine/library/blob_builder.h"

namespace qgen::testing {

// One operator with one kernel.
struct Sketch {
  std::string_view id;  // "copy.f32"
  std::string_view glsl;
  std::vector<OperandInfo> operands;
  std::vector<OperandForm> forms;
  std::vector<BindingInfo> bindings;
  std::vector<BlockField> push_constants = {};
  std::vector<BlockField> problem_buffer = {};
  std::vector<uint32_t> workgroups = {};  // values of constant 0; empty: no specialization constant
  // Of the next constant, which the problem decides; null: there is none.
  void (*constant)(const SelectionScope&, uint32_t* value) = nullptr;
  FeatureMask needs = 0;
  uint8_t required_subgroup_size = 0;
};

class KernelKit {
 public:
  explicit KernelKit(std::vector<Sketch> sketches) : sketches_(std::move(sketches)) {
    blob_.add_family({});
    for (const Sketch& sketch : sketches_) add(sketch);
    bytes_ = blob_.build();
  }
  KernelKit(const KernelKit&) = delete;

  KernelLibrary library() const {
    auto opened = KernelLibrary::open({pointers_, bytes_});
    EXPECT_TRUE(opened) << to_text(opened.error());
    return *std::move(opened);
  }

  // The file of the kit's modules. Those of other kits with the same ids fit the kit's tables.
  const std::vector<std::byte>& blob() const { return bytes_; }

  const OperatorInfo& op(std::string_view id) const {
    for (const OperatorInfo& op : operators_) {
      if (op.kernels.front().id == id) return op;
    }
    ADD_FAILURE() << "no kernel " << id;
    return operators_.front();
  }

  template <typename Problem>
  Launch launch(std::string_view id, std::array<uint64_t, 3> groups, const Problem& problem,
                size_t specialization = 0) const {
    Launch launch;
    launch.op = &op(id);
    launch.kernel = &launch.op->kernels.front();
    launch.specialization = specialization;
    launch.groups = groups;
    launch.problem.resize(sizeof(Problem));
    std::memcpy(launch.problem.data(), &problem, sizeof(Problem));
    for (uint8_t i = 0; i < launch.op->operands.size(); ++i) launch.operands.push_back({false, i});
    return launch;
  }

  template <typename Problem>
  Choice choice(std::string_view id, std::array<uint64_t, 3> groups, const Problem& problem,
                size_t specialization = 0) const {
    Choice choice;
    choice.id = id;
    choice.launches.push_back(launch(id, groups, problem, specialization));
    return choice;
  }

 private:
  struct Tables {
    InterfaceInfo interface {};
    KernelInfo kernel{};
    std::vector<SpecializationSlot> slots;
  };

  static OperandForm form(const void* parameters, size_t operand) {
    return static_cast<const Sketch*>(parameters)->forms.at(operand);
  }

  static uint16_t bytes_of(const std::vector<BlockField>& fields) {
    return fields.empty() ? 0 : static_cast<uint16_t>(fields.back().offset + fields.back().size_bytes);
  }

  void add(const Sketch& sketch) {
    const auto compiled = compile::compile(sketch.glsl, compile::Optimization::performance);
    if (!compiled) {
      for (const auto& message : compiled.error())
        ADD_FAILURE() << sketch.id << ":" << message.line << ": " << message.text;
    }
    Tables& tables = tables_.emplace_back();
    tables.kernel = {sketch.id, &sketch, 0, static_cast<uint32_t>(operators_.size())};
    if (!sketch.workgroups.empty()) tables.slots = {{0, 0}};
    const auto next = static_cast<uint8_t>(tables.slots.size());
    if (sketch.constant) tables.slots.push_back({next, next});
    InterfaceInfo& interface = tables.interface;
    interface.bindings = sketch.bindings;
    interface.push_constants = sketch.push_constants;
    interface.push_constants_bytes = bytes_of(sketch.push_constants);
    interface.problem_buffer = sketch.problem_buffer;
    interface.problem_buffer_bytes = bytes_of(sketch.problem_buffer);
    interface.specialization = tables.slots;
    interface.needs = sketch.needs;
    interface.required_subgroup_size = sketch.required_subgroup_size;

    OperatorInfo op{};
    op.name = sketch.id.substr(0, sketch.id.find('.'));
    op.operands = sketch.operands;
    op.interfaces = {&interface, 1};
    op.kernels = {&tables.kernel, 1};
    op.form = form;
    static constexpr std::string_view kNames[] = {"workgroup"};
    if (!sketch.workgroups.empty()) {
      op.specialization_names = kNames;
      op.specializations = sketch.workgroups;
    }
    op.constants = sketch.constant;
    op.constants_count = sketch.constant ? 1 : 0;
    blob_.add_module(0, compile::strip(compiled ? *compiled : compile::Spirv{0}),
                     static_cast<uint32_t>(std::hash<std::string_view>{}(sketch.id) | 1));
    operators_.push_back(op);
    pointers_.push_back(&operators_.back());
  }

  std::vector<Sketch> sketches_;
  std::deque<Tables> tables_;
  std::deque<OperatorInfo> operators_;
  std::vector<const OperatorInfo*> pointers_;
  test::BlobBuilder blob_;
  std::vector<std::byte> bytes_;
};

}  // namespace qgen::testing
