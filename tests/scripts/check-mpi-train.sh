#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `mpirun -n N ferry train`: N ranks with a batch of b are compared with one process with N * b in
# each iteration; the other ranks end when one is killed, fails, or is asked to stop; and the
# command does not link MPI.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${FERRY_TEST_COMMAND:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"
# shellcheck source=tests/mpi/launch.sh
. "$FERRY_TEST_SRCDIR/tests/mpi/launch.sh"

export FERRY_BACKEND="${FERRY_BACKEND:-cpu}"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch" || exit 1

needs_no_mpi() {
    for object in "$FERRY_TEST_BUILDDIR/tools/ferry/.libs/ferry" "$FERRY_TEST_BUILDDIR"/.libs/libferry.so \
        "$FERRY_TEST_BUILDDIR"/.libs/libferrynet.so; do
        [ -e "$object" ] || continue
        if readelf -d "$object" | grep NEEDED | grep -i mpi; then
            return 1
        fi
    done
}
check the_command_needs_no_mpi needs_no_mpi

why=$(cannot_launch)
if [ -n "$why" ]; then
    skip ranks_train_together "$why"
    finish mpi-train
fi

# ---- training
# ---------------------------------------------------------------------------------------

i=0
for picture in "$FERRY_TEST_SRCDIR"/tests/data/images/*.png; do
    echo "$picture $((i % 3))"
    i=$((i + 1))
done >list

# solver NAME BATCH TEXT: writes NAME.prototxt, a solver whose snapshots are NAME_iter_N.
solver() {
    cat >"$1.net" <<END
name: 'pictures'
layer { name: 'data' type: 'ImageData' top: 'data' top: 'label' image_data_param {
  source: '${4-list}' batch_size: $2 shuffle: true new_height: 9 new_width: 13 }
  transform_param { scale: 0.0078125 mirror: true } }
layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' convolution_param {
  num_output: 4 kernel_size: 3 weight_filler { type: 'xavier' } } }
layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' }
layer { name: 'ip' type: 'InnerProduct' bottom: 'conv' top: 'ip' inner_product_param {
  num_output: 3 weight_filler { type: 'xavier' } } }
layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' }
END
    cat >"$1.prototxt" <<END
net: '$1.net' base_lr: 0.05 lr_policy: 'fixed' momentum: 0.9 weight_decay: 0.001
random_seed: 5 display: 1 snapshot_prefix: '$1' $3
END
}

# losses FILE: iteration and loss of each line of a log.
losses() {
    sed 's/.*"iter":\([0-9]*\),.*"loss":\([^,]*\),"smoothed.*/\1 \2/' "$1"
}

# same_losses A B N: whether N iterations are equal within 1e-5.
same_losses() {
    losses "$1" >a
    losses "$2" >b
    paste -d ' ' a b | awk -v n="$3" '
        { off = $2 - $4; most = $2 > 1 ? $2 : 1 }
        $1 != $3 || off > 1e-5 * most || off < -1e-5 * most { print; bad = 1 }
        END { if (NR != n) print NR " lines"; exit bad || NR != n }'
}

# same_weights A B: compares the models of each iteration.
same_weights() {
    for k in 1 2 3 4; do
        "$FERRY_TEST_COMMAND" diff --tolerance 1e-5 "$1_iter_$k.caffemodel" "$2_iter_$k.caffemodel" || return 1
    done
}

run='max_iter: 4 snapshot: 1'
solver one 8 "$run"
if ! "$FERRY_TEST_COMMAND" train one.prototxt --log one.jsonl >out 2>&1; then
    if grep -q 'without libpng' out; then
        skip ranks_train_together 'ferry was built without libpng'
        finish mpi-train
    fi
    fail one_process_trains "$(tail -5 out)"
    finish mpi-train
fi
for n in 1 2 4; do
    solver "of$n" $((8 / n)) "$run"
    if launch "$n" "$FERRY_TEST_COMMAND" train "of$n.prototxt" --log "of$n.jsonl" >out 2>&1; then
        check "losses_of_${n}_ranks_equal_those_of_one_process_with_all_records" same_losses one.jsonl "of$n.jsonl" 4
        check "weights_of_${n}_ranks_equal_those_of_one_process_with_all_records" same_weights one "of$n"
    else
        fail "${n}_ranks_train_together" "$(tail -20 out)"
    fi
done
if [ "$(grep -c '] Optimization Done' out)" -eq 2 ]; then # solver and command say it
    pass only_rank_0_prints
else
    fail only_rank_0_prints "$(cat out)"
fi
if [ "$(grep -c 'ferry] 4 ranks train one net, with 8 images an iteration in all$' out)" -eq 1 ]; then
    pass the_number_of_ranks_and_images_is_printed_once
else
    fail the_number_of_ranks_and_images_is_printed_once "$(cat out)"
fi

resumes() {
    rm -f of2_iter_*
    launch 2 "$FERRY_TEST_COMMAND" train of2.prototxt --snapshot of4_iter_2.solverstate --resume exact \
        --log more.jsonl &&
        for k in 3 4; do
            "$FERRY_TEST_COMMAND" diff --tolerance 1e-5 "one_iter_$k.caffemodel" "of2_iter_$k.caffemodel" || return 1
        done
}
check two_ranks_resume_a_snapshot_of_four resumes

