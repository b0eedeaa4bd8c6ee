# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh
# Debian's packages of another architecture, unpacked in a folder: for packaging/wheel/sysroot.sh and tests/scripts/cross.sh,
# which include this file. It needs apt-get and dpkg-deb, and no rights of root.

# foreign_apt ARCH FOLDER [SOURCES]: apt-get then has lists, a cache and a state of its own in FOLDER, of a machine of that
# architecture without packages. The packages come from this system's sources, or from those of the file SOURCES.
foreign_apt() {
    mkdir -p "$2/lists/partial" "$2/cache/archives/partial"
    : >"$2/status"
    cat >"$2/options" <<END
APT::Architecture "$1";
APT::Architectures { "$1"; };
APT::Sandbox::User "root";
Dir::State "$2";
Dir::State::status "$2/status";
Dir::Cache "$2/cache";
Dir::Etc::preferencesparts "/dev/null";
END
    if [ -n "${3-}" ]; then
        printf 'Dir::Etc::sourcelist "%s";\nDir::Etc::sourceparts "/dev/null";\n' "$3" >>"$2/options"
    fi
    APT_CONFIG=$2/options
    export APT_CONFIG
    apt-get -qq update
}

# unpack_debs DEBS ROOT: unpacks the packages of one folder into another, and prints their names and versions, sorted.
unpack_debs() {
    for deb in "$1"/*.deb; do
        dpkg-deb -x "$deb" "$2"
        # shellcheck disable=SC2016 # dpkg-deb expands it
        dpkg-deb -W --showformat='${Package} ${Version}\n' "$deb"
    done | LC_ALL=C sort
}
