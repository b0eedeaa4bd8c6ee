#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Scripts that other projects wrote for cv2.dnn with Caffe models, unchanged: with OpenCV 5 and
# ferry by `python -m ferry.dnn`, and with OpenCV 4. Outputs and pictures must be equal. Prints a
# table with the times of a pass, measured alternately on one CPU. Usage: check-dnn-scripts.sh
# FOLDER PYTHON5 PYTHON4 [NAME…]
#
# FOLDER has checkouts of the projects in dnn-scripts.py, each as OWNER+NAME; scripts of missing
# projects are skipped. PYTHON5 has cv2 5, PYTHON4 has cv2 4.14, and both have NumPy, matplotlib and
# imutils. Weights are random if a project has none.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${FERRY_TEST_ROUNDS:=3}" "${FERRY_TEST_CPU:=0}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

if [ $# -lt 3 ] || [ -z "${FERRY_TEST_DATA-}" ]; then
    skip scripts_for_cv2_dnn 'no folder and two Pythons were named, or no FERRY_TEST_DATA'
    finish dnn-scripts
fi
trees=$(cd "$1" && pwd) || exit 1
five=$2 four=$3
shift 3
FERRY_PLUGIN_PATH=$(cd "$FERRY_TEST_BUILDDIR/backends/.libs" && pwd)
FERRY_LIBRARY_PATH=$(cd "$FERRY_TEST_BUILDDIR/.libs" && pwd)
FERRY_BACKEND=${FERRY_BACKEND-cpu}
PYTHONPATH=$(cd "$FERRY_TEST_SRCDIR/python" && pwd)
PYTHONDONTWRITEBYTECODE=1
MPLBACKEND=Agg
export FERRY_PLUGIN_PATH FERRY_LIBRARY_PATH FERRY_BACKEND PYTHONPATH PYTHONDONTWRITEBYTECODE MPLBACKEND
helper=$(cd "$FERRY_TEST_SRCDIR/tests/scripts" && pwd)/dnn-scripts.py
work=$(mktemp -d /tmp/ferry-dnn-XXXXXX) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
[ $# -gt 0 ] || set -- $("$five" "$helper" list "$trees")
one_cpu=
command -v taskset >/dev/null && one_cpu="taskset -c $FERRY_TEST_CPU"

# ran REPORT PYTHON [OPTION…]: the script of $work/plan, whose lines are its folder, its name and its arguments.
ran() {
    report=$1
    shift
    {
        read -r folder
        read -r script
        read -r arguments
    } <"$work/plan"
    # shellcheck disable=SC2086
    (cd "$folder" && $one_cpu nice -n 5 timeout 600 "$@" "$helper" run "$report" 24 "$script" $arguments) \
        >"$work/said" 2>&1
}

# both NAME: the script with OpenCV 5 and ferry, then with OpenCV 4, in several rounds.
both() {
    round=0
    while [ $round -lt "$FERRY_TEST_ROUNDS" ]; do
        ran "$work/$1-ours.$round.npz" "$five" -m ferry.dnn || return 1
        ran "$work/$1-theirs.$round.npz" "$four" || return 1
        round=$((round + 1))
    done
}

printf '%s\n' 'script | outputs and pictures | OpenCV 4 ms, ferry ms, ratio' >"$work/table"
for name; do
    if ! "$five" -m ferry.caffe "$helper" prepare "$name" "$trees" "$work/$name" >"$work/plan" 2>"$work/said"; then
        fail "${name}_gets_its_files" "$(tail -n 3 "$work/said")"
        continue
    fi
    if ! both "$name"; then
        fail "${name}_runs" "$(tail -n 8 "$work/said")"
    elif shown=$("$five" "$helper" same "$work/$name-ours.0.npz" "$work/$name-theirs.0.npz" 2>&1); then
        pass "${name}_gives_the_same: $shown"
        echo "$name | $shown | $("$five" "$helper" times "$work/$name-ours" "$work/$name-theirs")" >>"$work/table"
    else
        fail "${name}_gives_the_same" "$(echo "$shown" | tail -n 1)"
    fi
    rm -rf "${work:?}/$name"
done
cat "$work/table"
finish dnn-scripts
