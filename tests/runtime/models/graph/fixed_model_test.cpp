// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Models that are compiled for named devices, without one: run on this device, they give what a Model gives.
#include "runtime/models/graph/fixed_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operators.h"
#include "registry.h"
#include "runtime/models/graph/fixed_part.h"
#include "runtime/models/graph/model.h"
#include "runtime/workshop/model/embed.h"
#include "tests/support/device_test.h"
#include "tests/support/guest.h"
#include "tests/support/networks.h"

namespace qgen::graph {
namespace {

using ::testing::HasSubstr;

class FixedModelTest : public testing::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    auto library = KernelLibrary::open(generated::library());
    ASSERT_TRUE(library) << to_text(library.error());
    library_.emplace(*std::move(library));
  }

  static OperatorEntries operators() { return generated::operators::entries(); }
  Expected<FixedPart> part_of(const Graph& graph, const InputShapes& shapes, const DeviceProfile& profile) {
    const auto inferred = infer(graph, operators(), shapes);
    if (!inferred) return inferred.error();
    const auto constants = Constants::create(graph, *inferred);
    if (!constants) return constants.error();
    const auto schedule = make_schedule(graph, *inferred, constants->weight_descs(), {profile, *library_, operators()});
    if (!schedule) return schedule.error();
    return fix(graph, *schedule, *library_, profile);
  }
  FixedPart part_here(const Graph& graph, const InputShapes& shapes) {
    auto part = part_of(graph, shapes, device().profile());
    EXPECT_TRUE(part) << to_text(part.error());
    return *std::move(part);
  }
  FixedModel opened(std::span<const std::byte> file) {
    auto model = FixedModel::open(device(), file, {});
    EXPECT_TRUE(model) << to_text(model.error());
    return *std::move(model);
  }
  Tensors run_model(const Graph& graph, const Tensors& inputs) {
    auto executor = Executor::create(device(), *library_, {});
    Context context{device().profile(), *library_, *executor};
    auto outputs = Model::create(context, operators(), graph, {}).run(inputs);
    EXPECT_TRUE(outputs) << to_text(outputs.error());
    return *std::move(outputs);
  }
  const KernelLibrary& library() const { return *library_; }

 private:
  std::optional<KernelLibrary> library_;
};

struct FixedRow {
  std::string name;
  Graph graph;
  DType dtype = DType::f32;
  Shape shape;
};

Tensors fixed_inputs(const FixedRow& row) {
  testing::Random random(3);
  return {{"image", row.dtype == DType::i8 ? random.integers(DType::i8, row.shape, -128, 127)
                                           : random.reals(DType::f32, row.shape, -4, 4)}};
}

TEST_F(FixedModelTest, GivesWhatAModelGives) {
  const FixedRow rows[] = {{"residual", testing::residual_network(1), DType::f32, {1, 3, 20, 20}},
                           {"depthwise", testing::depthwise_network(), DType::f32, {2, 5, 9, 7}},
                           {"joined", testing::joined_network(1), DType::f32, {1, 3, 8, 12}},
                           {"elementwise", testing::elementwise_network(2), DType::i8, {2, 3, 8, 5}}};
  for (const FixedRow& row : rows) {
    const Tensors inputs = fixed_inputs(row);
    const Tensors expected = run_model(row.graph, inputs);
    const FixedPart part = part_here(row.graph, {{"image", row.shape}});
    FixedModel model = opened(write_fixed({&part, 1}));
    EXPECT_EQ(model.compiled_for(), device().profile().name);
    for (int round = 0; round < 2; ++round) {
      const auto outputs = model.run(inputs);
      ASSERT_TRUE(outputs) << row.name << ": " << to_text(outputs.error());
      ASSERT_EQ(outputs->size(), expected.size());
      for (const auto& [name, tensor] : expected) {
        EXPECT_EQ(outputs->at(name).shape, tensor.shape);
        EXPECT_TRUE(outputs->at(name).data == tensor.data) << row.name << " " << name;
      }
    }
  }
}

TEST_F(FixedModelTest, IsRecordedIntoAnEnginesFrameInItsArena) {
  const FixedRow row{"joined", testing::joined_network(1), DType::f32, {1, 3, 8, 12}};
  const Tensors inputs = fixed_inputs(row), expected = run_model(row.graph, inputs);
  const FixedPart part = part_here(row.graph, {{"image", row.shape}});
  FixedModel model = opened(write_fixed({&part, 1}));
  Executor& executor = model.executor();
  const auto arena = executor.allocate(DType::u8, {static_cast<int64_t>(model.arena_bytes())}, Storage::buffer);
  ASSERT_TRUE(arena) << to_text(arena.error());
  const Done ready = model.prepare(&*arena);
  ASSERT_TRUE(ready) << to_text(ready.error());
  const auto x = executor.upload(inputs.at("image"), Storage::buffer);
  const auto y = executor.allocate(DType::f32, expected.at("classes").shape, Storage::buffer);
  ASSERT_TRUE(x && y);
  testing::EngineCommands engine(device());
  Commands frame = *executor.commands({});
  ASSERT_TRUE(frame.begin(engine.begin()));
  const Done recorded = model.record(frame, {{"image", &*x}}, {{"classes", &*y}});
  ASSERT_TRUE(recorded) << to_text(recorded.error());
  const Done unknown = model.record(frame, {{"picture", &*x}}, {});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message, "the model has no input 'picture'");
  ASSERT_TRUE(frame.end());
  engine.run();
  const auto got = executor.download(*y);
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->data == expected.at("classes").data);
}

