#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The trace of a net on each device, for Chrome and Perfetto: lanes in host time and in device time,
# and arrows from copies to layers. Perfetto's trace processor reads it if it is installed.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_COMMAND:?}"
scripts=$FERRY_TEST_SRCDIR/tests/scripts
# shellcheck source=tests/scripts/lib.sh
. "$scripts/lib.sh"

python=$(python_with json) || {
    echo "skipped: no Python"
    exit 77
}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

cat >"$scratch/net.prototxt" <<'NET'
name: "traced"
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 4 dim: 3 dim: 16 dim: 16 } } }
layer { name: "conv" type: "Convolution" bottom: "x" top: "c"
        convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "pool" type: "Pooling" bottom: "c" top: "p" pooling_param { kernel_size: 2 stride: 2 } }
layer { name: "ip" type: "InnerProduct" bottom: "p" top: "y"
        inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
NET

# trace BACKEND COPIES: writes a trace, which must have at least that many arrows.
trace() {
    FERRY_BACKEND=$1 FERRY_TRACE=$scratch/$1.json "$FERRY_TEST_COMMAND" time "$scratch/net.prototxt" -n 3 \
        >"$scratch/out" 2>&1 || {
        cat "$scratch/out"
        return 1
    }
    "$python" "$scripts/trace_lanes.py" "$scratch/$1.json" "$1:0" "$2" >"$scratch/said" || return 1
    sed "s/^/     $1: /" "$scratch/said" >>"$scratch/remarks"
}

: >"$scratch/remarks"
check layers_are_slices_on_cpu trace cpu 0
check copies_have_arrows_to_layers_on_sim trace sim 3
if FERRY_BACKEND=opencl "$FERRY_TEST_COMMAND" devices >/dev/null 2>&1; then
    check layers_are_slices_on_opencl trace opencl 0
else
    skip layers_are_slices_on_opencl "no OpenCL device"
fi
cat "$scratch/remarks"

# An invalid trace is found: the slices of the device's lane are moved so that they overlap.
sed 's/\("pid":1,"tid":1001,"dur":\)[0-9.]*/\19999999/' "$scratch/sim.json" >"$scratch/spoilt.json"
if "$python" "$scripts/trace_lanes.py" "$scratch/spoilt.json" sim:0 3 >/dev/null 2>&1; then
    fail a_lane_whose_slices_overlap_is_found
else
    pass a_lane_whose_slices_overlap_is_found
fi

# Device time is printed with host time; a device without a clock is an error.
device_time() {
    FERRY_BACKEND=$1 "$FERRY_TEST_COMMAND" time "$scratch/net.prototxt" --device --json -n 2 2>/dev/null |
        "$python" -c '
import json, sys
t = json.load(sys.stdin)
conv = [x for x in t["layers"] if x["name"] == "conv"][0]
assert 0 < conv["device_ms"] <= conv["ms"] * 1.01 + 0.01, conv
assert 0 < t["ms_device"] <= t["ms_layers"] * 1.01 + 0.01, t'
}
check device_time_is_within_host_time_on_cpu device_time cpu
check device_time_is_within_host_time_on_sim device_time sim
printf '[plugin sim]\noption.ops = minimal\n' >"$scratch/conf"
if FERRY_CONF=$scratch/conf FERRY_BACKEND=sim "$FERRY_TEST_COMMAND" time "$scratch/net.prototxt" --device \
    >"$scratch/out" 2>&1 || ! grep -q 'ferry.profile/1' "$scratch/out"; then
    fail a_device_without_a_clock_is_an_error "$(cat "$scratch/out")"
else
    pass a_device_without_a_clock_is_an_error
fi

finish trace
