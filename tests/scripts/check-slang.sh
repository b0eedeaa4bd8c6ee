#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Each text of the kernels, compiled by Slang, is a module for Vulkan 1.2 that spirv-val accepts.
# Slang is that of the wheel slangpy, in the Python of PYTHON or in python3.
set -u
: "${FERRY_TEST_SRCDIR:?}"
scripts=$FERRY_TEST_SRCDIR/tests/scripts
# shellcheck source=tests/scripts/lib.sh
. "$scripts/lib.sh"

# left_out REASON
left_out() {
    skip slang "$1"
    finish slang
}

python=$(python_with slangpy) || left_out 'Python lacks slangpy'
command -v spirv-val >/dev/null 2>&1 || left_out 'there is no spirv-val (Debian: spirv-tools)'

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

sources=$FERRY_TEST_SRCDIR

# compiles TEXT LANES VEC GROUP
compiles() {
    echo "#include \"kernels/$1.k\"" >"$scratch/text.slang"
    rm -f "$scratch/module"
    "$python" "$scripts/slang.py" "$scratch/text.slang" "$scratch/module" "$sources" \
        -D "LANES=$2" -D "VEC=$3" -D "GROUP=$4"
}

# is_valid TEXT LANES VEC GROUP: the module has kernels, too.
is_valid() {
    compiles "$@" && spirv-val --target-env vulkan1.2 "$scratch/module" &&
        [ "$(wc -c <"$scratch/module")" -gt 1000 ]
}

# Slang compiles a pointer to a local variable to a module that is not valid.
refuses_pointers_to_locals() {
    sources=$scratch/faulty
    mkdir -p "$sources/kernels" && cp "$FERRY_TEST_SRCDIR"/kernels/*.[hk] "$sources/kernels" || return 1
    is_valid pack 1 4 64 || return 1
    cat >>"$sources/kernels/pack.k" <<'TEXT'
INLINE void set(i64 *out) { out[0] = 1; }
KERNEL(faulty, pack_args) { ARGS(pack_args); i64 y = a->taps; set(&y); AT(i64, 1)[0] = y; }
TEXT
    ! is_valid pack 1 4 64
}

sed -n '/^#define KERNEL_TEXTS/,/^$/s/.*X([A-Z]*, *\([a-z]*\), *\([0-9]*\)).*/\1 \2/p' \
    "$FERRY_TEST_SRCDIR/kernels/list.h" >"$scratch/texts"
listed_are_all() {
    (cd "$FERRY_TEST_SRCDIR/kernels" && ls ./*.k) | sed 's|./\(.*\)[.]k|\1|' >"$scratch/all"
    cut -d ' ' -f 1 "$scratch/texts" | sort -u | cmp "$scratch/all" -
}
check the_list_contains_all_texts listed_are_all

while read -r text lanes; do
    # four vectors of outputs: only with enough registers
    vec=4
    [ "$lanes" -eq 4 ] && vec=16
    check "${text}_with_${lanes}_vectors_is_valid" is_valid "$text" "$lanes" "$vec" 64
done <"$scratch/texts"
check single_items_are_valid is_valid image 1 8 1
check pointers_to_locals_are_refused refuses_pointers_to_locals

finish slang
