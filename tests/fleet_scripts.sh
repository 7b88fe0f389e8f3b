#!/bin/bash
# fleet_scripts.sh SOURCE: the scripts of scripts/fleet, with a made-up qgen-tune, adb and sbatch.
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "fleet_scripts: $*" >&2; exit 1; }
mkdir "$work"/{bin,kit,phones}

# It writes what it was asked for.
cat >"$work/bin/qgen-tune" <<'END'
#!/bin/bash
while [ $# -gt 0 ]; do
  case $1 in
    --shard) shard=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    *) options+=("$1"); shift ;;
  esac
done
echo "$shard [${options[*]}]" >"$out"
END
chmod +x "$work/bin/qgen-tune"
export QGEN_TUNE=$work/bin/qgen-tune

# share: tasks beyond N are copies, and what is complete stays.
"$source/scripts/fleet/share" tune 3 8 "$work/results" --budget 5
[ "$(cat "$work/results/3-of-8.yaml")" = "3/8 [--budget 5]" ] || fail "share 3 is $(cat "$work/results/3-of-8.yaml")"
"$source/scripts/fleet/share" tune 11 8 "$work/results" --budget 6
[ "$(cat "$work/results/11-of-8.yaml")" = "3/8 [--budget 6]" ] || fail "task 11 is no copy of share 3"
"$source/scripts/fleet/share" tune 3 8 "$work/results" --budget 7 >/dev/null
[ "$(cat "$work/results/3-of-8.yaml")" = "3/8 [--budget 5]" ] || fail "share 3 was done again"
! "$source/scripts/fleet/share" tune 0 8 "$work/results" 2>/dev/null || fail "task 0 was taken"

# adb: three phones. One fails in its second share, one cannot be written to; the third does what is left.
cat >"$work/bin/adb" <<'END'
#!/bin/bash
phones=$PHONES
if [ "$1" = devices ]; then printf 'List of devices attached\none\tdevice\ntwo\tdevice\nthree\tdevice\nfour\toffline\n'; exit; fi
[ "$1" = -s ] || exit 9
phone=$2 what=$3; shift 3
there=$phones/$phone
case $what in
  push) [ "$phone" != two ] && mkdir -p "$there" && cp -r "$1" "$there/" ;;
  pull) cp "$there/$(basename "$1")" "$2" ;;
  shell)
    echo . >>"$there/count"
    [ "$phone" != one ] || [ "$(wc -l <"$there/count")" -lt 2 ] || exit 1
    # As the phone's shell does with /data/local/tmp/qgen.
    bash -c "${1//\/data\/local\/tmp\/qgen/$there}"
    ;;
  *) exit 9 ;;
esac
END
chmod +x "$work/bin/adb"
cp "$work/bin/qgen-tune" "$work/kit/qgen-tune"
PHONES=$work/phones ADB=$work/bin/adb "$source/scripts/fleet/adb" --copies 2 "$work/kit" 3 "$work/phone-results" \
  --operator 'a b' >"$work/adb.log" && fail "copies of one share were all done by one phone"
# The third phone has done each share once, and the first one share: copies are for other phones.
done_count=$(ls "$work/phone-results" | grep -c '\.yaml$')
[ "$done_count" = 4 ] || fail "$done_count results, and should be 4: $(cat "$work/adb.log")"
rm -rf "$work/phones"/* "$work/phone-results"
PHONES=$work/phones ADB=$work/bin/adb "$source/scripts/fleet/adb" "$work/kit" 5 "$work/phone-results" \
  --operator 'a b' >"$work/adb.log" || fail "five shares were not done: $(cat "$work/adb.log")"
for share in 1 2 3 4 5; do
  [ "$(cat "$work/phone-results/$share-of-5.yaml")" = "$share/5 [--operator a b]" ] || fail "share $share is wrong"
done
grep -q "two: the kit cannot be copied" "$work/adb.log" || fail "phone two is not told of"
grep -q "one: share .* failed" "$work/adb.log" || fail "phone one is not told of"

# slurm: an array of N tasks for each copy, and a job that waits for it.
cat >"$work/bin/sbatch" <<'END'
#!/bin/bash
printf '%s\n' "$*" >>"$LOG"
wc -l <"$LOG"
END
chmod +x "$work/bin/sbatch"
job=$(LOG=$work/sbatch.log PATH=$work/bin:$PATH SBATCH_OPTIONS="--gres=gpu:1" \
  "$source/scripts/fleet/slurm" tune --copies 2 3 "$work/slurm-results" --budget 60)
[ "$job" = 2 ] || fail "the last job is $job"
grep -q -- "--requeue .*--gres=gpu:1 --array=1-6 --wrap .*share tune  \$SLURM_ARRAY_TASK_ID 3 .*--budget 60" \
  "$work/sbatch.log" || fail "the array is: $(head -1 "$work/sbatch.log")"
grep -q -- "--dependency=afterok:1 .*--wrap .*merge .*6-of-3.yaml .*table.yaml" "$work/sbatch.log" ||
  fail "the merge is: $(tail -1 "$work/sbatch.log")"
echo "fleet scripts: passed"
