// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Errors are common to generator and runtime; programs that use the runtime include them by this name.
#pragma once

#include "common/error.h"
