// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A device of the engine and two operators on it. docs/engines.md shows two_operators.cpp.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "own_vulkan.h"
#include "qgen/adopt.h"
#include "qgen/call.h"

// The value of an Expected. If there is none, prints its error to stderr and ends the program.
template <typename T>
T or_exit(qgen::Expected<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "%s\n", to_text(result.error()).c_str());
  std::exit(1);
}

qgen::Device adopt(const engine::Base& base);
void record_two(qgen::Context& context, VkCommandBuffer commands, const qgen::DeviceTensor& x,
                const qgen::DeviceTensor& y);
