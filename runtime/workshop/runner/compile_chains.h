// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Compiles chains with the generator, which is a program beside: each chain with the spec and the template of the
// operator `pointwise`, and its steps (chain_glsl.h) in the place of the interpreter's loop.
//
//   const auto generator = find_generator("", "");
//   const auto blob = compile_chains(chains, *generator, {});
//   write_chains(chains, *blob)                              // chain_file.h
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/operators/pointwise/chain_glsl.h"

namespace qgen::runner {

struct Generator {
  std::string program;    // qgen
  std::string operators;  // the folder with the folders specs and templates of the shipped operators
};
// Empty: the program beside this one, or one of PATH; the folder of this installation, or the current one. Errors: the
// folder has no template of the steps.
Expected<Generator> find_generator(const std::string& program, const std::string& operators);

// A blob with the module of each chain, in their order. `on_chain` hears how many are compiled; it may be empty.
// Errors: the program cannot be started or fails, with its own message.
Expected<std::vector<std::byte>> compile_chains(std::span<const chains::TypedChain> chains, const Generator& generator,
                                                const std::function<void(size_t done, size_t total)>& on_chain);

}  // namespace qgen::runner
