#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The hip plugin, where configure found hipcc: its bundle has each kernel for each architecture, and the
# plugin passes `ferry check`, random operations and the layer cases on the double of HIP, which runs the
# kernels that the host's compiler made. No code for AMD's GPUs is run. FERRY_TEST_QUICK shortens the groups.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${FERRY_TEST_COMMAND:?}" "${FERRY_TEST_PLUGINS:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

case " $FERRY_TEST_PLUGINS " in
*' hip '*) ;;
*) skip hip 'the hip plugin was not built: no hipcc, no libamdhip64, or --disable-hip'; finish hip ;;
esac
bundle=$FERRY_TEST_BUILDDIR/backends/hip/kernels.bundle

# count_of TEXT: how often the bundle contains it.
count_of() {
    LC_ALL=C grep -a -o -E -e "$1" "$bundle" | wc -l
}

# The kernels of the texts; convolution.k has one for each number of lanes up to two.
named() {
    sed -n 's/^KERNEL(\([a-z_0-9]*\),.*/\1/p' "$FERRY_TEST_SRCDIR"/kernels/*.k | grep -v '^tensor$'
    echo convolve_1 convolve_2
}

# Each kernel's descriptor is in the symbols of each architecture's code equally often.
every_kernel() {
    architectures=$(count_of 'hipv4-amdgcn-amd-amdhsa--gfx') expected=$(count_of '[^a-z_0-9]copy\.kd')
    if [ "$architectures" -eq 0 ] || [ $((expected % architectures)) -ne 0 ]; then
        echo "$expected symbols of a kernel for $architectures architectures"
        return 1
    fi
    for kernel in $(named); do
        found=$(count_of "[^a-z_0-9]$kernel\\.kd")
        [ "$found" -eq "$expected" ] || { echo "$kernel: $found, not $expected"; return 1; }
    done
}

# on DEVICES COMMAND…: with that number of devices of the double's.
on() {
    devices=$1
    shift
    HIP_DOUBLE_DEVICES=$devices "$@"
}

without_device() {
    said=$(FERRY_BACKEND=hip HIP_DOUBLE_DEVICES=0 "$FERRY_TEST_COMMAND" devices 2>&1) && return 1
    case $said in *hipErrorNoDevice*/dev/kfd*) return 0 ;; esac
    echo "$said"
    return 1
}

for_another_architecture() {
    said=$(HIP_DOUBLE_ARCH=gfx803 on 1 "$FERRY_TEST_COMMAND" check hip --only dot,ops 2>&1)
    case $said in *'1 passed, 0 failed, 1 not offered'*) return 0 ;; esac
    echo "$said"
    return 1
}

check hip/the_bundle_has_every_kernel every_kernel
check hip/no_device_is_one_clear_line without_device
check hip/groups on 1 "$FERRY_TEST_COMMAND" check hip ${FERRY_TEST_QUICK:+--quick}
check hip/three_devices on 3 "$FERRY_TEST_COMMAND" check hip --only peer,queues,coherence
check hip/without_pools env HIP_DOUBLE_POOLS=0 HIP_DOUBLE_DEVICES=1 "$FERRY_TEST_COMMAND" check hip \
    --only memory,copy,failure,leaks
check hip/unified env HIP_DOUBLE_UNIFIED=integrated HIP_DOUBLE_DEVICES=1 "$FERRY_TEST_COMMAND" check hip \
    --only memory,import,coherence
check hip/an_architecture_without_kernels for_another_architecture
for program in test-op-random test-layer-cases test-layer-backward test-net-lists; do
    status=0
    said=$(FERRY_TEST_BACKENDS='hip(double)' on 1 "$FERRY_TEST_BUILDDIR/tests/unit/$program" 2>&1) || status=$?
    case $status in
    0) pass "hip/$program" ;;
    77) skip "hip/$program" "$(echo "$said" | sed -n 's/^SKIP [^:]*: //p' | head -n 1)" ;;
    *) fail "hip/$program" "$(echo "$said" | tail -n 20)" ;;
    esac
done
finish hip
