// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// GLSL -> SPIR-V, in process: glslang, then the optimiser, then the validator. A failure of any of the three is an
// error; nothing falls back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/outcome.h"
#include "vocabulary/target.h"

namespace qgen::compile {

enum class Optimization : uint8_t { none, size, performance };

struct Options {
  // NOLINTNEXTLINE(google-explicit-constructor): an optimization is options enough
  Options(Optimization with, Target version = Target::vulkan1_3) : optimization(with), target(version) {}
  Optimization optimization;
  Target target;
};

using Spirv = std::vector<uint32_t>;

struct Message {
  uint32_t line = 0;  // of the text given; 0: of the module as a whole
  std::string text;   // "'acc': undeclared identifier"
};

// Compute shaders. Safe to call from many threads; the first call on a thread pays for
// glslang's built-ins. Debug names are kept for blocks, their members and specialization constants (reflection reads
// them) and stripped from the module by strip(). Errors, at most 100 and of a few lines each; also a module past 4 MiB.
Outcome<Spirv, std::vector<Message>> compile(std::string_view glsl, Options options);

// The module as it is stored: without names and other debug instructions, and with ids renumbered in order of
// appearance.
Spirv strip(const Spirv& spirv);

// "glslang 15.2.0, SPIRV-Tools v2025.1": part of every cache key.
std::string versions();

}  // namespace qgen::compile
