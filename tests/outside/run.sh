#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `make installcheck`: the installed files suffice for an external program. A program and a plugin are
# compiled with the flags of pkg-config alone, and run outside the source tree.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BACKENDS=}" "${DESTDIR=}" "${CC:=cc}" "${CFLAGS=}"
: "${LDFLAGS=}" "${CXX:=c++}" "${libdir:?}" "${plugindir:?}" "${includedir:?}" "${bindir:?}"
: "${pkgconfigdir:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"
here=$FERRY_TEST_SRCDIR/tests/outside

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# ferry's own .pc files are those that were installed; inih's may be anywhere.
PKG_CONFIG_PATH="$DESTDIR$pkgconfigdir${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
LD_LIBRARY_PATH="$DESTDIR$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PKG_CONFIG_PATH LD_LIBRARY_PATH
if [ -n "$DESTDIR" ]; then
    PKG_CONFIG_SYSROOT_DIR=$DESTDIR
    export PKG_CONFIG_SYSROOT_DIR
    # The library is configured for another folder than the one into which it is installed here.
    FERRY_PLUGIN_PATH="$DESTDIR$plugindir:$work"
else
    FERRY_PLUGIN_PATH=$work
fi
unset FERRY_BACKEND FERRY_STRICT FERRY_TRACE FERRY_LOG
: >"$work/plugins.conf"
FERRY_CONF=$work/plugins.conf
export FERRY_PLUGIN_PATH FERRY_CONF

# The flags of pkg-config, and the tree's CFLAGS and LDFLAGS, which may name a sanitizer.
# shellcheck disable=SC2046,SC2086
build_program() {
    $CC -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Werror $CFLAGS \
        $(pkg-config --cflags ferry) "$here/program.c" -o "$work/program" \
        $LDFLAGS $(pkg-config --libs ferry)
}

# shellcheck disable=SC2046,SC2086
build_plugin() {
    $CC -std=c11 -Wall -Wextra -Wpedantic -Wconversion -Werror $CFLAGS -fPIC -shared \
        -fvisibility=hidden $(pkg-config --cflags ferry) "$here/plugin.c" \
        -o "$work/ferry_outside.so" $LDFLAGS
}

# The template is copied to a folder for its author, and built according to its README.
build_template() {
    found=$(pkg-config --variable=templatedir ferry)
    [ -d "$found" ] || found=$DESTDIR$found
    cp -r "$found" "$work/template" && chmod -R u+w "$work/template" && cd "$work/template" || return 1
    autoreconf -fi && ./configure CC="$CC" CFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS" \
        FERRY_COMMAND="$DESTDIR$bindir/ferry" && make && make check &&
        make install DESTDIR="$work/staged" || return 1
    cp .libs/ferry_acme.so .libs/ferry_acme_queues.so "$work"
}

# Also in C++, and from a tarball: the trial does not install into the plugin folder.
build_template_in_cxx() {
    found=$(pkg-config --variable=templatedir ferry)
    [ -d "$found" ] || found=$DESTDIR$found
    cp -r "$found" "$work/cxx" && chmod -R u+w "$work/cxx" && cd "$work/cxx" || return 1
    mv acme.c acme.cc && mv acme_queues.c acme_queues.cc &&
        sed -i 's/ acme\.c/ acme.cc/; s/ acme_queues\.c/ acme_queues.cc/' Makefile.am &&
        sed -i 's/^dnl AC_PROG_CXX.*/AC_PROG_CXX/; s/acme\.c\]/acme.cc]/' configure.ac &&
        autoreconf -fi && ./configure CC="$CC" CXX="$CXX" CFLAGS="$CFLAGS" CXXFLAGS="$CFLAGS" \
        LDFLAGS="$LDFLAGS" FERRY_COMMAND="$DESTDIR$bindir/ferry" || return 1
    make distcheck >distcheck.log 2>&1 || { tail -n 40 distcheck.log; return 1; }
    grep 'install .*ferry_acme\.so' distcheck.log | grep -v '/_inst/lib/ferry/ferry_acme\.so$' || return 0
    return 1
}

# By find_package and its targets alone.
build_by_cmake() {
    cmake -S "$here/cmake" -B "$work/by-cmake" "-Dferry_DIR=$DESTDIR$libdir/cmake/ferry" \
        "-DPROGRAM=$here/program.c" "-DCMAKE_C_COMPILER=${CC##* }" "-DCMAKE_C_FLAGS=$CFLAGS" \
        "-DCMAKE_CXX_FLAGS=$CFLAGS" "-DCMAKE_EXE_LINKER_FLAGS=$LDFLAGS" &&
        cmake --build "$work/by-cmake" && "$work/by-cmake/nets" && "$work/by-cmake/classes" && "$work/by-cmake/kernels" &&
        cp "$work/by-cmake/program" "$work/program-cmake" && FERRY_BACKEND=sim "$work/program-cmake"
}

# Also by Meson, which calls pkg-config.
build_by_meson() {
    mkdir "$work/meson" && cp "$here/meson/meson.build" "$here/cmake/nets.c" "$here/cmake/classes.cpp" "$work/meson" &&
        (cd "$work/meson" && CFLAGS=$CFLAGS CXXFLAGS=$CFLAGS LDFLAGS=$LDFLAGS meson setup build && ninja -C build) &&
        "$work/meson/build/nets" && "$work/meson/build/classes"
}

# Also by the command, under another name.
build_new_plugin() {
    found=$(pkg-config --variable=templatedir ferry)
    [ -d "$found" ] || found=$DESTDIR$found
    cd "$work" && "$DESTDIR$bindir/ferry" new-plugin my-rocket --cxx --template "$found" &&
        cd ferry-my-rocket && autoreconf -fi && ./configure CC="$CC" CXX="$CXX" CFLAGS="$CFLAGS" \
        CXXFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS" FERRY_COMMAND="$DESTDIR$bindir/ferry" && make &&
        make check
}

