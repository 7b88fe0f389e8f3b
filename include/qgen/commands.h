// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Works in command buffers of the caller.
#pragma once

#include "runtime/engine/dispatch/commands.h"
