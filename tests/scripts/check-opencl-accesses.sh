#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs the OpenCL plugin's kernels and copies in Oclgrind, which checks each memory access.
set -u
: "${FERRY_TEST_BUILDDIR:?}" "${FERRY_TEST_SRCDIR:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

# left_out REASON
left_out() {
    skip opencl_accesses "$1"
    finish opencl-accesses
}

case " ${FERRY_TEST_PLUGINS:-} " in
*' opencl '*) ;;
*) left_out 'the OpenCL plugin was not built' ;;
esac
command -v oclgrind >/dev/null 2>&1 || left_out 'there is no oclgrind (Debian: oclgrind)'

programs=$FERRY_TEST_BUILDDIR/tests/unit
if grep -q '__[at]san_init' "$programs/test-opencl-kernels"; then
    left_out 'a sanitizer and the simulator both have to be loaded first'
fi

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

silent() {
    [ ! -s "$log" ] || {
        head -n 40 "$log"
        false
    }
}

# under PROGRAM [OPTION…]: the program passes in the simulator, which reports nothing.
under() {
    name=$1
    shift
    : >"$log"
    check "${name}_passes" env FERRY_TEST_NO_HANDLERS=1 oclgrind --log "$log" --data-races "$@" "$programs/$name"
    check "${name}_accesses_only_its_own_memory" silent
}

# with small groups a reduction of a few thousand elements takes every path
under test-opencl-kernels --max-wgsize 16 --compute-units 2
under test-opencl

# The groups of ferry check that take seconds in the simulator; with FERRY_TEST_LONG all (minutes)
# except three: threads, because Oclgrind's queues are not thread-safe as OpenCL requires; peer,
# which requires two devices; and ops, which takes too long (the kernels' own test, above, runs
# operations).
groups=descriptor,memory,copy,memset,scal,copy-op,fill,gemv,import,failure,fork,exit,coherence
passes=13
if [ -n "${FERRY_TEST_LONG:-}" ]; then
    groups=$groups,axpy,convert,dot,asum,sumsq,gemm,queues,events,leaks
    passes=22
fi

# all_pass: whether every group passes, and none is reported as not offered
all_pass() {
    out=$(oclgrind --log "$log" "$FERRY_TEST_COMMAND" check opencl --timeout 1200 --only "$groups" 2>&1)
    case $out in
    *": $passes passed, 0 failed, 0 not offered"*) ;;
    *)
        echo "$out"
        false
        ;;
    esac
}

: >"$log"
check groups_of_ferry_check_pass all_pass
check groups_of_ferry_check_access_only_their_own_memory silent
finish opencl-accesses
