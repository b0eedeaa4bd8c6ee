#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Builds fake.c into one folder, once for each possible error of a plugin, and the libraries for
# LD_PRELOAD. usage: build.sh SOURCES INCLUDE FOLDER; the compiler is $CC with $CFLAGS and $LDFLAGS.
set -eu

sources=$1 include=$2 folder=$3

mkdir -p "$folder"

# Switches override members that the macro has set, which a compiler would warn of.
build() {
    # shellcheck disable=SC2086 # flags are words
    ${CC:-cc} -std=c11 ${CFLAGS-} -w -fPIC -fvisibility=hidden -I"$include" "$@" \
        -shared ${LDFLAGS-}
}

# fake FILE NAME [SWITCH]: builds ferry_FILE.so, whose note has the name NAME.
fake() {
    build -DFAKE_NAME="\"$2\"" ${3:+-DFAKE_$3} "$sources/fake.c" -o "$folder/ferry_$1.so"
}

fake alpha alpha
fake beta beta
fake gamma gamma
fake cpu cpu
fake sim sim
fake on_the_cpu opencl HOST_PROCESSORS
fake no_descriptor no_descriptor NO_DESCRIPTOR
fake wrong_magic wrong_magic WRONG_MAGIC
fake short_size short_size SHORT_SIZE
fake huge_size huge_size HUGE_SIZE
fake older_minor older_minor OLDER_MINOR
fake newer_minor newer_minor NEWER_MINOR
fake newer_host newer_host NEEDS_NEWER_HOST
fake other_major other_major OTHER_MAJOR
fake missing_entry missing_entry MISSING_ENTRY
fake no_entry no_entry NO_ENTRY
fake open_fails open_fails OPEN_FAILS
fake count_fails count_fails COUNT_FAILS
fake device_fails device_fails DEVICE_FAILS
fake device_hangs device_hangs DEVICE_HANGS
fake device_exits device_exits DEVICE_EXITS
fake spawns spawns SPAWNS
fake chatters chatters CHATTERS
fake no_devices no_devices NO_DEVICES
fake many_devices many_devices MANY_DEVICES
fake bad_name Bad.Name
fake cpu_features cpu_features CPU
fake sanitizer sanitizer SANITIZER
fake crashes crashes CRASHES
fake hangs hangs HANGS
fake owns_two owns_two OWNS_TWO
fake typed typed TYPED
fake pairs pairs PAIRS
fake with_2 with_2 MEMORY=2
fake with_8 with_8 MEMORY=8
fake with_24 with_24 MEMORY=24
fake unified unified UNIFIED=1
fake unified_refuses unified_refuses UNIFIED=2
fake unified_deaf unified_deaf UNIFIED=3
fake unified_lost unified_lost UNIFIED=4
fake unified_slow unified_slow UNIFIED=5

# A plugin that requires a library in its own folder; the tests overwrite its RUNPATH and its needed
# entries.
build "$sources/beside.c" -Wl,-soname,libbeside.so -o "$folder/libbeside.so"
build -DFAKE_NAME='"needy"' "$sources/fake.c" -o "$folder/ferry_needy.so" \
    -L"$folder" -Wl,--no-as-needed -lbeside -Wl,-rpath,/ferry/tests/write/over/this/runpath/before/it/is/ever/searched
build "$sources/secure.c" -o "$folder/secure.so"
build "$sources/short.c" -o "$folder/short.so"
