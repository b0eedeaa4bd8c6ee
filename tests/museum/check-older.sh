#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The plugin template of this tree works in earlier versions of ferry: as it is, and compiled with headers whose minor version
# of the ABI is lowered to that of the earlier ferry. `make check-museum` runs it, in a clone with ferry's history. Each earlier
# ferry is built once, below tests/museum of the build folder, from the commits that README.md lists.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${CC:=cc}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"
here=$FERRY_TEST_SRCDIR/tests/museum
hosts=$FERRY_TEST_BUILDDIR/tests/museum

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# older ABI COMMIT: builds that ferry, with the plugin sim and its command.
older() {
    folder=$hosts/ferry-$1
    [ ! -e "$folder/done" ] || return 0
    rm -rf "$folder"
    mkdir -p "$folder/source" "$folder/build"
    git -C "$FERRY_TEST_SRCDIR" archive "$2" | tar -x -C "$folder/source"
    if (
        unset CFLAGS CPPFLAGS LDFLAGS MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
        cd "$folder/source" && autoreconf -fi && cd ../build &&
            ../source/configure -q CC="$CC" CFLAGS=-O1 --disable-cpu --disable-cuda --disable-opencl --with-hdf5=no \
                --with-mpi=no &&
            make -s libferry.la tools/ferry/ferry
    ) >"$folder/log" 2>&1; then
        touch "$folder/done"
    else
        tail -n 20 "$folder/log"
        return 1
    fi
}

# template SOURCE MINOR FOLDER: the template with the headers of this tree; with -, their version is not lowered.
template() {
    mkdir -p "$3/include"
    cp -R "$FERRY_TEST_SRCDIR/include/ferry" "$3/include/"
    chmod -R u+w,go-w "$3"
    [ "$2" = - ] || {
        sed "s/^#define FERRY_ABI_MINOR .*/#define FERRY_ABI_MINOR $2u/" \
            "$FERRY_TEST_SRCDIR/include/ferry/descriptor.h" >"$3/include/ferry/descriptor.h"
        grep -q "^#define FERRY_ABI_MINOR $2u" "$3/include/ferry/descriptor.h" || return 1
    }
    $CC -std=c11 -O2 -fPIC -shared -fvisibility=hidden -Wl,-z,defs -I"$3/include" \
        "$FERRY_TEST_SRCDIR/examples/plugin-template/$1.c" "$FERRY_TEST_SRCDIR/examples/plugin-template/acme_driver.c" \
        -o "$3/ferry_$1.so" -lpthread
}

# passes ABI SOURCE MINOR VERSION: the ferry of that ABI checks the template, and finds VERSION in its descriptor. It refuses
# a template that needs a later version, in one line.
passes() {
    plugin=$work/$1-$2-$3 status=0
    template "$2" "$3" "$plugin" || return 1
    needs=$(sed -n 's/.*FERRY_PLUGIN_FOR_HOST(\([0-9]*\),.*/\1/p' "$FERRY_TEST_SRCDIR/examples/plugin-template/$2.c")
    "$hosts/ferry-$1/build/tools/ferry/ferry" check "$plugin/ferry_$2.so" >"$work/out" 2>&1 || status=$?
    if [ "${needs:-0}" -gt "${1#*.}" ]; then
        [ "$status" -eq 1 ] && grep -q "needs ABI 1.$needs or newer, this ferry has $1" "$work/out" && return 0
    elif [ "$status" -eq 0 ] && grep -q "ABI $4," "$work/out" && grep -q ' 0 failed' "$work/out"; then
        return 0
    fi
    cat "$work/out"
    return 1
}

now=1.$(sed -n 's/^#define FERRY_ABI_MINOR \([0-9]*\)u$/\1/p' "$FERRY_TEST_SRCDIR/include/ferry/descriptor.h")
# shellcheck disable=SC2016 # backquotes of the page
sed -n 's/^| `\([0-9.]*\)\/ferry_acme.so` | [0-9.]* | \([0-9a-f]*\) |$/\1 \2/p' "$here/README.md" >"$work/commits"
if ! command -v git >/dev/null 2>&1; then
    skip older 'git was not found'
    finish older
fi
while read -r abi commit; do
    [ "$abi" != "$now" ] || continue
    if ! git -C "$FERRY_TEST_SRCDIR" cat-file -e "$commit^{commit}" 2>/dev/null; then
        skip "ferry of ABI $abi" "this is not a clone with the commit $commit"
        continue
    fi
    check "the ferry of ABI $abi is built" older "$abi" "$commit" </dev/null
    for template in acme acme_queues; do
        check "$template of ABI $abi in it" passes "$abi" $template "${abi#*.}" "$abi" </dev/null
        check "$template of ABI $now in it" passes "$abi" $template - "$now" </dev/null
    done
done <"$work/commits"
finish older
