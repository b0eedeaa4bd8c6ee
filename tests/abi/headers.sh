#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Makes the header of an earlier version, and of a later one, from the current one. usage:
# headers.sh older|newer INCLUDE FOLDER
set -eu

age=$1 include=$2 folder=$3

mkdir -p "$folder/ferry"
cp "$include/ferry/types.h" "$include/ferry/status.h" "$folder/ferry/"
cp "$include/ferry/descriptor.h" "$include/ferry/plugin_types.h" "$folder/ferry/"
case $age in
older)
    # A table that ends before the members that its minor version did not have.
    awk '/-- memory shared with the host --/ { skip = 1 }
        /^} ferry_plugin_ops;/ { skip = 0 }
        !skip' "$include/ferry/plugin.h" >"$folder/ferry/plugin.h"
    ;;
newer)
    # The next minor version: every structure has a new member at its end.
    for header in op_desc op_params op_plugin op_table op_types; do
        cp "$include/ferry/$header.h" "$folder/ferry/"
    done
    for header in plugin plugin_types; do
        awk '/^} ferry_plugin_ops;/ { print "    int (*later)(void *dev);\n    int (*latest)(void *dev, double);" }
        /^} ferry_plugin_option;/ { print "    const char *later;\n    uint64_t latest;" }
        /^} ferry_plugin_properties;/ { print "    uint64_t later[16];" }
        /^} ferry_plugin_counters;/ { print "    uint64_t later[16];" }
        /^} ferry_host;/ { print "    void (*later)(void);" }
        { print }' "$include/ferry/$header.h" >"$folder/ferry/$header.h"
    done
    sed -e 's/^#define FERRY_ABI_MINOR .*/#define FERRY_ABI_MINOR 99u/' \
        -e 's/^} ferry_plugin_descriptor;/    char later[64];\n&/' \
        "$include/ferry/descriptor.h" >"$folder/ferry/descriptor.h"
    ;;
esac
