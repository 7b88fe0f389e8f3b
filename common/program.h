// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The parts of main() that all programs of qgen share.
#pragma once

#include <functional>
#include <string_view>

namespace qgen {

constexpr int kWrongMachineCode = 3;  // of --help: the disk is full, memory is short

// Does the work and returns the program's exit code. If memory ran out, a thread could not start, or standard output
// could not be written, the code is kWrongMachineCode, with a sentence on standard error. qgen throws nothing on
// purpose: exceptions that arrive here come from the machine. A file past its limit is an error like a full disk from
// here on, and no signal. A closed standard stream leads nowhere from here on. Writing results to it is still an error;
// losing a log is not (common/log.h).
int run_program(std::string_view name, const std::function<int()>& work);

}  // namespace qgen
