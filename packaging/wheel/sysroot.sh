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

mkdir -p "$folder/apt/debs"
folder=$(cd "$folder" && pwd)
# shellcheck source=packaging/apt.sh
. "$(dirname "$0")/../apt.sh"
foreign_apt "$arch" "$folder/apt"
# shellcheck disable=SC2086 # words
(cd "$folder/apt/debs" && apt-get -qq download $packages)
unpack_debs "$folder/apt/debs" "$folder" >"$folder/packages"
rm -rf "$folder/apt"
