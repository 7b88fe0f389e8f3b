// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// ONNX models as graphs.
//
// Example: examples/headers/onnx.cpp
#pragma once

#include "runtime/models/onnx/import.h"
#include "runtime/models/onnx/note.h"
#include "runtime/models/onnx/read_limits.h"
