// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The fixture of the tests that run the runtime's programs as their users do: a separate folder, and a function to run
// one of them in it.
//
//   TEST_F(RuntimeProgram, Lists) { EXPECT_EQ(run("qgen-run", {"--list"}).code, 0); }
#pragma once

#include <string>

#include "runtime/engine/tensor/npy.h"
#include "tests/codegen/program/run_qgen.h"
#include "tests/runtime/engine/dispatch/temporary_folder.h"
#include "tests/support/tensors.h"

namespace qgen::tests {

class RuntimeProgram : public ::testing::Test {
 protected:
  // Of the same build as this test.
  static std::string path_of(const std::string& program) {
    return (fs::read_symlink("/proc/self/exe").parent_path() / "../runtime" / program).lexically_normal().string();
  }
  Answer run_path(const std::string& path, const Arguments& arguments, const Environment& environment = {}) {
    const fs::path outputs = outputs_.path() / std::to_string(++runs_);
    return Running(path, arguments, {.folder = here(), .environment = environment}, outputs).wait();
  }
  Answer run(const std::string& program, const Arguments& arguments, const Environment& environment = {}) {
    return run_path(path_of(program), arguments, environment);
  }
  Answer qgen_run(const Arguments& arguments) { return run("qgen-run", arguments); }

  const fs::path& here() const { return folder_.path(); }
  // A case of q8ta_relu with scales of 1 in `name`, with tensors that the operator makes of each other.
  void write_case(const std::string& name, std::string_view json, int64_t elements = 4) const {
    fs::create_directories(here() / name);
    write_text(here() / name / "case.json", json);
    for (const char* tensor : {"input", "output"}) {
      ASSERT_TRUE(save_npy(here() / name / (std::string(tensor) + ".npy"), zeros(DType::i8, {elements})));
    }
  }

 private:
  qgen::testing::TemporaryFolder folder_, outputs_;
  int runs_ = 0;
};

}  // namespace qgen::tests
