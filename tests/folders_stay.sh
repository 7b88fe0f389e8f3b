#!/bin/bash
# folders_stay.sh SOURCE WORK: scripts that remove a folder, or folders in it, refuse those that they did not write.
set -euo pipefail
source=$1 work=$2
rm -rf "$work"
mkdir -p "$work/mine/devices" "$work/mine/conformance"
touch "$work/mine/devices/mine.yaml" "$work/mine/try_device" "$work/file"

# refused TEXT COMMAND...: it ends with 2, and says this.
refused() {
  local said code=0 text=$1; shift
  said=$(cd "$work" && "$@" 2>&1) || code=$?
  [ "$code" = 2 ] || { echo "$* ended with $code, not with 2: $said"; exit 1; }
  [[ $said = *"$text"* ]] || { echo "$* did not say '$text', but: $said"; exit 1; }
}
no_kit="has files, and device_kit did not write them: it has no qgen-run"
refused "$work/mine $no_kit" "$source/scripts/device_kit" mine
refused "$work/mine $no_kit" "$source/scripts/device_kit" --arch "$(uname -m)" ./mine/
refused "$source $no_kit" "$source/scripts/device_kit" "$source"
refused "$source/tests $no_kit" "$source/scripts/device_kit" "$source/tests"
refused "$work/file is no folder" "$source/scripts/device_kit" file
for wrong in -x --kit ''; do refused "usage: scripts/device_kit" "$source/scripts/device_kit" "$wrong"; done
refused "usage: scripts/device_kit" "$source/scripts/device_kit"
refused "usage: scripts/device_kit" "$source/scripts/device_kit" a b
[[ $("$source/scripts/device_kit" --help) = *"packs FOLDER for a machine"* ]]
no_release="has files, and release did not write them: it has no SHA256SUMS"
refused "$work/mine $no_release" "$source/scripts/release" mine
refused "$source $no_release" "$source/scripts/release" --try "$source"
[ -e "$work/mine/devices/mine.yaml" ] && [ -e "$source/devices/README.md" ] && [ -e "$source/tests/conformance" ]

# Those that may be written.
. "$source/scripts/own_folder.sh"
mkdir "$work/empty" "$work/old"
touch "$work/old/SHA256SUMS"
own_folder release "$work/new" SHA256SUMS
own_folder release "$work/empty" SHA256SUMS
own_folder release "$work/old" SHA256SUMS
