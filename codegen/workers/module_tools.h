// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The tools of third parties that work on one module: glslang, SPIRV-Tools and SPIRV-Cross. They recurse, unroll and
// inline as a template demands. So the program calls them in workers, where a text that overloads them costs only a
// process; a test may call them here.
//
//   ProcessPool pool = ...;
//   auto spirv = in_workers(pool).compile(glsl, Optimization::performance);
//   if (!spirv) report(spirv.error().faults);
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/compile/compile.h"
#include "codegen/reflect/interface.h"
#include "codegen/workers/process_pool.h"

namespace qgen::workers {

struct Fault {
  uint32_t line = 0;  // of the text that was compiled; 0: of the module as a whole
  std::string message, expected, hint;
};

// Why a tool gave nothing.
struct Refusal {
  std::vector<Fault> faults;
  bool is_cut_off = false;  // it met a limit: the module's like will meet it too
  double seconds = 0;       // that it took to
};

struct Reflected {
  reflect::Interface interface;
  std::vector<reflect::Resources> resources;  // of each row
  compile::Spirv stripped;                    // the stored module
};

struct ModuleTools {
  std::function<Outcome<compile::Spirv, Refusal>(std::string_view glsl, compile::Options)> compile;
  // Specialization constant i has the i-th value of a row.
  std::function<Outcome<Reflected, Refusal>(const compile::Spirv&, const std::vector<std::vector<uint32_t>>& rows)>
      reflect;
  std::function<Outcome<std::string, reflect::NoTranslation>(std::span<const uint32_t>, reflect::Language)> translate;
};

ModuleTools in_this_process();

// The pool that in_workers() calls; made before other threads are.
std::unique_ptr<ProcessPool> make_pool(size_t most_workers, const Limits& limits);
// The pool must outlive the returned object.
ModuleTools in_workers(ProcessPool& pool);

}  // namespace qgen::workers
