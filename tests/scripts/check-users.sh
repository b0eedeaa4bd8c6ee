#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A set-user-ID program, and two real users of one group that are created for this test: files that
# one of them prepares are never executed with the rights of another. Requires root; skipped
# otherwise.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${CC:=cc}" "${CFLAGS=}" "${LDFLAGS=}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

here=$FERRY_TEST_SRCDIR/tests/users
attacker=ferry-a$$ victim=ferry-v$$
starts=${FERRY_TEST_STARTS:-60}

skip_all() {
    skip files_of_one_user_are_not_executed_by_another "$1"
    finish users
}

[ "$(id -u)" -eq 0 ] || skip_all 'only root can make users and set-user-ID programs'
for tool in useradd userdel groupadd setpriv; do
    command -v $tool >/dev/null || skip_all "there is no $tool"
done
case "$CC $CFLAGS $LDFLAGS" in
*-fsanitize=*) skip_all 'a sanitizer has no place in a set-user-ID program' ;;
esac

work=$(mktemp -d /tmp/ferry-users-XXXXXX) || exit 1
ended() {
    rm -rf "$work"
    userdel -f "$attacker" 2>/dev/null
    userdel -f "$victim" 2>/dev/null
    groupdel "$attacker" 2>/dev/null
}
trap ended EXIT
trap 'exit 1' HUP INT TERM
groupadd "$attacker" && useradd -M -N -g "$attacker" "$attacker" &&
    useradd -M -N -g "$attacker" "$victim" || skip_all 'no user can be added here'

