#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The encoding of VPDPBUSD in the cpu plugin: processors with AVX-VNNI and without AVX-512 execute
# no instruction with an EVEX prefix (62), and VPDPBUSD only with a VEX prefix (c4). The test plugin
# has EVEX there, so that other processors can execute it.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${OBJDUMP:=objdump}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

# instructions PLUGIN: the functions of AVX-VNNI, each line the first byte and the name of an
# instruction.
instructions() {
    "$OBJDUMP" -d "$1" | awk '
        /^[0-9a-f]+ <.*>:$/ { is_avxvnni = $2 ~ /_avxvnni[.>]/ }
        is_avxvnni && /^ +[0-9a-f]+:\t/ {
            split($0, part, "\t")
            if (part[3] != "") {
                split(part[3], word, " ")
                k = word[1] ~ /^{/ ? 2 : 1
                print substr(part[2], 1, 2), word[k]
            }
        }'
}

# count PATTERN: the lines of the latest instructions that match.
count() {
    echo "$found" | grep -c -E "$1"
}

plugin=$FERRY_TEST_BUILDDIR/backends/.libs/ferry_cpu.so
evex=$FERRY_TEST_BUILDDIR/tests/plugins/evex/ferry_cpu.so
if ! command -v "$OBJDUMP" >/dev/null; then
    skip encoding_of_vpdpbusd 'no objdump'
    finish encoding
elif [ ! -e "$plugin" ]; then
    skip encoding_of_vpdpbusd 'the plugin cpu was not built'
    finish encoding
fi
found=$(instructions "$plugin")
if [ -z "$found" ]; then
    skip encoding_of_vpdpbusd 'no functions of AVX-VNNI in the plugin: another architecture, or an older compiler'
    finish encoding
fi
if [ "$(count '^c4 vpdpbusd$')" -ge 12 ] && [ "$(count '^62 ')" -eq 0 ]; then
    pass avx_vnni_has_vex_prefixes_only
else
    fail avx_vnni_has_vex_prefixes_only "VEX: $(count '^c4 vpdpbusd$'), EVEX: $(count '^62 ')"
fi
vex=$(count ' vpdpbusd$')
found=$(instructions "$evex")
if [ "$(count '^62 vpdpbusd$')" -eq "$vex" ] && [ "$(count '^c4 vpdpbusd$')" -eq 0 ]; then
    pass the_test_plugin_has_evex_prefixes
else
    fail the_test_plugin_has_evex_prefixes "EVEX: $(count '^62 vpdpbusd$') of $vex"
fi
finish encoding
