#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A debugger finds a plugin's symbols although ferry loads it by the name of a descriptor, and does
# not hang on that name: a breakpoint set before the plugin is loaded is hit, and the plugin has its
# path after gdb has updated its list. Skipped without gdb, or if gdb may not trace a program.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${CC:=cc}" "${CFLAGS=}" "${LDFLAGS=}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

program=$FERRY_TEST_BUILDDIR/tools/ferry/.libs/ferry
[ -x "$program" ] || program=$FERRY_TEST_BUILDDIR/tools/ferry/ferry
plugin=$FERRY_TEST_BUILDDIR/backends/.libs/ferry_sim.so

skip_all() {
    skip a_pending_breakpoint_in_a_plugin_is_hit "$1"
    skip a_plugin_has_its_path_in_a_debugger "$1"
    finish gdb
}

# debug COMMAND… runs gdb's commands on `ferry devices`; $output has the output of both.
debug() {
    set -- "$@" kill
    for command; do
        set -- "$@" -ex "$command"
        shift
    done
    output=$(LD_LIBRARY_PATH="$FERRY_TEST_BUILDDIR/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
        FERRY_BACKEND=sim DEBUGINFOD_URLS='' \
        timeout -s KILL 60 gdb -nx -batch -ex 'set breakpoint pending on' -ex 'set pagination off' "$@" \
        --args "$program" devices 2>&1 </dev/null)
    status=$?
}

case " $CC $CFLAGS $LDFLAGS " in
*" -fsanitize="*) skip_all "a sanitizer's own tracer and a debugger's exclude each other" ;;
esac
gdb --version >/dev/null 2>&1 || skip_all 'there is no gdb (Debian: gdb)'
[ -r "$plugin" ] || skip_all 'sim was not built'
timeout 60 gdb -nx -batch -ex run --args "$(command -v true)" 2>&1 </dev/null | grep -q 'exited normally' ||
    skip_all 'gdb cannot run a program here'

debug 'break sim_device_open' run backtrace sharedlibrary 'info sharedlibrary ferry_sim'
if [ $status -eq 137 ]; then
    fail a_pending_breakpoint_in_a_plugin_is_hit "gdb was not done after 60 s" "$output"
elif echo "$output" | grep -q '^Breakpoint 1, .*sim_device_open' &&
    echo "$output" | grep -q '^#0 .*sim_device_open'; then
    pass a_pending_breakpoint_in_a_plugin_is_hit
else
    fail a_pending_breakpoint_in_a_plugin_is_hit "$output"
fi
if echo "$output" | grep -F " $plugin" | grep -q ' Yes '; then
    pass a_plugin_has_its_path_in_a_debugger
else
    fail a_plugin_has_its_path_in_a_debugger "$output"
fi
finish gdb
