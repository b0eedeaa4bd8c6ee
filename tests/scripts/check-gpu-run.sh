#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The package for a machine with a GPU, run on the doubles: packed, moved to another folder, and
# started as it would be there. Its report must distinguish a trial on doubles from a real run, and
# list the failures.
set -u
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

if [ ! -f "$FERRY_TEST_BUILDDIR/backends/.libs/ferry_cuda.so" ]; then
    skip 'a packed tree runs elsewhere' 'the CUDA plugin was not built'
    finish 'gpu run'
fi
if [ -n "${FERRY_TEST_QUICK-}" ]; then
    skip 'a packed tree runs elsewhere' 'FERRY_TEST_QUICK leaves it out'
    finish 'gpu run'
fi
folder=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT # make distcheck's sources are read-only
unset CUDA_DOUBLE_DEVICES CUDA_DOUBLE_DRIVER

# run STATUS TEXT…: checks the exit status, and that each text is in the report. `sections` and `seconds` are
# arguments of the run, if they are set; with `signal` it is ended after the first line of its second section.
sections='' seconds='' signal=''
run() {
    wanted=$1
    shift
    status=0
    : >"$folder/report"
    sh "$folder/there/run" -c "$FERRY_TEST_BUILDDIR/tests/doubles/lib" -o "$folder/report" \
        ${sections:+-s "$sections"} ${seconds:+-l "$seconds"} \
        -t 'test-status test-cuda-queues' >"$folder/out" 2>&1 &
    if [ -n "$signal" ]; then
        until grep -q "^== $signal" "$folder/report"; do sleep 0.1; done
        kill -TERM $!
    fi
    wait $! || status=$?
    if [ "$status" -ne "$wanted" ]; then
        printf 'exit status %s in place of %s\n' "$status" "$wanted"
        cat "$folder/out"
        return 1
    fi
    for text; do
        grep -q -e "$text" "$folder/report" && continue
        printf 'the report has no "%s"\n' "$text"
        cat "$folder/report"
        return 1
    done
}

check 'what a GPU machine needs is packed' \
    sh "$FERRY_TEST_SRCDIR/tests/gpu/pack" "$FERRY_TEST_BUILDDIR" "$folder/here"
mv "$folder/here" "$folder/there"
check 'a packed tree runs elsewhere, and says that it was a trial' \
    run 0 'a trial on the doubles of CUDA: no GPU' '^ferry-test: status: [1-9][0-9]* passed, 0 failed' \
    '^ferry-test: cuda plugin, queues (double): [1-9][0-9]* passed, 0 failed' \
    '^pass  *gemm ' '^== 0 programs failed'
check 'without a driver nothing is run' env CUDA_DOUBLE_DRIVER=none \
    sh -c 'sh "$1/there/run" -c "$2" -o "$1/report" >"$1/out"; test $? -eq 77 &&
        grep -q "no NVIDIA driver" "$1/report" && grep -q "nothing was run" "$1/report"' \
    sh "$folder" "$FERRY_TEST_BUILDDIR/tests/doubles/lib"
printf '#!/bin/sh\necho FAIL a_sentence\nexit 1\n' >"$folder/there/tests/unit/test-status"
chmod +x "$folder/there/tests/unit/test-status"
check 'what fails is named and counted' run 1 'test-status: no result, status 1' 'FAIL a_sentence' \
    '^== 1 programs failed: test-status (status 1)$'
printf '#!/bin/sh\necho ferry-test: status: 8 passed, 0 failed\nexit 124\n' >"$folder/there/tests/unit/test-status"
check 'what takes too long is named, whatever it had done by then' \
    run 1 '^== 1 programs failed: test-status (more than 120 seconds)$'
sections=tests signal=tests
printf '#!/bin/sh\nsleep 60\n' >"$folder/there/tests/unit/test-status"
check 'a signal ends a run, and the report says what is left' \
    run 1 '^the rest of tests: a signal stopped it$' '^== 0 programs failed'
signal='' sections='tests nets sanitizer' seconds=0
parts=4
[ -d "$folder/there/data" ] || parts=5 # the models and layer cases, too
check 'no program starts when the time is over' run 0 '^test-status: no time was left$' \
    '^random-nets: no time was left$' "^== $parts parts are left\$" '^== 0 programs failed'
seconds=''
rm "$folder/there/tests/unit/test-status" "$folder"/there/tests/random/test-random-nets*
echo garbage >"$folder/there/tests/unit/test-status.gz"
check 'a file that is damaged or absent is named, and the rest runs' run 1 '^test-status: it cannot be unpacked$' \
    '^ferry-test: cuda plugin, queues (double): [1-9][0-9]* passed, 0 failed' \
    '^random-nets: the program is not in the pack$' '^== 1 programs failed: test-status (it cannot be unpacked)$'
printf '#!/bin/sh\nkill -SEGV $$\n' >"$folder/there/tools/ferry/ferry"
sections='check tests'
check 'a command that crashes ends no run' run 1 '^ferry-test: cuda plugin, queues (double): [1-9][0-9]* passed, 0 failed' \
    'programs failed: devices (status 139), check (status 139)'
finish 'gpu run'
