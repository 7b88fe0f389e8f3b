// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The linear index of this workgroup. The dispatcher folds a one-dimensional grid that exceeds the device's limit into
// y and z. There may be more workgroups than requested, so every kernel checks its bounds.
$gives uint workgroup_index()

uint workgroup_index() {
  return gl_WorkGroupID.x + gl_NumWorkGroups.x * (gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z);
}
