// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The same as common/outcome.h, by the name that programs include.
#pragma once

#include "common/outcome.h"
