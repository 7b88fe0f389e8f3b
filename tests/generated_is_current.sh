#!/bin/bash
# generated_is_current.sh QGEN SOURCE: checks that generated/ in git equals the output for today's specs/ and templates/.
# A kernels.blob of an earlier run is not in git, and may be older.
set -uo pipefail
cd "$2"
said=$("$1" specs -o generated --check 2>&1)
code=$?
said=$(grep -v ': *generated/kernels\.blob$' <<<"$said")
echo "$said"
[ $code != 1 ] && exit $code
! grep -qE '^(differs|missing|orphan):' <<<"$said"
