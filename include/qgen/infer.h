// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// For the infer() of your own operators, and for the typed functions that qgen generates.
//
// Example: examples/reduction/infer.cpp
#pragma once

#include "runtime/engine/calls/infer_arguments.h"
#include "runtime/engine/calls/tensor_view.h"
#include "runtime/engine/calls/typed_call.h"
