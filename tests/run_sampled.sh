#!/bin/sh
# run_sampled.sh COMMAND...: the command on a sample of kernels, which the environment says as for tests/kernels.
exec "$@" --all-kernels --sample "${QGEN_TEST_SHARE:-0.0005}" --seed "${QGEN_TEST_SEED:-0}"
