// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A library that is no driver; and the one that the needy driver is linked with and never finds.
int qgen_stranger(void) { return 1; }
