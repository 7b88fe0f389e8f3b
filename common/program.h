// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The parts of main() that all programs of qgen share.
#pragma once

#include <functional>
#include <string_view>

namespace qgen {

constexpr int kWrongMachineCode = 3;  // of --help: the disk is full, memory is short

// Does the work and gives the program's exit code: that of the work or, where memory ran out, a thread could not be
// started or standard output could not be written to its end, kWrongMachineCode with a sentence on standard error. qgen
// throws nothing on purpose: what arrives here is the machine's. A file past its limit is an error like a full disk
// from here on, and no signal. A standard stream that is closed leads nowhere from here on: writing results to one is
// still an error, and losing a log is not (common/log.h).
int run_program(std::string_view name, const std::function<int()>& work);

}  // namespace qgen
