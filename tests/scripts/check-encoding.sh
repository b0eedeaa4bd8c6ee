#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The encoding of VPDPBUSD in the cpu plugin: processors with AVX-VNNI and without AVX-512 execute
# no instruction with an EVEX prefix (62), and VPDPBUSD only with a VEX prefix (c4). The test plugin
# has EVEX there, so that other processors can execute it.
#
# AMX's products, which tests execute by a model, have the instructions of the model with the right
# registers, and configure and release them; no other function of the plugin has any.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${OBJDUMP:=objdump}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# decode PLUGIN: writes its instructions for the next functions.
decode() {
    "$OBJDUMP" -d "$1" >"$scratch/decoded"
}

# instructions: the functions of AVX-VNNI, each line the first byte and the name of an instruction.
instructions() {
    awk '
        /^[0-9a-f]+ <.*>:$/ { is_avxvnni = $2 ~ /_avxvnni[.>]/ }
        is_avxvnni && /^ +[0-9a-f]+:\t/ {
            split($0, part, "\t")
            if (part[3] != "") {
                split(part[3], word, " ")
                k = word[1] ~ /^{/ ? 2 : 1
                print substr(part[2], 1, 2), word[k]
            }
        }' "$scratch/decoded"
}

# tiles: the instructions of AMX, each line the function, the name and the operands; and the
# calls of the function that configures.
tiles() {
    awk '
        /^[0-9a-f]+ <.*>:$/ { name = substr($2, 2, length($2) - 3) }
        /^ +[0-9a-f]+:\t/ {
            split($0, part, "\t")
            split(part[3], word, " +")
            if (word[1] ~ /^(ldtilecfg|sttilecfg|tile|tdp)/)
                print name, word[1], word[2]
            else if (word[1] ~ /^(call|jmp)/ && $NF == "<amx_configure>")
                print name, "ldtilecfg", "by call"
        }' "$scratch/decoded"
}

# configure: each function of `found`, except the one that releases, configures the registers; the
# model of the tests finds those that do so too late.
configure() {
    echo "$found" | awk '$1 != "amx_release" { seen[$1] = 1 }
        $2 == "ldtilecfg" { sets[$1] = 1 }
        END { for (name in seen) if (!(name in sets)) wrong = 1; exit wrong }'
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
decode "$plugin"
amx=$(tiles)
found=$(instructions)
if [ -z "$found" ]; then
    skip encoding_of_vpdpbusd 'no functions of AVX-VNNI in the plugin: another architecture, or an older compiler'
else
    if [ "$(count '^c4 vpdpbusd$')" -ge 12 ] && [ "$(count '^62 ')" -eq 0 ]; then
        pass avx_vnni_has_vex_prefixes_only
    else
        fail avx_vnni_has_vex_prefixes_only "VEX: $(count '^c4 vpdpbusd$'), EVEX: $(count '^62 ')"
    fi
    vex=$(count ' vpdpbusd$')
    decode "$evex"
    found=$(instructions)
    if [ "$(count '^62 vpdpbusd$')" -eq "$vex" ] && [ "$(count '^c4 vpdpbusd$')" -eq 0 ]; then
        pass the_test_plugin_has_evex_prefixes
    else
        fail the_test_plugin_has_evex_prefixes "EVEX: $(count '^62 vpdpbusd$') of $vex"
    fi
fi

found=$amx
if [ -z "$found" ]; then
    skip amx_has_its_instructions 'no functions of AMX in the plugin: another architecture, or an older assembler'
    finish encoding
fi
if [ "$(count '^amx_u8 tdpbssd ')" -ne 0 ]; then
    skip amx_has_its_instructions 'compiled without optimization, which keeps the branches of the other forms'
    finish encoding
fi
# sums are 0 to 3, a is 4 and 5, b 6 and 7: 2 by 2, 2 by 1, 1 by 2 and 1 by 1 products
right='%tmm6,%tmm4,%tmm0|%tmm7,%tmm4,%tmm1|%tmm6,%tmm5,%tmm2|%tmm7,%tmm5,%tmm3'
for product in 'u8 tdpbusd' 'i8 tdpbssd' 'bf16 tdpbf16ps'; do
    if [ "$(count "^amx_$product ($right)$")" -eq 9 ] && [ "$(count "^amx_${product%% *} tdp")" -eq 9 ] &&
        [ "$(count "^amx_${product%% *} tileload")" -eq 12 ] && [ "$(count "^amx_${product%% *} tilestore")" -eq 9 ]; then
        pass "amx_multiplies_by_${product#* }"
    else
        fail "amx_multiplies_by_${product#* }" "$(echo "$found" | grep "^amx_${product%% *} ")"
    fi
done
if configure && [ "$(count '^amx_release tilerelease')" -eq 1 ] && [ "$(count ' tilerelease')" -eq 1 ] &&
    [ "$(count '^amx_(u8|i8|bf16|configure|release) ')" -eq "$(count '')" ]; then
    pass amx_configures_and_releases
else
    fail amx_configures_and_releases "$(echo "$found" | grep -E 'cfg|release')"
fi
decode "$FERRY_TEST_BUILDDIR/tests/plugins/amx/ferry_cpu.so"
found=$(tiles | grep -v ' by call$')
if [ -z "$found" ]; then
    pass the_test_plugin_has_none_of_them
else
    fail the_test_plugin_has_none_of_them "$found"
fi
finish encoding
