// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A program that runs the operators of a library by name, as qgen-run does.
//
// Example: examples/headers/runner.cpp
#pragma once

#include "runtime/workshop/reference/exact.h"
#include "runtime/workshop/reference/references.h"
#include "runtime/workshop/runner/program.h"