# With every operation, by the kernels of libferrykernels.
build_operations() {
    found=$(pkg-config --variable=templatedir ferry)
    [ -d "$found" ] || found=$DESTDIR$found
    texts=$(pkg-config --variable=sourcedir ferrykernels)
    [ -d "$texts/kernels" ] || texts=$DESTDIR$texts
    cd "$work" && "$DESTDIR$bindir/ferry" new-plugin all-kinds --operations --template "$found" &&
        cd ferry-all-kinds && autoreconf -fi && ./configure CC="$CC" CFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS" \
        FERRY_COMMAND="$DESTDIR$bindir/ferry" KERNELS_SOURCEDIR="$texts" && make && make check
}

# Runs the commands of doc/whole-nets.md in an empty folder: lines that begin with " $ ", and their
# here-documents. The results of each step equal those of the cpu plugin, or `ferry diff` fails.
follow_whole_nets() {
    awk '
    text { print substr($0, 5); if (substr($0, 5) == "END") text = 0; next }
    /^    \$ / { print substr($0, 7); text = /<<.END./ }' "$FERRY_TEST_SRCDIR/doc/whole-nets.md" >"$work/whole-nets.sh"
    [ "$(grep -c 'ferry diff' "$work/whole-nets.sh")" -eq 3 ] || { echo 'the page has other commands'; return 1; }
    mkdir "$work/empty" && cd "$work/empty" && CC=$CC CFLAGS=$CFLAGS LDFLAGS=$LDFLAGS PATH="$bindir:$PATH" \
        sh -e "$work/whole-nets.sh"
}

# In a language for which ferry has no header.
build_rust() {
    rustc --crate-type cdylib -C panic=abort -C opt-level=2 -o "$work/ferry_outside_rs.so" "$here/plugin.rs" &&
        "$DESTDIR$bindir/ferry" check "$work/ferry_outside_rs.so"
}

# runs_on DEVICE: the program selects it by the environment, and prints its name.
runs_on() {
    answer=$(FERRY_BACKEND=${1%:*} "$work/program") || return 1
    [ "$answer" = "$1" ] || { echo "ran on $answer"; return 1; }
}

variables_are_there() {
    found=$(pkg-config --variable=plugindir ferry)
    [ -d "${found#"$DESTDIR"}" ] || [ -d "$DESTDIR$found" ] || [ -d "$found" ] ||
        { echo "plugindir: $found"; return 1; }
    found=$(pkg-config --variable=abi_major ferry)
    [ "$found" = 1 ] || { echo "abi_major: $found"; return 1; }
}

plugins_are_there() {
    for backend in $FERRY_TEST_BACKENDS; do
        [ -f "$DESTDIR$plugindir/ferry_$backend.so" ] || { echo "no $backend"; return 1; }
    done
}

# Other languages and build systems, the template, and each header alone: minutes, omitted with
# FERRY_TEST_QUICK.
for tool in autoreconf libtoolize make; do
    command -v "$tool" >/dev/null 2>&1 || no_tool=$tool
done
other_builders() {
    for tool in cmake meson; do
        if command -v "$tool" >/dev/null 2>&1; then
            check "an_outside_project_builds_by_$tool" "build_by_$tool"
        else
            skip "an_outside_project_builds_by_$tool" "there is no $tool (Debian: $tool)"
        fi
    done
    case " $CFLAGS " in
    *" -fsanitize="*) skip a_plugin_in_rust_passes_its_check "the Rust plugin is built without the command's sanitizer" ;;
    *) if rustc --version >/dev/null 2>&1; then
        check a_plugin_in_rust_passes_its_check build_rust
    else
        skip a_plugin_in_rust_passes_its_check "there is no rustc"
    fi ;;
    esac
    if [ -n "${no_tool-}" ]; then
        skip the_plugin_template_builds_and_passes_its_check "there is no $no_tool"
    else
        check the_plugin_template_builds_and_passes_its_check build_template
        check the_program_runs_on_the_template runs_on acme:0
        check the_program_runs_on_the_grown_template runs_on acme_queues:0
        check a_new_plugin_is_ready_to_build build_new_plugin
        check a_plugin_of_new_plugin_computes_every_operation build_operations
        if [ -n "$DESTDIR" ]; then
            skip the_page_of_whole_nets_holds 'the page expects ferry in its own prefix'
        else
            check the_page_of_whole_nets_holds follow_whole_nets
        fi
        check the_template_is_cxx_and_its_distcheck_keeps_to_its_folder build_template_in_cxx
    fi
    check the_installed_headers_compile_alone \
        sh "$FERRY_TEST_SRCDIR/tests/scripts/check-headers.sh" "$DESTDIR$includedir"
}

check pkg_config_carries_plugindir_and_abi_major variables_are_there
check every_built_plugin_is_in_plugindir plugins_are_there
check an_outside_program_compiles_with_pkg_config_alone build_program
check an_outside_plugin_compiles_with_pkg_config_alone build_plugin
for backend in $FERRY_TEST_BACKENDS; do
    case $backend in
    cpu | sim) check "the_program_runs_on_installed_$backend" runs_on "$backend:0" ;;
    esac
done
check the_program_runs_on_the_outside_plugin runs_on outside:0
check the_installed_command_lists_devices "$DESTDIR$bindir/ferry" devices
check the_installed_command_checks_the_outside_plugin \
    "$DESTDIR$bindir/ferry" check "$work/ferry_outside.so"
if [ -z "${FERRY_TEST_QUICK-}" ]; then other_builders; fi

finish outside
