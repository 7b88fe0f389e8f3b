// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Pipelines: made on demand and once, and kept on disk.
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/engine/device/handles.h"
#include "runtime/engine/dispatch/pipeline_cache_file.h"
#include "runtime/engine/dispatch/pipelines.h"
#include "tests/runtime/engine/dispatch/executor_fixture.h"
#include "tests/runtime/engine/dispatch/temporary_folder.h"

namespace qgen {
namespace {

using dispatch::Pipelines;
using testing::Count;
using testing::ExecutorTest;
using testing::KernelKit;
using testing::kit;
using testing::of;
using testing::Sketch;
using testing::TemporaryFolder;

class PipelinesTest : public ExecutorTest {
 protected:
  void get(Pipelines& pipelines, std::string_view id, size_t specialization = 0) {
    const OperatorInfo& op = kit().op(id);
    const auto pipeline = pipelines.get({&op, &op.kernels.front(), specialization});
    ASSERT_TRUE(pipeline) << to_text(pipeline.error());
  }
};

TEST_F(PipelinesTest, AreMadeOnce) {
  Pipelines pipelines(device().handles(), library(), {});
  ASSERT_TRUE(pipelines.init());
  EXPECT_EQ(pipelines.count(), 0u) << "on demand";
  get(pipelines, "copy.i32");
  get(pipelines, "copy.i32");
  EXPECT_EQ(pipelines.count(), 1u);
  get(pipelines, "copy.i32", 1);
  EXPECT_EQ(pipelines.count(), 2u) << "another workgroup size is another pipeline";
}

// A pipeline for each value that the problem decides, in whichever order they come.
TEST_F(PipelinesTest, KnowWhatTheProblemDecides) {
  const DeviceTensor data = upload(of({0, 0, 0}));
  const Choice first = kit().choice("stamp.i32", {1, 1, 1}, Count{0, 5});
  const Choice second = kit().choice("stamp.i32", {1, 1, 1}, Count{1, 7});
  const Choice third = kit().choice("stamp.i32", {1, 1, 1}, Count{2, 5});
  run({{&first, {&data}}, {&second, {&data}}, {&third, {&data}}});
  EXPECT_EQ(integers(data), (std::vector<int32_t>{5, 7, 5}));

  Pipelines pipelines(device().handles(), library(), {});
  ASSERT_TRUE(pipelines.init());
  for (const Choice* choice : {&first, &second, &third}) {
    ASSERT_TRUE(pipelines.get(dispatch::source_of(choice->launches.front())));
  }
  EXPECT_EQ(pipelines.count(), 2u);
}

TEST_F(PipelinesTest, AreMadeTogether) {
  // One after the other: of two threads, one may count the other's pipeline before it hears of it.
  const auto in_turn = [](size_t count, const std::function<void(size_t)>& job) {
    for (size_t i = 0; i < count; ++i) job(i);
  };
  Pipelines pipelines(device().handles(), library(), {.parallel_for = in_turn});
  ASSERT_TRUE(pipelines.init());
  get(pipelines, "copy.i32");
  std::vector<dispatch::PipelineSource> sources;
  for (const std::string_view id : {"copy.i32", "add.i32", "add.i32"}) {
    const OperatorInfo& op = kit().op(id);
    for (size_t row = 0; row < op.specialization_count(); ++row) sources.push_back({&op, &op.kernels.front(), row});
  }
  std::vector<size_t> heard;
  pipelines.make_all(sources, [&](size_t made, size_t total) {
    heard.push_back(made);
    EXPECT_EQ(total, pipelines.count() - 1 + (total - made));
  });
  const size_t count = pipelines.count();
  EXPECT_EQ(heard.size(), count - 1) << "what was there is not made again";
  for (const auto& source : sources) EXPECT_TRUE(pipelines.get(source));
  EXPECT_EQ(pipelines.count(), count);
  pipelines.make_all(sources, {});
  pipelines.make_all({}, {});
}

// y = x + `term`, as a kit of one kernel.
std::vector<Sketch> sketch_with(const std::string& glsl) {
  return {{.id = "shift.i32",
           .glsl = glsl,
           .operands = {{"data", Access::read_write, false}},
           .forms = {testing::kI32Buffer},
           .bindings = {testing::kUpdates0},
           .push_constants = testing::kCountPushed}};
}
std::string shift_by(int term) {
  return std::string(testing::kAdd).replace(testing::kAdd.find("problem.value"), 13, std::to_string(term));
}

// After a reload, new recordings run the new module, and old ones the old module. Replaced pipelines are removed.
TEST_F(PipelinesTest, FollowAReload) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "kernels.blob").string();
  const std::string one = shift_by(1);
  const KernelKit built(sketch_with(one));
  KernelLibrary library = built.library();
  Executor executor = *Executor::create(device(), library, {});
  const DeviceTensor data = *executor.upload(of({0, 0, 0}), Storage::buffer);
  const Choice choice = built.choice("shift.i32", {1, 1, 1}, Count{3, 0});
  const Work work{&choice, {&data}};
  const auto values = [&] {
    const HostTensor host = *executor.download(data);
    return host.as<int32_t>()[2];
  };
  Recording old = *executor.record({&work, 1});
  ASSERT_TRUE(executor.run(old));
  EXPECT_EQ(values(), 1);