# A build of ferry whose folders are below $work; two files of the core contain the paths.
# shellcheck disable=SC2086
build() {
    mkdir -p "$work/etc/ferry" "$work/lib/ferry" "$work/attack" "$work/shared" "$work/trace" || return 1
    chmod 0755 "$work" && chmod 0777 "$work/trace" || return 1
    set -- $CC -std=gnu11 $CFLAGS -I"$FERRY_TEST_BUILDDIR" -I"$FERRY_TEST_SRCDIR" \
        -I"$FERRY_TEST_SRCDIR/include" "-DFERRY_PLUGINDIR=\"$work/lib/ferry\"" \
        "-DFERRY_SYSTEM_CONF=\"$work/etc/ferry/plugins.conf\"" "-DEVIL_TRACE=\"$work/trace/evil\""
    "$@" "$here/program.c" "$FERRY_TEST_SRCDIR/core/load/loader.c" \
        "$FERRY_TEST_SRCDIR/core/conf/conf_file.c" -o "$work/program" $LDFLAGS \
        "$FERRY_TEST_BUILDDIR/core/.libs/libferrycore.a" -linih -ldl -lpthread -lm &&
        "$@" "$here/exchange.c" -o "$work/exchange" &&
        "$@" -fPIC -shared "$here/evil.c" -o "$work/attack/driver.so" &&
        "$@" -fPIC -shared -fvisibility=hidden -DEVIL_PLUGIN "$here/evil.c" -o "$work/attack/alpha.so" &&
        "$@" -fPIC -shared "$here/vendor.c" -o "$work/lib/libvendor.so" -ldl &&
        "$@" -fPIC -shared -w -fvisibility=hidden '-DFAKE_NAME="alpha"' \
            "$FERRY_TEST_SRCDIR/tests/plugins/fake.c" -o "$work/lib/ferry/ferry_alpha.so" \
            -Wl,--no-as-needed "$work/lib/libvendor.so" || return 1
    cp "$work/program" "$work/setuid" && chown "$attacker" "$work/attack" "$work/attack"/* &&
        chmod 4755 "$work/setuid"
}

# as USER COMMAND…: without any of root's rights.
as() {
    as_user=$1
    shift
    setpriv --reuid="$as_user" --regid="$attacker" --clear-groups "$@"
}

# ran UID: whether code of the attacker was executed by that user.
ran() {
    ls "$work/trace" | grep -q "^evil\.$1\."
}

check_setuid() {
    output=$(VENDOR_DRIVER=$work/attack/driver.so as "$attacker" "$work/setuid" 2>&1)
    case $output in
    *"no section of $work/etc/ferry/plugins.conf names the plugin"*)
        pass a_setuid_program_opens_only_plugins_of_the_system ;;
    *) fail a_setuid_program_opens_only_plugins_of_the_system "$output" ;;
    esac
    printf '[plugin alpha]\n' >"$work/etc/ferry/plugins.conf"
    output=$(VENDOR_DRIVER=$work/attack/driver.so as "$attacker" "$work/setuid" 2>/dev/null)
    if [ "$output" = 'alpha works' ]; then
        pass a_setuid_program_opens_a_plugin_of_the_system
    else
        fail a_setuid_program_opens_a_plugin_of_the_system "$output"
    fi
    if ran 0; then
        fail a_driver_of_the_caller_never_runs_as_root "$(ls "$work/trace")"
    else
        pass a_driver_of_the_caller_never_runs_as_root
    fi
    # the same program without the set-user-ID bit: shows that the attack would be detected
    VENDOR_DRIVER=$work/attack/driver.so as "$attacker" "$work/program" >/dev/null 2>&1
    if ran "$(id -u "$attacker")"; then
        pass the_driver_runs_with_the_rights_of_the_caller
    else
        fail the_driver_runs_with_the_rights_of_the_caller "$(ls "$work/trace")"
    fi
}

# OpenCL's own loader, in the place of ferry's plugin: a driver that the caller names.
check_opencl() {
    plugin=$FERRY_TEST_BUILDDIR/backends/.libs/ferry_opencl.so
    if [ ! -f "$plugin" ]; then
        skip an_opencl_driver_of_the_caller_never_runs_as_root 'no OpenCL plugin was built'
        return
    fi
    cp "$plugin" "$work/lib/ferry/" && printf '[plugin opencl]\n' >"$work/etc/ferry/plugins.conf"
    echo "$work/attack/driver.so" >"$work/attack/evil.icd"
    rm -f "$work/trace"/*
    OCL_ICD_VENDORS=$work/attack OPENCL_VENDOR_PATH=$work/attack \
        OCL_ICD_FILENAMES=$work/attack/driver.so as "$attacker" "$work/setuid" >/dev/null 2>&1
    if ran 0; then
        fail an_opencl_driver_of_the_caller_never_runs_as_root
    else
        pass an_opencl_driver_of_the_caller_never_runs_as_root
    fi
}

# A member of the group exchanges the file in a group-writable folder while another loads it.
check_race() {
    cp "$work/lib/ferry/ferry_alpha.so" "$work/shared/" && chown -R "$victim" "$work/shared" &&
        chgrp "$attacker" "$work/shared" && chmod 0775 "$work/shared" || return 1
    rm -f "$work/trace"/*
    as "$attacker" cp "$work/attack/alpha.so" "$work/shared/mine" || return 1
    # not by `as`: the program itself is killed below
    setpriv --reuid="$attacker" --regid="$attacker" --clear-groups "$work/exchange" \
        "$work/shared/mine" "$work/shared/ferry_alpha.so" 2>/dev/null &
    exchanging=$!
    n=0
    while [ $n -lt "$starts" ]; do
        FERRY_CONF=/dev/null FERRY_PLUGIN_PATH=$work/shared as "$victim" "$work/program" \
            >>"$work/out" 2>/dev/null
        n=$((n + 1))
    done
    if ! kill $exchanging 2>/dev/null; then
        fail a_file_exchanged_by_a_group_member_never_runs 'nobody exchanged it'
        return
    fi
    wait $exchanging 2>/dev/null
    taken_in=$(ls "$work/trace" | grep -c "^evil\.$(id -u "$victim")\.")
    echo "$starts starts, of which $(grep -c works "$work/out") loaded; $taken_in ran the attacker's file"
    if [ "$taken_in" -eq 0 ]; then
        pass a_file_exchanged_by_a_group_member_never_runs
    else
        fail a_file_exchanged_by_a_group_member_never_runs "$taken_in of $starts"
    fi
}

if ! build >"$work/build.out" 2>&1; then
    fail the_programs_are_built "$(cat "$work/build.out")"
    finish users
fi
as "$attacker" test -u "$work/setuid" || skip_all 'no set-user-ID program in /tmp'
unset FERRY_PLUGIN_PATH FERRY_CONF FERRY_BACKEND FERRY_LOG FERRY_STRICT FERRY_TRACE LD_LIBRARY_PATH
check_setuid
check_opencl
check_race
finish users
