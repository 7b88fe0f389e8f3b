// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#define VMA_IMPLEMENTATION
#include "runtime/dispatch/vma.h"
