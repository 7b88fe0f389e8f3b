// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A request from the arguments of a program: "input=x.npy", "block_size=1,64", "input=texture3d".
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/engine/calls/registry.h"

namespace qgen::runner {

struct RequestText {
  std::vector<std::string> inputs;      // name=file.npy
  std::vector<std::string> shapes;      // name=4096x4096:f32, random (random_input.h)
  std::vector<std::string> attributes;  // name=value
  std::vector<std::string> storages;    // name=texture3d
  std::vector<std::string> layouts;     // name=channels_packed; says the storage too, where there is only one
};

// Reads files, and parses values as the operator's attributes. Errors quote the argument.
Expected<Request> parse_request(const OperatorEntry& entry, const RequestText& text);

// The complete request. Its operands are inferred and compared with the device's limits before random inputs are made.
// Errors: the errors of parse_request(), complete() and infer_call(), and tensors too large for the device or the host.
Expected<Request> read_request(const OperatorEntry& entry, const RequestText& text, const DeviceProfile& device);

// The file of each requested output, by the output's name. Errors: an output that the operator does not have, or
// that is given twice; one file for two, or for an output and one of `inputs`, which are typed as the outputs are.
using OutputFiles = std::map<std::string, std::string, std::less<>>;
Expected<OutputFiles> parse_outputs(const OperatorEntry& entry, const std::vector<std::string>& typed,
                                    const std::vector<std::string>& inputs);

// "name=value". Error: there is no '=', or nothing before it.
struct Named {
  std::string name, value;
};
Expected<Named> split_named(std::string_view flag, std::string_view text);

// What `OP --help` and `--list` print.
std::string help_of(const OperatorEntry& entry, const OperatorInfo* op);
std::string list_text(OperatorEntries operators);

}  // namespace qgen::runner
