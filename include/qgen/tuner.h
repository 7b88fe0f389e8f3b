// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A program that tunes the operators of a library, as qgen-tune does.
//
// Example: examples/headers/tuner.cpp
#pragma once

#include "runtime/workshop/tuner/program.h"
