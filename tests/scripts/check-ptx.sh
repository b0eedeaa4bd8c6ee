#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The CUDA plugin on the executor of tests/ptx: the doubles run the PTX that nvcc makes of the
# kernels. One architecture runs `ferry check cuda` with checks for data races and uninitialised reads,
# random operations, reductions in several orders of threads, the layer cases, models and random nets.
# FERRY_TEST_LONG runs every architecture and libnvrtc's output in every order, and the limits of
# approximations, and ends with a table; FERRY_TEST_PTX_CELLS names a few of its cells, as 75:descending.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${FERRY_TEST_COMMAND:?}" "${FERRY_TEST_PLUGINS:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

case " $FERRY_TEST_PLUGINS " in
*' cuda '*) ;;
*) skip ptx 'the CUDA plugin was not built'; finish ptx ;;
esac
if ! command -v nvcc >/dev/null; then
    skip ptx 'nvcc is not on PATH'
    finish ptx
fi
if ${NM:-nm} -D "$FERRY_TEST_BUILDDIR/.libs/libferry.so" 2>/dev/null | grep -q -E ' __(asan|tsan)_'; then
    skip ptx 'the executor is slow with a sanitizer; test-ptx and test-opcodes run with it'
    finish ptx
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# translated ARCH: makes the kernels' PTX.
translated() {
    nvcc -ptx -O3 -lineinfo -diag-suppress 177 -arch="sm_$1" -I"$FERRY_TEST_SRCDIR" \
        -o "$work/sm_$1.ptx" "$FERRY_TEST_SRCDIR/backends/cuda/kernels.cu"
}

