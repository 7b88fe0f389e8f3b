#!/bin/bash
# try_device_lends.sh SOURCE WORK: try_device on machines that lack libraries, with a simulated linker's cache and
# simulated programs.
set -euo pipefail
source=$1 work=$2
rm -rf "$work"
mkdir -p "$work/kit/if_missing/libvulkan.so.1" "$work/kit/if_missing/libEGL.so.1" "$work/bin"
cp "$source/tests/try_device" "$work/kit/"
touch "$work/kit/if_missing/libvulkan.so.1/libvulkan.so.1" "$work/kit/if_missing/libEGL.so.1/libEGL.so.1"
for program in qgen-info qgen-run qgen-tune operators_bench test_none; do
  printf '#!/bin/sh\necho "$LD_LIBRARY_PATH"\n' >"$work/kit/$program"
  chmod +x "$work/kit/$program"
done

# machine LIBRARY...: a machine whose linker knows these.
machine() {
  echo '#!/bin/sh' >"$work/bin/ldconfig"
  for library; do echo "printf '\t%s (libc6,x86-64) => /lib\n' $library" >>"$work/bin/ldconfig"; done
  chmod +x "$work/bin/ldconfig"
}
# expect CODE WORDS...: the exit code of try_device, and the beginning of its output.
expect() {
  local code=0 said
  said=$(PATH=$work/bin:$PATH LD_LIBRARY_PATH=${libraries:-} "$work/kit/try_device" 0 "$work/results" 2>&1) || code=$?
  [ $code = "$1" ] && [[ $said == "$2"* ]] && return
  printf 'expected %s and "%s", got %s and:\n%s\n' "$1" "$2" $code "$said"
  exit 1
}
lent() { grep -q "if_missing/$1" "$work/results/device_profile.txt"; }

machine libvulkan.so.1
expect 0 device_profile
! lent libvulkan.so.1

machine libother.so.1
expect 0 'libvulkan.so.1 is not on this machine: the kit lends it'
lent libvulkan.so.1
! lent libEGL.so.1

machine libvulkan.so.1 libGLX_nvidia.so.0
expect 0 'libEGL.so.1 is not on this machine: the kit lends it'
lent libEGL.so.1
machine libvulkan.so.1 libGLX_nvidia.so.0 libEGL.so.1
expect 0 device_profile
mkdir "$work/own" && touch "$work/own/libEGL.so.1"
machine libvulkan.so.1 libGLX_nvidia.so.0
libraries=$work/own expect 0 device_profile

rm -r "$work/kit/if_missing/libvulkan.so.1"
machine libother.so.1
expect 3 'try_device: libvulkan.so.1 is neither on this machine nor in the kit: install the package libvulkan1'
