#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Collective operations on blobs with several ranks on this machine (tests/mpi).
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"
# shellcheck source=tests/mpi/launch.sh
. "$FERRY_TEST_SRCDIR/tests/mpi/launch.sh"

program=$FERRY_TEST_BUILDDIR/tests/mpi/ranks
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

why=$(cannot_launch)
if [ -n "$why" ]; then
    skip operations_of_several_ranks "$why"
    finish mpi
fi

# cases WORD RANKS BACKEND: counts the lines of the cases; a run without any has failed.
cases() {
    FERRY_BACKEND=$3 launch "$2" "$program" "$1" >"$scratch/out" 2>"$scratch/err"
    status=$?
    said=0
    while read -r verdict name; do
        case $verdict in
        pass) pass "$name" ;;
        FAIL) fail "$name" "$(grep '^ *rank' "$scratch/out")" ;;
        *) continue ;;
        esac
        said=$((said + 1))
    done <"$scratch/out"
    if [ "$status" -ne 0 ] && ! grep -q '^FAIL' "$scratch/out" || [ "$said" -eq 0 ]; then
        fail "ranks_$1_finish" "status $status" "$(cat "$scratch/out" "$scratch/err")"
    fi
}

# says NAME FILE PATTERN
says() {
    if grep -q -E "$3" "$2"; then
        pass "$1"
    else
        fail "$1" "$(cat "$2")"
    fi
}

cases collective 3 sim
cases levels 2 sim
cases held 2 sim
case " ${FERRY_TEST_PLUGINS-} " in
*' cuda '*) cases device 2 cuda ;;
*) skip an_mpi_that_takes_device_memory_is_handed_it 'the CUDA plugin is not built' ;;
esac

# The share of communication that is hidden behind the backward pass of layers that sleep.
FERRY_BACKEND=cpu launch 2 "$FERRY_TEST_BUILDDIR/tests/mpi/overlap" >"$scratch/out" 2>"$scratch/err"
if awk '/^hidden: / { found = 1; good = $2 >= 0.8 } END { exit !(found && good) }' "$scratch/out"; then
    pass sums_overlap_the_backward_pass
else
    fail sums_overlap_the_backward_pass "$(cat "$scratch/out" "$scratch/err")"
fi

FERRY_BACKEND=sim launch 3 "$program" broken >"$scratch/out" 2>"$scratch/err"
says an_error_of_mpi_names_rank_call_and_blob "$scratch/out" \
    '^1: -16 rank 1 of 3: MPI_Iallreduce of 8 x F32, diff of "numbers": .'
says the_contents_of_a_failed_operation_are_lost "$scratch/out" '^1: lost 1$'
says later_operations_fail_at_once "$scratch/out" '^1: later -16$'
says an_operation_that_never_began_changes_nothing "$scratch/out" '^1: untouched 1$'
says the_other_ranks_report_the_reason "$scratch/out" '^2: -16 rank 1: a plug was pulled$'
FERRY_BACKEND=sim launch 2 "$program" told >"$scratch/out" 2>"$scratch/err"
status=$?
says a_rank_that_waits_for_an_ended_rank_has_its_message "$scratch/out" '^1: -16 rank 0: the data are not there$'
check a_failed_run_exits_with_nonzero_status test "$status" -ne 0
FERRY_BACKEND=cpu launch 2 "$program" apart >"$scratch/out" 2>"$scratch/err"
says an_error_on_the_world_communicator_is_an_error_too "$scratch/out" '^1: -16 rank 1 of 2: MPI_[A-Za-z]* of 700 x F32, data of "numbers": .'
FERRY_BACKEND=cpu launch 2 "$program" twice >"$scratch/out" 2>"$scratch/err"
says mpi_is_not_finalised_after_a_failure "$scratch/out" '^1: finalized 0$'

finish mpi
