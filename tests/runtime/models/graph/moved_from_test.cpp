// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One rule for every public movable type (runtime/README.md): the object that was moved from may be called, assigned to
// and destroyed. A function that can fail says "the ... was moved from"; one that cannot gives an empty value.
//
// tests/moved_from_types.py fails if a class of the public headers is missing here.
#include <gmock/gmock.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

#include <filesystem>
#include <type_traits>

#include "graph_nodes.h"
#include "runtime/engine/device/adopt.h"
#include "runtime/engine/tuning/store.h"
#include "runtime/models/graph/builder.h"
#include "runtime/models/graph/fixed_model.h"
#include "runtime/models/graph/fixed_part.h"
#include "runtime/models/graph/generator.h"
#include "tests/support/expected_text.h"
#include "tests/support/networks.h"
#include "tests/support/shipped_test.h"

// NOLINTBEGIN(bugprone-use-after-move): the tests' subject

namespace qgen {
namespace {

using generated::operators::q8ta_linear;
using generated::operators::q8ta_relu;
using ::testing::HasSubstr;
using testing::Network;
using ::testing::StartsWith;

// Each is movable, so that it stands in a table below; a type that becomes movable joins them.
static_assert(std::is_nothrow_move_constructible_v<Device> && std::is_nothrow_move_assignable_v<Device>);
static_assert(std::is_nothrow_move_constructible_v<DeviceTensor> && std::is_nothrow_move_assignable_v<DeviceTensor>);
static_assert(std::is_nothrow_move_constructible_v<Recording> && std::is_nothrow_move_assignable_v<Recording>);
static_assert(std::is_nothrow_move_constructible_v<Commands> && std::is_nothrow_move_assignable_v<Commands>);
static_assert(std::is_move_constructible_v<RecommendedFeatures> && std::is_move_assignable_v<RecommendedFeatures>);
static_assert(std::is_nothrow_move_constructible_v<Executor> && std::is_nothrow_move_assignable_v<Executor>);
static_assert(std::is_move_constructible_v<Weight> && std::is_move_assignable_v<Weight>);
static_assert(std::is_move_constructible_v<graph::Model> && std::is_move_assignable_v<graph::Model>);
static_assert(std::is_move_constructible_v<graph::Constants> && std::is_move_assignable_v<graph::Constants>);
static_assert(std::is_move_constructible_v<graph::Builder> && std::is_move_assignable_v<graph::Builder>);
static_assert(std::is_move_constructible_v<KernelLibrary> && std::is_move_assignable_v<KernelLibrary>);
static_assert(std::is_nothrow_move_constructible_v<TimeBook> && std::is_nothrow_move_assignable_v<TimeBook>);
static_assert(std::is_nothrow_move_constructible_v<tuning::Store> && std::is_nothrow_move_assignable_v<tuning::Store>);
static_assert(std::is_nothrow_move_constructible_v<RoundTrip> && std::is_nothrow_move_assignable_v<RoundTrip>);
static_assert(std::is_nothrow_move_constructible_v<graph::FixedModel> &&
              std::is_nothrow_move_assignable_v<graph::FixedModel>);
static_assert(std::is_move_constructible_v<graph::BoundGraph> && std::is_move_assignable_v<graph::BoundGraph>);
static_assert(std::is_move_constructible_v<graph::Sampler> && std::is_move_assignable_v<graph::Sampler>);
static_assert(!std::is_move_constructible_v<DecisionCache>);
static_assert(!std::is_move_constructible_v<KeptChoices>);
static_assert(!std::is_move_constructible_v<graph::Candidates>);
static_assert(!std::is_move_constructible_v<graph::Generator>);
static_assert(!std::is_move_constructible_v<graph::OwnKernels>);
static_assert(!std::is_move_constructible_v<graph::Prepared>);

template <typename Outcome>
std::string reason(const Outcome& outcome) {
  return outcome ? "not refused" : outcome.error().message;
}

// The object is good again when it is assigned to.
template <typename T>
void expect_assignable(T& moved_from, T& whole) {
  moved_from = std::move(whole);
  whole = std::move(moved_from);
}

HostTensor filled(DType dtype, const Shape& shape, double value) {
  HostTensor tensor = zeros(dtype, shape);
  for (int64_t i = 0; i < element_count(shape); ++i) set_element(tensor, i, value);
  return tensor;
}

class MovedFrom : public testing::ShippedTest {
 protected:
  Executor& executor() { return context().executor; }
  DeviceTensor tensor(DType dtype, const Shape& shape) {
    return *executor().upload(filled(dtype, shape, 1), Storage::buffer);
  }
  static graph::Graph small_graph() {
    graph::Builder builder;
    const auto x = builder.input("x", DType::i8, {4});
    builder.output("y", q8ta_relu(builder, {.input = x}, {.input_scale = 1.0, .output_scale = 1.0}));
    return std::move(builder).graph();
  }
  // Of a graph whose input is of {4}.
  std::vector<std::byte> fixed_file(const graph::Graph& graph) {
    const OperatorEntries operators = generated::operators::entries();
    const auto inferred = infer(graph, operators, {{"x", {4}}});
    const auto constants = graph::Constants::create(graph, *inferred);
    const auto& profile = device().profile();
    const auto schedule =
        make_schedule(graph, *inferred, constants->weight_descs(), {profile, context().library, operators});
    const graph::FixedPart part = *fix(graph, *schedule, context().library, profile);
    return graph::write_fixed({&part, 1});
  }
};

TEST_F(MovedFrom, Device) {
  Device from = *Device::open();
  Device to = std::move(from);
  EXPECT_TEXT(from.profile().name, "a device that was moved from");
  EXPECT_EQ(from.profile().api_version, 0U);
  EXPECT_FALSE(from.has_robust_buffer_access());
  EXPECT_FALSE(from.has_pipeline_statistics());
  EXPECT_TRUE(from.validation_messages().empty());
  EXPECT_EQ(from.handles(), nullptr);
  EXPECT_TEXT(reason(Executor::create(from, context().library, {})), "the device was moved from");
  expect_assignable(from, to);
  EXPECT_NE(to.profile().api_version, 0U);
}

TEST_F(MovedFrom, Executor) {
  Executor from = *Executor::create(device(), context().library, {});
  Recording recording = *from.record({});
  const DeviceTensor small = *from.upload(filled(DType::i8, {16}, 1), Storage::buffer);
  Executor to = std::move(from);
  Context left{device().profile(), context().library, from};
  const std::vector<std::pair<const char*, std::string>> uses = {
      {"create_beside", reason(Executor::create_beside(from))},
      {"allocate", reason(from.allocate(DType::i8, {1}, Storage::buffer))},
      {"place", reason(from.place(small, 0, DType::i8, {1}))},
      {"upload", reason(from.upload(zeros(DType::i8, {1}), Storage::buffer))},
      {"write", reason(from.write(small, zeros(DType::i8, {16})))},
      {"download", reason(from.download(small))},
      {"download_stored", reason(from.download_stored(small))},
      {"holds", reason(from.holds(small, {}))},
      {"write_stored", reason(from.write_stored(small, {}))},
      {"fill", reason(from.fill(small, 0))},
      {"guards_are_intact", reason(from.guards_are_intact(small))},
      {"statistics", reason(from.statistics({}))},
      {"record", reason(from.record({}))},
      {"run", reason(from.run(recording))},
      {"time", reason(from.time(recording))},
      {"wrap", reason(from.wrap(LentBuffer{}, DType::i8, {1}))},
      {"view", reason(from.view(small, DType::i8, {1}))},
      {"submit", reason(from.submit(recording))},
      {"wait", reason(from.wait({}))},
      {"is_done", reason(from.is_done({}))},
      {"commands", reason(from.commands({}))},
      {"save_pipeline_cache", reason(from.save_pipeline_cache())},
      {"an operator", reason(q8ta_relu(left, {.input = small}, {.input_scale = 1.0, .output_scale = 1.0}))},
  };
  for (const auto& [use, why] : uses) EXPECT_TEXT(why, "the executor was moved from") << use;
  from.make_pipelines({});
  expect_assignable(from, to);
  EXPECT_TRUE(to.run(recording));
}

TEST_F(MovedFrom, DeviceTensor) {
  DeviceTensor from = tensor(DType::i8, {16});
  DeviceTensor to = std::move(from);
  EXPECT_EQ(from.shape(), Shape{});
  EXPECT_TEXT(reason(q8ta_relu(context(), {.input = from}, {.input_scale = 1.0, .output_scale = 1.0})),
              "the tensor 'input' was moved from");
  const std::vector<std::pair<const char*, std::string>> uses = {
      {"write", reason(executor().write(from, zeros(DType::f32, {})))}, {"download", reason(executor().download(from))},
      {"place", reason(executor().place(from, 0, DType::i8, {1}))},     {"fill", reason(executor().fill(from, 0))},
      {"a weight of it", reason(Weight::create(std::move(from), {}))},
  };
  for (const auto& [use, why] : uses) EXPECT_TEXT(why, "the tensor was moved from") << use;
  expect_assignable(from, to);
  EXPECT_TRUE(executor().download(to));
}

// An optional operand, a weight's scales, and one that a Call was made for before it was moved.
TEST_F(MovedFrom, DeviceTensorOfACall) {
  Weight weight = *Weight::create(filled(DType::i8, {8, 16}, 1), {});
  const DeviceTensor x = tensor(DType::i8, {4, 16});
  DeviceTensor scales = tensor(DType::f32, {8});
  DeviceTensor bias = tensor(DType::f32, {8});
  const DeviceTensor bias_now = std::move(bias);
  EXPECT_TEXT(reason(q8ta_linear(context(), {.input = x, .weight = weight, .weight_scales = scales, .bias = &bias},
                                 {.input_scale = 1.0, .output_scale = 1.0})),
              "the tensor 'bias' was moved from");
  const DeviceTensor scales_now = std::move(scales);
  EXPECT_TEXT(reason(q8ta_linear(context(), {.input = x, .weight = weight, .weight_scales = scales},
                                 {.input_scale = 1.0, .output_scale = 1.0})),
              "the tensor 'weight_scales' was moved from");
}

TEST_F(MovedFrom, Weight) {
  Weight from = *Weight::create(filled(DType::i8, {8, 16}, 1), {});
  Weight to = std::move(from);
  EXPECT_TRUE(from.is_moved_from());
  EXPECT_EQ(from.shape(), Shape{});
  EXPECT_EQ(from.n(), 0);
  EXPECT_EQ(from.k(), 0);
  EXPECT_EQ(from.layouts(), 0U);
  from.release_source();
  const DeviceTensor x = tensor(DType::i8, {4, 16}), scales = tensor(DType::f32, {8});
  EXPECT_TEXT(reason(q8ta_linear(context(), {.input = x, .weight = from, .weight_scales = scales},
                                 {.input_scale = 1.0, .output_scale = 1.0})),
              "the tensor 'weight' was moved from");
  const std::vector<std::pair<const char*, std::string>> uses = {
      {"form", reason(from.form(executor(), Layout::weight_q8_rows))},
      {"keep", reason(from.keep(tensor(DType::i8, {8, 16})))},
      {"saved", reason(from.saved(executor()))},
      {"packed", reason(from.packed(executor(), Layout::weight_q8_rows))},
      {"turned", reason(from.turned(executor(), 1))},
      {"sums", reason(from.sums(executor()))},
  };
  for (const auto& [use, why] : uses) EXPECT_TEXT(why, "the weight was moved from") << use;
  expect_assignable(from, to);
  EXPECT_TRUE(q8ta_linear(context(), {.input = x, .weight = to, .weight_scales = scales},
                          {.input_scale = 1.0, .output_scale = 1.0}));
}

TEST_F(MovedFrom, Recording) {
  Recording from = *executor().record({});
  Recording to = std::move(from);
  EXPECT_EQ(from.state(), nullptr);
  EXPECT_TEXT(reason(executor().run(from)), "the recording was moved from");
  EXPECT_TEXT(reason(executor().time(from)), "the recording was moved from");
  expect_assignable(from, to);
  EXPECT_TRUE(executor().run(to));
}

TEST_F(MovedFrom, Model) {
  graph::Model from = model_of(small_graph());
  const Tensors inputs = {{"x", zeros(DType::i8, {4})}};
  ASSERT_TRUE(from.run(inputs));
  graph::Model to = std::move(from);
  EXPECT_TRUE(from.graph().nodes.empty());
  EXPECT_EQ(from.constant_bytes(), 0U);
  EXPECT_FALSE(from.is_chosen_anew());
  graph::Model beside = from.beside(context());
  const std::vector<std::pair<const char*, std::string>> uses = {
      {"run", reason(from.run(inputs))},
      {"prepare", reason(from.prepare({{"x", {4}}}))},
      {"compiled", reason(from.compiled())},
      {"beside", reason(beside.run(inputs))},
  };
  for (const auto& [use, why] : uses) EXPECT_TEXT(why, "the model was moved from") << use;
  expect_assignable(from, to);
  EXPECT_TRUE(to.run(inputs));
}

TEST_F(MovedFrom, FixedModel) {
  const std::vector<std::byte> file = fixed_file(small_graph());
  graph::FixedModel from = *graph::FixedModel::open(device(), file, {});
  const Tensors inputs = {{"x", zeros(DType::i8, {4})}};
  ASSERT_TRUE(from.run(inputs));
  graph::FixedModel to = std::move(from);
  EXPECT_EQ(from.arena_bytes(), 0U);
  EXPECT_TRUE(from.inputs().empty());
  EXPECT_TRUE(from.outputs().empty());
  EXPECT_EQ(from.compiled_for(), "");
  EXPECT_TRUE(from.library().operators().empty());
  EXPECT_EQ(from.library().blob().module_count(), 0U);
  EXPECT_TEXT(reason(from.executor().commands({})), "the executor was moved from");
  Commands frame = *to.executor().commands({});
  const std::vector<std::pair<const char*, std::string>> uses = {
      {"prepare", reason(from.prepare())},
      {"run", reason(from.run(inputs))},
      {"record", reason(from.record(frame, {}, {}))},
  };
  for (const auto& [use, why] : uses) EXPECT_TEXT(why, "the model was moved from") << use;
  expect_assignable(from, to);
  EXPECT_EQ(to.compiled_for(), device().profile().name);
  EXPECT_TRUE(to.run(inputs));
  to = *graph::FixedModel::open(device(), file, {});
  EXPECT_TRUE(to.run(inputs));
}

TEST_F(MovedFrom, BoundGraph) {
  graph::BoundGraph from({}, *executor().record({}));
  graph::BoundGraph to = std::move(from);
  EXPECT_EQ(from.input("x"), nullptr);
  EXPECT_EQ(from.output("y"), nullptr);
  EXPECT_EQ(from.recording().state(), nullptr);
  Commands frame = *executor().commands({});
  EXPECT_TEXT(reason(from.run(executor(), {{"x", zeros(DType::i8, {4})}})), "the bound graph was moved from");
  EXPECT_TEXT(reason(from.record(executor(), frame, {}, {})), "the bound graph was moved from");
  expect_assignable(from, to);
  EXPECT_TRUE(to.run(executor(), {}));
}

TEST_F(MovedFrom, RoundTrip) {
  Recording recording = *executor().record({});
  DeviceTensor data = tensor(DType::i8, {16});
  RoundTrip from = *RoundTrip::create(recording, {&data}, {&data});
  RoundTrip to = std::move(from);
  EXPECT_TRUE(from.input(0).empty());
  EXPECT_TRUE(from.output(0, 1).empty());
  EXPECT_FALSE(from.can_submit());
  const std::vector<std::pair<const char*, std::string>> uses = {
      {"run", reason(from.run())},
      {"submit", reason(from.submit(0))},
      {"submit, fed", reason(from.submit(1, true))},
      {"wait", reason(from.wait(0))},
  };
  for (const auto& [use, why] : uses) EXPECT_TEXT(why, "the round trip was moved from") << use;
  expect_assignable(from, to);
  EXPECT_TRUE(to.run());
  const DeviceTensor data_now = std::move(data);
  EXPECT_TEXT(reason(RoundTrip::create(recording, {&data}, {&data_now})), "the tensor was moved from");
  const Recording recording_now = std::move(recording);
  EXPECT_TEXT(reason(RoundTrip::create(recording, {&data_now}, {})), "the recording was moved from");
}

TEST_F(MovedFrom, Sampler) {
  DeviceTensor logits = tensor(DType::f32, {1, 8});
  graph::Sampler from = *graph::Sampler::create(context(), generated::operators::entries(), logits);
  graph::Sampler to = std::move(from);
  EXPECT_TEXT(reason(from.draw({}, 0)), "the sampler was moved from");
  EXPECT_FALSE(from.is_of(logits));
  expect_assignable(from, to);
  EXPECT_TRUE(to.is_of(logits));
  EXPECT_TRUE(to.draw({}, 0));
  const DeviceTensor logits_now = std::move(logits);
  const graph::Sampler now = std::move(to);
  EXPECT_FALSE(to.is_of(logits));
  EXPECT_TRUE(now.is_of(logits_now));
}

// No weights and no parameters: the same as of a graph without constants.
TEST_F(MovedFrom, Constants) {
  graph::Builder builder;
  const auto x = builder.input("x", DType::i8, {4, 16});
  const auto weight = builder.constant(filled(DType::i8, {8, 16}, 1));
  const auto scales = builder.constant(filled(DType::f32, {8}, 1));
  builder.output("y", q8ta_linear(builder, {.input = x, .weight = weight, .weight_scales = scales},
                                  {.input_scale = 1.0, .output_scale = 1.0}));
  graph::Graph graph = std::move(builder).graph();
  const auto inferred = infer(graph, generated::operators::entries(), {{"x", {4, 16}}});
  graph::Constants from = *graph::Constants::create(graph, *inferred);
  const graph::ValueId id = from.weight_descs().begin()->first;
  graph::Constants to = std::move(from);
  EXPECT_EQ(from.weight(id), nullptr);
  EXPECT_TRUE(from.weight_descs().empty());
  EXPECT_EQ(from.device_bytes(), 0U);
  EXPECT_TRUE(from.saved_weights(executor())->empty());
  EXPECT_TRUE(from.fetch_parameters(executor(), graph));
  from.release(graph);
  EXPECT_TRUE(graph.values[id].data);
  expect_assignable(from, to);
  EXPECT_NE(to.weight(id), nullptr);
}

// An empty graph: there is nothing to run.
TEST_F(MovedFrom, Builder) {
  graph::Builder from;
  const auto x = from.input("x", DType::i8, {4});
  from.output("y", q8ta_relu(from, {.input = x}, {.input_scale = 1.0, .output_scale = 1.0}));
  graph::Builder to = std::move(from);
  EXPECT_NE(reason(model_of(std::move(from).graph()).run({{"x", zeros(DType::i8, {4})}})), "not refused");
  expect_assignable(from, to);
  EXPECT_TRUE(model_of(std::move(to).graph()).run({{"x", zeros(DType::i8, {4})}}));
}

TEST_F(MovedFrom, Commands) {
  const Recording recording = *executor().record({});
  Commands from = *executor().commands({});
  Commands to = std::move(from);
  EXPECT_EQ(from.arena_bytes_used(), 0U);
  const std::vector<std::pair<const char*, std::string>> uses = {
      {"begin", reason(from.begin(VK_NULL_HANDLE))},
      {"resume", reason(from.resume(VK_NULL_HANDLE))},
      {"end", reason(from.end())},
      {"record a choice", reason(from.record(std::make_shared<const Choice>(), {}))},
      {"record a work", reason(from.record(Work{}))},
      {"record a recording", reason(from.record(recording))},
      {"allocate", reason(from.allocate(DType::i8, {1}, Storage::buffer))},
  };
  for (const auto& [use, why] : uses) EXPECT_TEXT(why, "the commands object was moved from") << use;
  expect_assignable(from, to);
  EXPECT_NE(reason(to.end()), "the commands object was moved from");
}

TEST_F(MovedFrom, RecommendedFeatures) {
  RecommendedFeatures from = *RecommendedFeatures::of(device());
  RecommendedFeatures to = std::move(from);
  EXPECT_EQ(from.chain(), nullptr);
  EXPECT_TRUE(from.extensions().empty());
  EXPECT_EQ(from.to_text(), "");
  EXPECT_TEXT(reason(from.joined(nullptr)), "the RecommendedFeatures was moved from");
  expect_assignable(from, to);
  EXPECT_NE(to.chain(), nullptr);
}

// Values: empty is what they are without times.
TEST_F(MovedFrom, KernelTimes) {
  KernelTimes from = {{"a", {.us = 1, .source_text = "measured"}}};
  from.add_note("a note");
  KernelTimes to = std::move(from);
  EXPECT_TRUE(from.empty());
  EXPECT_EQ(from.find("a"), nullptr);
  EXPECT_TRUE(from.beginning_with("").empty());
  EXPECT_TRUE(from.notes().empty());
  from.add("b", {.us = 2});
  EXPECT_EQ(from.size(), 1U);
  expect_assignable(from, to);
  ASSERT_NE(to.find("a"), nullptr);
  EXPECT_EQ(to.source_text(*to.find("a")), "measured");
}

TEST_F(MovedFrom, SharedText) {
  SharedText from = "measured";
  SharedText to = std::move(from);
  EXPECT_EQ(from.view(), "");
  EXPECT_TRUE(from == SharedText());
  expect_assignable(from, to);
  EXPECT_EQ(to.view(), "measured");
}

// Copies share the viewed data, and so do moved-from views.
TEST_F(MovedFrom, Blob) {
  Blob from = context().library.blob();
  Blob to = std::move(from);
  EXPECT_NE(from.module_count(), 0U);
  EXPECT_EQ(from.module_count(), to.module_count());
  EXPECT_TRUE(from.module(0));
  expect_assignable(from, to);
}

TEST_F(MovedFrom, KernelLibrary) {
  KernelLibrary from = *KernelLibrary::open(generated::library());
  KernelLibrary to = std::move(from);
  const auto found = from.find_kernel(to.operators().front()->kernels.front().id);
  ASSERT_NE(found.kernel, nullptr);
  EXPECT_EQ(from.digest(*found.kernel), to.digest(*found.kernel));
  EXPECT_EQ(from.blob().module_count(), to.blob().module_count());
  expect_assignable(from, to);
}

TEST_F(MovedFrom, TimeBook) {
  TimeBook from(context().library);
  TimeBook to = std::move(from);
  EXPECT_EQ(from.add(device().profile(), std::span<const TimedKernel>()), 0U);
  EXPECT_NE(from.of({}, device().profile()), nullptr);
  expect_assignable(from, to);
}

TEST_F(MovedFrom, Store) {
  const auto path = std::filesystem::temp_directory_path() / ("qgen_moved_from_" + std::to_string(::getpid()));
  {
    tuning::Store from = *tuning::Store::open(path);
    tuning::Store to = std::move(from);
    EXPECT_EQ(from.path(), "");
    const std::vector<std::pair<const char*, std::string>> uses = {
        {"add", reason(from.add({}, "", {}))},         {"rows", reason(from.rows({}))},
        {"devices", reason(from.devices())},           {"quarantine", reason(from.quarantine({}, "", {}))},
        {"quarantined", reason(from.quarantined({}))}, {"forget", reason(from.forget({}))},
    };
    for (const auto& [use, why] : uses) EXPECT_TEXT(why, "the store was moved from") << use;
    expect_assignable(from, to);
    EXPECT_TRUE(to.devices());
  }
  std::filesystem::remove(path);
}

// A plain value is empty when it was moved from, and refused like any other that is not whole.
TEST_F(MovedFrom, HostTensor) {
  HostTensor from = filled(DType::i8, {16}, 1);
  const HostTensor to = std::move(from);
  EXPECT_THAT(reason(executor().upload(from, Storage::buffer)), StartsWith("a host tensor of i8 holds 0 bytes"));
  HostTensor weight = filled(DType::i8, {8, 16}, 1);
  const HostTensor weight_now = std::move(weight);
  EXPECT_NE(reason(Weight::create(std::move(weight), {})), "not refused");
}

}  // namespace
}  // namespace qgen

// NOLINTEND(bugprone-use-after-move)
