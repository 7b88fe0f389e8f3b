// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What infer() of an operator of one's own reads, and what typed functions are made of.
#pragma once

#include "runtime/engine/calls/given.h"
#include "runtime/engine/calls/tensor_view.h"