// Of another width of the registers, say: the same kernels, so a second part adds few bytes.
TEST_F(FixedModelTest, StoresSharedBytesOnce) {
  const Graph graph = testing::residual_network(1);
  const InputShapes shapes{{"image", {1, 3, 20, 20}}};
  std::vector<FixedPart> parts{part_here(graph, shapes), part_here(graph, shapes)};
  parts[1].device = "another";
  const auto one = write_fixed({parts.data(), 1}), two = write_fixed(parts);
  size_t constants = 0;
  for (const FixedPart::Constant& constant : parts[0].constants) constants += constant.bytes.size();
  EXPECT_LT(two.size() - one.size(), one.size() - constants) << "of the second part, only its head";
  const auto read = read_fixed(two);
  ASSERT_TRUE(read) << to_text(read.error());
  ASSERT_EQ(read->size(), 2u);
  for (size_t i = 0; i < parts[0].constants.size(); ++i)
    EXPECT_EQ((*read)[1].constants[i].bytes, parts[0].constants[i].bytes);
}

// The same device, else its architecture, else what can run; what cannot is told with its reason.
TEST_F(FixedModelTest, TakesThePartForTheDevice) {
  const Graph graph = testing::elementwise_network(1);
  std::vector<FixedPart> parts(3, part_here(graph, {{"image", {1, 3, 8, 5}}}));
  DeviceProfile profile = device().profile();
  profile.name = "card";
  profile.architecture = "family";
  parts[0].device = "strange", parts[0].architecture = "";
  parts[1].device = "sister", parts[1].architecture = "family";
  parts[2].device = "card";
  const auto device_taken = [&](const DeviceProfile& here) {
    const auto part = read_fixed(write_fixed(parts), here);
    return part ? part->device : part.error().message;
  };
  EXPECT_EQ(device_taken(profile), "card");
  profile.name = "another card";
  EXPECT_EQ(device_taken(profile), "sister");
  profile.architecture = "other";
  EXPECT_EQ(device_taken(profile), "strange");
  parts[0].has_matrices = parts[1].has_matrices = true;
  parts[2].shared_memory_bytes = 1 << 30;
  const std::string refused = device_taken(profile);
  EXPECT_THAT(refused, HasSubstr("'another card' can run no part of this model; for strange: has kernels on the "
                                 "cooperative matrices of that device; for sister: "));
  EXPECT_THAT(refused, HasSubstr("for card: needs 1073741824 bytes of shared memory, and the device has "));
}

TEST_F(FixedModelTest, RefusesWhatIsNoSuchFile) {
  const Graph graph = testing::elementwise_network(1);
  const FixedPart part = part_here(graph, {{"image", {1, 3, 8, 5}}});
  const std::vector<std::byte> whole = write_fixed({&part, 1});
  const auto reason = [&](std::vector<std::byte> file) {
    const auto model = FixedModel::open(device(), file, {});
    return model ? "not refused" : model.error().message;
  };
  EXPECT_EQ(reason({}), "this is not a model that is fixed for its devices: it is too short");
  for (const size_t at : {size_t{40}, whole.size() / 2, whole.size() - 1}) {
    std::vector<std::byte> damaged = whole;
    damaged[at] ^= std::byte{1};
    EXPECT_EQ(reason(damaged), "it is damaged: its checksum is wrong");
  }
  EXPECT_EQ(reason({whole.begin(), whole.end() - 1}), "it is damaged: its checksum is wrong");
  // Sealed anew, with a step that names a tensor that is not there.
  FixedPart wrong = part;
  wrong.steps.front().operands.front().index = 1000;
  EXPECT_EQ(reason(write_fixed({&wrong, 1})), "it is damaged: it names a tensor or constant that does not exist");
}

// Planned for each described device, without opening it.
TEST_F(FixedModelTest, IsMadeForDevicesThatAreNotHere) {
  const Graph graph = testing::residual_network(1);
  DeviceProfile profile = device().profile();
  profile.name = "a described device";
  profile.features &= ~bit(Feature::integer_dot_product);
  const auto part = part_of(graph, {{"image", {1, 3, 20, 20}}}, profile);
  ASSERT_TRUE(part) << to_text(part.error());
  EXPECT_EQ(part->device, "a described device");
  for (const OwnKernels::Kernel& kernel : part->own_kernels->parts().kernels)
    EXPECT_EQ(profile.missing(kernel.needs), 0u) << kernel.id;
  EXPECT_EQ(why_not(*part, profile), "");
}

TEST(Embed, NamesAreOnesOfCpp) {
  EXPECT_EQ(model::cpp_name("input.1"), "input_1");
  EXPECT_EQ(model::cpp_name("class"), "class_");
  EXPECT_EQ(model::cpp_name("2d--conv:"), "x2d_conv");
  EXPECT_EQ(model::cpp_name(""), "x");
  FixedPart part;
  part.tensors = {{DType::f32, {1, 3}}, {DType::i8, {}}};
  part.inputs = {{"a.b", 0}, {"a/b", 1}};
  part.outputs = {{"say \"yes\"", 1}};
  const model::EmbeddedText text = model::embed(part, "my-net");
  EXPECT_THAT(text.header, HasSubstr("namespace my_net {"));
  EXPECT_THAT(text.header, HasSubstr("  qgen::Required<Tensor> a_b;  // f32 [1, 3]\n  qgen::Required<Tensor> a_b_2;"));
  EXPECT_THAT(text.source, HasSubstr("fixed_.run({{\"a.b\", inputs.a_b}, {\"a/b\", inputs.a_b_2}})"));
  EXPECT_THAT(text.source, HasSubstr("made->at(\"say \\\"yes\\\"\")"));
  EXPECT_THAT(text.assembler, HasSubstr(".incbin \"my-net.qgen\""));
}

}  // namespace
}  // namespace qgen::graph
