#!/bin/bash
# generated_is_current.sh QGEN SOURCE: generated/ in git is what specs/ and templates/ make now. A kernels.blob that an
# earlier run left beside it is not in git, and may be older.
set -uo pipefail
cd "$2"
said=$("$1" specs -o generated --check 2>&1)
code=$?
said=$(grep -v ': *generated/kernels\.blob$' <<<"$said")
echo "$said"
[ $code != 1 ] && exit $code
! grep -qE '^(differs|missing|orphan):' <<<"$said"