# Replaces the double of libnvrtc by the real library, with a device newer than all that it knows,
# for which it makes PTX. The kernels are in no file: a function that libnvrtc's output lacks is an
# error.
with_libnvrtc() {
    nvrtc=$(dirname "$(command -v nvcc)")/../lib64
    if [ ! -e "$nvrtc/libnvrtc.so" ]; then
        echo "no libnvrtc.so in $nvrtc"
        return 1
    fi
    mkdir "$work/nvrtc"
    ln -s "$FERRY_TEST_BUILDDIR"/tests/doubles/lib/*.so.* "$work/nvrtc/"
    rm -f "$work/nvrtc"/libnvrtc*
    ln -s "$nvrtc"/libnvrtc* "$work/nvrtc/"
    printf '[plugin cuda]\noption.kernels = compile\n' >"$work/nvrtc.conf"
    : >"$work/none.ptx"
}

# on ARCH RUN COMMAND…: runs the command with the kernels of that architecture, executed in that
# way.
on() {
    arch=$1 way=$2
    shift 2
    if [ "$arch" = nvrtc ]; then
        set -- env LD_LIBRARY_PATH="$work/nvrtc:${LD_LIBRARY_PATH-}" FERRY_CONF="$work/nvrtc.conf" \
            CUDA_DOUBLE_PTX="$work/none.ptx" CUDA_DOUBLE_CAPABILITY=190 "$@"
    else
        set -- env CUDA_DOUBLE_PTX="$work/sm_$arch.ptx" CUDA_DOUBLE_CAPABILITY="$arch" "$@"
    fi
    timeout 1500 env CUDA_DOUBLE_PTX_RUN="$way" "$@"
}

# passes ARCH RUN [GROUPS]: runs the groups; the default is that of --quick.
passes() {
    if [ -n "${3-}" ]; then set -- "$1" "$2" --only "$3"; else set -- "$1" "$2" --quick; fi
    arch=$1 way=$2
    shift 2
    on "$arch" "$way" "$FERRY_TEST_COMMAND" check cuda --timeout 1400 "$@"
}

# trial ARCH RUN [GROUPS]
trial() {
    check "ptx/$1_$(echo "$2" | tr ',=' '__')_${3:-quick}" passes "$@"
}

# operations ARCH RUN: random operations compared with the oracle, with buffers whose bounds are
# exact. With approximations at their documented limits, the difference of nearly equal numbers may
# have a large error.
operations() {
    case $2 in low* | high*) slack=100 ;; *) slack=1 ;; esac
    check "ptx/$1_$(echo "$2" | tr ',=' '__')_random_operations" env FERRY_TEST_PTX="$work/sm_$1.ptx" \
        FERRY_TEST_PTX_RUN="$2" FERRY_TEST_SLACK=$slack "$FERRY_TEST_BUILDDIR/tests/unit/test-kernels-ptx"
}

# nets ARCH RUN PROGRAM ARGUMENT…: a program of nets whose convolutions use ferry's kernels.
nets() {
    name=ptx/$1_$(basename "$3") arch=$1 way=$2 program=$FERRY_TEST_BUILDDIR/$3
    shift 3
    printf '[plugin cuda]\noption.cudnn = off\n' >"$work/nets.conf"
    status=0
    said=$(on "$arch" "$way" env FERRY_CONF="$work/nets.conf" FERRY_TEST_BACKENDS='cuda(double)' \
        FERRY_TEST_TIMEOUT=1400 "$program" "$@" 2>&1) || status=$?
    case $status in
    0) pass "$name" ;;
    77) skip "$name" "$(echo "$said" | sed -n 's/^SKIP [^:]*: //p' | head -n 1)" ;;
    *) fail "$name" "$said" ;;
    esac
}

reductions=dot,asum,sumsq
values=ops-values,ops-steps,ops-reuse
check ptx/nvcc_compiles_for_sm_80 translated 80
if [ -z "${FERRY_TEST_LONG-}" ]; then
    trial 80 race,unknown
    trial 80 race,unknown $values
    operations 80 race,unknown
    for order in descending shuffled=1 interleaved,two-blocks; do
        trial 80 "$order,blocks-descending" $reductions
    done
    nets 80 race,unknown tests/unit/test-layer-cases
    nets 80 ascending tests/unit/test-net-models every_blob_of_a_model_matches_caffe
    nets 80 race,unknown tests/random/test-random-nets --seconds 5
    finish ptx
fi

# ---- architectures, orders, groups ----------------------------------------------------------------

# Every architecture and every order runs all groups at least once, except two: ops-large, which
# takes the executor many minutes, runs once; and ops-random is replaced by random operations with
# buffers whose bounds are exact, which each cell of nvcc's output runs. The other cells run the
# groups whose kernels have barriers.
all_groups='80:ascending 75:descending 90:shuffled=1 120:interleaved,two-blocks nvrtc:ascending
    nvrtc:shuffled=2,two-blocks 120:blocks-descending'
architectures='75 80 90 120 nvrtc'
orders='ascending descending shuffled=1 shuffled=2,two-blocks interleaved,two-blocks single=1
    blocks-descending low high'

# cell ARCH ORDER
cell() {
    before=$failed groups=$reductions what=reductions
    case " $(echo $all_groups) " in *" $1:$2 "*) groups='' what='all groups' ;; esac
    start=$(date +%s)
    trial "$1" "$2,race,unknown" $groups
    if [ -z "$groups" ]; then trial "$1" "$2,race,unknown" $values; fi
    if [ "$1:$2" = 80:ascending ]; then trial 80 ascending ops-large; fi
    if [ "$1" != nvrtc ]; then
        operations "$1" "$2,race,unknown"
        what="$what, operations"
    fi
    if [ "$failed" -ne "$before" ]; then what="FAILED: $what"; fi
    echo "$1:$2|$what, $(($(date +%s) - start)) s" | tee -a "$work/cells"
}

wanted() {
    [ -n "${FERRY_TEST_PTX_CELLS-}" ] || return 0
    case " $FERRY_TEST_PTX_CELLS " in *" $1 "*) return 0 ;; esac
    return 1
}

table() {
    printf '| order |'
    printf ' %s |' $architectures
    printf '\n|---|'
    printf '%s' "$(for arch in $architectures; do printf -- '---|'; done)"
    for order in $orders; do
        printf '\n| %s |' "$order"
        for arch in $architectures; do
            printf ' %s |' "$(sed -n "s/^$arch:$order|//p" "$work/cells")"
        done
    done
    echo
}

# prepared ARCH: makes its kernels; those of sm_80 exist already.
prepared() {
    case $1 in
    80) ;;
    nvrtc) check ptx/libnvrtc_is_there with_libnvrtc ;;
    *) check "ptx/nvcc_compiles_for_sm_$1" translated "$1" ;;
    esac
}

: >"$work/cells"
for arch in $architectures; do
    case " ${FERRY_TEST_PTX_CELLS-$arch:} " in *" $arch:"*) prepared $arch ;; *) continue ;; esac
    for order in $orders; do
        if wanted "$arch:$order"; then cell $arch "$order"; fi
    done
done
if wanted nets; then
    for program in tests/unit/test-layer-cases tests/unit/test-layer-backward tests/unit/test-net-models; do
        nets 80 race,unknown $program
    done
    nets 80 race,unknown tests/random/test-random-nets --seconds 60
fi
table
finish ptx
