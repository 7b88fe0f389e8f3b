// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What generated tables are built by. Programs have no use for it.
#pragma once

#include "qgen/kernels.h"
#include "qgen/vocabulary.h"
#include "runtime/engine/library/table_builder.h"
