#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Builds ferry for another architecture and runs its tests under qemu-user: cross.sh ARCH [TEST…], where ARCH is
# Debian's name (arm64, i386, riscv64, s390x) and TEST a target as tests/unit/test-memory; without TEST, the tests
# of the core, of io, of op and of net. `make check-cross ARCH=…` calls it.
#
# The folder cross-ARCH of the current folder has the architecture's Debian packages (root; nothing is installed on
# this machine), the build, and the results. Needs: apt-get, gcc-TRIPLET, qemu-user-static. The packages come from this
# system's sources, or from those of the file that CROSS_SOURCES names: riscv64 needs Debian 13's. CROSS_CC precedes the
# compiler's name (ccache), JOBS is the number of jobs.
set -eu

source=$(cd "$(dirname "$0")/../.." && pwd)
arch=${1:?usage: cross.sh arm64|i386|riscv64|s390x [TEST…]}
shift
gcc=12 # libgcc's version in the sources
case $arch in
arm64) triplet=aarch64-linux-gnu paths=aarch64-linux-gnu cpu=aarch64 ;;
i386) triplet=i686-linux-gnu paths=i386-linux-gnu cpu=i386 ;;
riscv64) triplet=riscv64-linux-gnu paths=riscv64-linux-gnu cpu=riscv64 gcc=14 ;;
s390x) triplet=s390x-linux-gnu paths=s390x-linux-gnu cpu=s390x ;;
*) echo "cross.sh: unknown architecture $arch" >&2; exit 2 ;;
esac
folder=$PWD/cross-$arch
root=$folder/root
packages="libc6-dev libgcc-$gcc-dev libinih-dev libjansson-dev libopenblas-dev zlib1g-dev libhdf5-dev libpng-dev
    libjpeg-dev liblmdb-dev libleveldb-dev libcunit1-dev"

for needed in apt-get dpkg "$triplet-gcc" "qemu-$cpu-static"; do
    command -v "$needed" >/dev/null || { echo "cross.sh: $needed is missing" >&2; exit 77; }
done

[ "$arch" != riscv64 ] || [ -n "${CROSS_SOURCES-}" ] || {
    echo "cross.sh: riscv64 needs CROSS_SOURCES=FILE, a list of sources of Debian 13" >&2
    exit 2
}

# shellcheck source=packaging/apt.sh
. "$source/packaging/apt.sh"

# Debian's packages select OpenBLAS and HDF5 by scripts, which dpkg -x does not run.
links() {
    libraries=$root/usr/lib/$paths
    [ -e "$root/lib" ] || ln -s usr/lib "$root/lib"
    for file in libopenblas.so libopenblas.so.0 libblas.so.3 liblapack.so.3; do
        ln -sf "openblas-pthread/$file" "$libraries/$file"
    done
    ln -sf ../openblas-pthread/pkgconfig/openblas.pc "$libraries/pkgconfig/openblas.pc"
    ln -sf hdf5-serial.pc "$libraries/pkgconfig/hdf5.pc"
    find "$root" -type l -lname '/*' | while read -r link; do
        ln -sfn "$root$(readlink "$link")" "$link"
    done
}

export PKG_CONFIG_LIBDIR="$root/usr/lib/$paths/pkgconfig:$root/usr/share/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"

make_root() {
    mkdir -p "$root"
    foreign_apt "$arch" "$folder/apt" "${CROSS_SOURCES-}"
    # shellcheck disable=SC2086
    apt-get -qq install -y --no-install-recommends --download-only $packages
    unpack_debs "$folder/apt/cache/archives" "$root" >"$folder/packages"
    links
    touch "$folder/root.done"
}

# The folder of libraries is named, because the compiler would take libc of its own packages, which may be older.
configure_build() {
    mkdir -p "$folder/build"
    cd "$folder/build"
    "$source/configure" -q --host="$triplet" CC="${CROSS_CC:+$CROSS_CC }$triplet-gcc --sysroot=$root" CXX=no \
        CFLAGS='-O2 -g1' LDFLAGS="-L$root/usr/lib/$paths" --enable-cpu=yes --enable-sim=yes --disable-cuda \
        --disable-hip --disable-opencl --disable-openvino --with-mpi=no
}

[ -e "$folder/root.done" ] || make_root
[ -e "$folder/build/config.status" ] || (configure_build)
cd "$folder/build"
make -s -j"${JOBS:-1}" all
make -s -j"${JOBS:-1}" check TESTS=
# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- $(make -s print-cross-tests)
find . -name '*.trs' -delete
# OpenBLAS's kernel for the processor that qemu-i386 imitates crashes in qemu.
[ "$arch" != i386 ] || export OPENBLAS_CORETYPE="${OPENBLAS_CORETYPE:-Prescott}"
status=0
# Under qemu, tests take their shorter forms, as under valgrind.
QEMU_LD_PREFIX=$root FERRY_TEST_TIMEOUT=${FERRY_TEST_TIMEOUT:-1800} FERRY_TEST_SLOW=1 \
    make -s -k -j"${JOBS:-1}" check LOG_COMPILER="qemu-$cpu-static" TESTS="$*" || status=$?
sh "$source/tests/scripts/sum-results.sh" .
exit $status
