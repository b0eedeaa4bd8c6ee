#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Fills a folder with the static libraries, headers and licences of another machine's Debian packages, for the wheel:
# sysroot.sh ARCH FOLDER, ARCH as in WHEEL_ARCH (aarch64). apt-get takes the newest from this system's sources of packages;
# this system's own state does not change. FOLDER/packages has their names and versions.
set -eu
case $1 in
aarch64) arch=arm64 ;;
x86_64) arch=amd64 ;;
*) arch=$1 ;;
esac
folder=$2
packages='libinih-dev libinih1 libjansson-dev libjansson4 zlib1g-dev zlib1g libhdf5-dev libhdf5-103-1 libaec-dev libaec0
    libpng-dev libpng16-16 libjpeg62-turbo-dev libjpeg62-turbo liblmdb-dev liblmdb0 libclblast-dev libclblast1
    libopenblas-pthread-dev libopenblas0-pthread libstdc++-12-dev libstdc++6 libgcc-12-dev gcc-12-base opencl-c-headers'

mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial" "$folder/apt/debs"
folder=$(cd "$folder" && pwd)
: >"$folder/apt/status"
cat >"$folder/apt/options" <<END
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Sandbox::User "";
Dir::State::Lists "$folder/apt/lists";
Dir::State::status "$folder/apt/status";
Dir::Cache "$folder/apt/cache";
END
APT_CONFIG=$folder/apt/options
export APT_CONFIG
apt-get -qq update
cd "$folder/apt/debs"
# shellcheck disable=SC2086 # words
apt-get -qq download $packages
for deb in *.deb; do
    dpkg-deb -x "$deb" "$folder"
    # shellcheck disable=SC2016 # dpkg-deb expands it
    dpkg-deb -W --showformat='${Package} ${Version}\n' "$deb"
done | sort >"$folder/packages"
rm -rf "$folder/apt"