  Pipelines pipelines(device().handles(), library, {});
  ASSERT_TRUE(pipelines.init());
  int expected = 1;
  for (int term = 10; term < 15; ++term) {
    const std::string glsl = shift_by(term);
    const KernelKit newer(sketch_with(glsl));
    ASSERT_TRUE(dispatch::replace_file(path, newer.blob()));
    const auto changed = library.reload(path);
    ASSERT_TRUE(changed) << to_text(changed.error());
    EXPECT_EQ(*changed, 1u);
    Recording recording = *executor.record({&work, 1});
    ASSERT_TRUE(executor.run(recording));
    EXPECT_EQ(values(), expected += term);
    ASSERT_TRUE(executor.run(old));
    EXPECT_EQ(values(), expected += 1) << "a recording keeps its pipelines";
    ASSERT_TRUE(pipelines.get(dispatch::source_of(choice.launches.front())));
    EXPECT_EQ(pipelines.count(), 1u);
  }
}

TEST_F(PipelinesTest, KeepTheirCacheOnDisk) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "cache" / dispatch::cache_file_name(device().profile());
  {
    Pipelines pipelines(device().handles(), library(), {.pipeline_cache_folder = folder.path() / "cache"});
    ASSERT_TRUE(pipelines.init());
    EXPECT_FALSE(pipelines.was_cache_read());
    get(pipelines, "copy.i32");
    EXPECT_TRUE(pipelines.has_unsaved_pipelines());
    ASSERT_TRUE(pipelines.save_cache());
    EXPECT_FALSE(pipelines.has_unsaved_pipelines());
  }
  ASSERT_TRUE(std::filesystem::exists(path));
  {
    Pipelines pipelines(device().handles(), library(), {.pipeline_cache_folder = folder.path() / "cache"});
    ASSERT_TRUE(pipelines.init());
    EXPECT_TRUE(pipelines.was_cache_read());
    get(pipelines, "copy.i32");
  }
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(40);
  file.put('\x7f');
  file.close();
  Pipelines pipelines(device().handles(), library(), {.pipeline_cache_folder = folder.path() / "cache"});
  ASSERT_TRUE(pipelines.init()) << "a damaged file is no error";
  EXPECT_FALSE(pipelines.was_cache_read());
  get(pipelines, "copy.i32");
}

TEST_F(PipelinesTest, AreSavedByTheExecutorsEnd) {
  const TemporaryFolder folder;
  const auto path = folder.path() / dispatch::cache_file_name(device().profile());
  {
    Executor keeping = make_executor({.pipeline_cache_folder = folder.path()});
    auto data = keeping.allocate(DType::i32, {3}, Storage::buffer);
    const Choice add = kit().choice("add.i32", {1, 1, 1}, Count{3, 1});
    const Work work{&add, {&*data}};
    ASSERT_TRUE(keeping.record({&work, 1}));
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(PipelinesTest, SayWhereTheyCannotBeSaved) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "x";
  Executor keeping = make_executor({.pipeline_cache_folder = folder.path() / "file"});
  const Done saved = keeping.save_pipeline_cache();
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().kind, Error::Kind::system);
}

TEST_F(PipelinesTest, SayWhatTheDriverSaysOfThem) {
  const Choice copy = kit().choice("copy.i32", {1, 1, 1}, Count{2, 0});
  const auto unasked = executor().statistics(copy);
  ASSERT_FALSE(unasked) << "this device was not opened for it";
  EXPECT_NE(to_text(unasked.error()).find("VK_KHR_pipeline_executable_properties"), std::string::npos);

  auto wanting = Device::open({}, {.pipeline_statistics = true});
  ASSERT_TRUE(wanting) << to_text(wanting.error());
  auto there = Executor::create(*wanting, library(), {});
  ASSERT_TRUE(there) << to_text(there.error());
  const auto statistics = there->statistics(copy);
  EXPECT_EQ(static_cast<bool>(statistics), wanting->has_pipeline_statistics());
  if (!statistics) return;
  ASSERT_EQ(statistics->size(), copy.launches.size());
  for (const Statistic& s : statistics->front()) {
    EXPECT_FALSE(s.name.empty());
    EXPECT_FALSE(s.value.empty()) << s.name;
  }
}

TEST(Statistics, AreJson) {
  const std::vector<std::vector<Statistic>> launches = {{{"Register Count", "40"}, {"a \"b\"\n\\", "true"}}, {}};
  EXPECT_EQ(to_json(launches), R"([{"Register Count": 40, "a \"b\"\u000a\\": true}, {}])");
}

}  // namespace
}  // namespace qgen
