// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The supervisor with simple workers, which open no device.
#include "runtime/workshop/tuner/supervisor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

namespace qgen::tuner {
namespace {

// A worker's data to keep, for example a pipeline cache, are kept.
TEST(WorkerProcess, EndsByItselfWhenItsInputDoes) {
  const auto kept = std::filesystem::temp_directory_path() / ("qgen-worker-" + std::to_string(::getpid()));
  {
    auto worker = WorkerProcess::start({.work = [&] {
      std::cout << R"({"ready": true})" << std::endl;
      for (std::string line; std::getline(std::cin, line);) std::cout << line << std::endl;
      return std::ofstream(kept) ? 0 : 1;
    }});
    ASSERT_TRUE(worker) << to_text(worker.error());
    EXPECT_TRUE(worker->ask({{"do", "nothing"}}, {}).answer);
    EXPECT_FALSE(std::filesystem::exists(kept));
  }
  EXPECT_TRUE(std::filesystem::remove(kept));
}

}  // namespace
}  // namespace qgen::tuner
