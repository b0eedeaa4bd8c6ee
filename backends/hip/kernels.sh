#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Compiles the kernels with hipcc to a bundle of code for several architectures.
#
# usage: kernels.sh HIPCC TOP OUTPUT ARCHITECTURE…; FLAGS has more options, as -S.
#
# Products are not contracted with sums, since HIP's __fmul_rn is a plain product. An architecture
# that the compiler knows and the installed device library does not, as gfx1100 in Debian 12, differs
# there by one constant: this script adds it. LLVM 15 dies in about a third of the compilations for
# gfx1100 and corrupts its heap before, whatever the kernels: such a compilation is tried again.
set -eu
hipcc=$1 top=$2 output=$3
shift 3

options="-x hip -O3 -ffp-contract=off -I$top ${FLAGS---genco}"
for arch; do options="$options --offload-arch=$arch"; done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The compiler and the files of the device library that hipcc uses for an architecture that it has.
"$hipcc" -x hip --offload-arch=gfx900 --offload-device-only -S -### /dev/null >"$work/commands" 2>&1
ocml=$(sed -n 's/.*"\([^"]*\/ocml\.bc\)".*/\1/p' "$work/commands" | head -n 1)
clang=$(sed -n 's/^ *"\([^"]*clang[^"]*\)" "-cc1".*/\1/p' "$work/commands" | head -n 1)
library=${ocml%/*}

# The number of an architecture in the device library: 11000 for gfx1100.
number() {
    digits=${1#gfx} major=${digits%??}
    minor=${digits#"$major"}
    echo $((major * 1000 + ${minor%?} * 100 + ${minor#?}))
}

for arch; do
    [ -n "$ocml" ] || break
    version=${arch#gfx} version=${version%%:*}
    case $version in *[!0-9]*) continue ;; esac
    [ ! -e "$library/oclc_isa_version_$version.bc" ] || continue
    if [ ! -d "$work/bitcode" ]; then
        mkdir "$work/bitcode"
        ln -s "$library"/*.bc "$work/bitcode/"
        options="$options --rocm-device-lib-path=$work/bitcode" tries=9
    fi
    echo "const __attribute__((address_space(4))) int __oclc_ISA_version = $(number "$arch");" >"$work/isa.c"
    "$clang" -target amdgcn-amd-amdhsa -nogpulib -O2 -emit-llvm -c \
        -o "$work/bitcode/oclc_isa_version_$version.bc" "$work/isa.c"
done

# shellcheck disable=SC2086 # options are words
until TMPDIR=$work "$hipcc" $options -o "$output" "$top/backends/cuda/kernels.cu" 2>"$work/said"; do
    tries=$((${tries-1} - 1))
    if [ $tries -le 0 ] || ! grep -q 'due to signal' "$work/said"; then
        cat "$work/said" >&2
        exit 1
    fi
done