# ---- ends -------------------------------------------------------------------------------------------

if [ -n "${FERRY_TEST_QUICK-}" ]; then
    skip ranks_that_end 'FERRY_TEST_QUICK: launchers take their seconds'
    finish mpi-train
fi
cat >rank.sh <<'END'
echo $$ >pid.tmp.$$
mv pid.tmp.$$ "pid.${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-x}}"
exec "$@"
END

# start NAME N: starts N endless ranks in the background and waits for the first snapshot.
start() {
    rm -f pid.*
    solver "$1" 2 'max_iter: 100000000 snapshot: 5'
    launch "$2" sh rank.sh "$FERRY_TEST_COMMAND" train "$1.prototxt" >out 2>&1 &
    launched=$!
    tries=0
    while [ ! -e "$1_iter_5.solverstate" ] && [ $tries -lt 300 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
}

# ended: whether all ranks have ended within 5 s.
ended() {
    tries=0
    while [ $tries -lt 50 ]; do
        left=
        for file in pid.*; do
            read -r pid <"$file"
            kill -0 "$pid" 2>/dev/null && left="$left $file"
        done
        [ -n "$left" ] || return 0
        sleep 0.1
        tries=$((tries + 1))
    done
    echo "left after 5 s:$left"
    # shellcheck disable=SC2046
    kill -9 $(cat pid.*) 2>/dev/null
    return 1
}

# whole NAME: whether every .solverstate has its model and sidecar, and training resumes from the
# latest, during which the ranks ended.
whole() {
    for state in "$1"_iter_*.solverstate; do
        [ -s "${state%.solverstate}.caffemodel" ] && [ -s "${state%.solverstate}.ferrystate" ] || return 1
    done
    # shellcheck disable=SC2012
    latest=$(ls -t "$1"_iter_*.solverstate | head -1)
    solver after 2 "max_iter: $(($(echo "$latest" | sed 's/.*_\([0-9]*\)\..*/\1/') + 2))"
    "$FERRY_TEST_COMMAND" train after.prototxt --snapshot "$latest" --resume exact
}

start killed 3
kill -9 "$(cat pid.1)"
check all_ranks_end_within_5_s_when_one_is_killed ended
wait "$launched"
status=$?
check a_killed_rank_fails_the_command test "$status" -ne 0
check the_snapshot_is_whole whole killed

start asked 2
kill -TERM "$(cat pid.1)"
check all_ranks_stop_when_one_is_requested_to ended
wait "$launched"
status=$?
if [ "$status" -eq 0 ] && grep -q 'Optimization stopped early' out; then
    pass a_requested_stop_writes_a_snapshot_and_exits_with_0
else
    fail a_requested_stop_writes_a_snapshot_and_exits_with_0 "status $status" "$(tail -5 out)"
fi

# The tenth picture of the list does not exist; without shuffling rank 1 reads it.
awk 'NR == 10 { print "nowhere.png 1"; next } { print }' list >broken
rm -f pid.*
solver fails 2 'max_iter: 1000 snapshot: 1' broken
sed -i 's/shuffle: true/shuffle: false/' fails.net
launch 2 sh rank.sh "$FERRY_TEST_COMMAND" train fails.prototxt >out 2>&1
status=$?
check all_ranks_end_when_one_fails ended
check a_failed_rank_fails_the_command test "$status" -ne 0
if grep -q 'ferry: .*nowhere.png' out && grep -q 'ferry: rank 1: .*nowhere.png' out; then
    pass each_rank_reports_the_failed_rank_and_its_error
else
    fail each_rank_reports_the_failed_rank_and_its_error "$(cat out)"
fi
check the_snapshot_of_failed_ranks_is_whole whole fails

# A rank's device is in the error message if its plugin cannot compute a layer.
printf '[plugin sim]\noption.devices = 2\noption.ops = minimal\n' >two.conf
case " ${FERRY_TEST_PLUGINS-} " in
*' sim '*)
    FERRY_CONF=$scratch/two.conf FERRY_BACKEND=sim FERRY_STRICT=1 \
        launch 3 "$FERRY_TEST_COMMAND" train of2.prototxt >out 2>&1
    if grep -q ': sim:0: convolution' out && grep -q ': sim:1: convolution' out; then
        pass ranks_take_devices_in_turn
    else
        fail ranks_take_devices_in_turn "$(cat out)"
    fi
    ;;
*) skip ranks_take_devices_in_turn 'the sim plugin is not built' ;;
esac

if OMPI_COMM_WORLD_SIZE=3 PMI_SIZE=3 timeout 60 "$FERRY_TEST_COMMAND" train one.prototxt >out 2>&1; then
    fail an_mpirun_of_another_mpi_is_an_error "$(tail -3 out)"
elif grep -q 'mpirun belongs to another MPI' out; then
    pass an_mpirun_of_another_mpi_is_an_error
else
    fail an_mpirun_of_another_mpi_is_an_error "$(tail -3 out)"
fi

finish mpi-train
