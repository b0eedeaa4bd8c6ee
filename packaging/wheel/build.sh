#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Builds the wheel ferry-caffe: build.sh SOURCE FOLDER, in an empty or an earlier working folder; the wheel is written to
# FOLDER. Everything but libc is linked in from static libraries (Debian's -dev packages have them); OpenBLAS is a library
# of its own beside the plugins. Needs Zig (PyPI: ziglang), patchelf and Python. WHEEL_ARCH names another machine than this
# one, such as aarch64: then it needs the cross compiler, and the libraries in WHEEL_SYSROOT, which sysroot.sh fills;
# without WHEEL_SYSROOT, build.sh runs sysroot.sh. WHEEL_CUDA=yes also builds the wheel of the plugin cuda, which needs the
# toolkit of the nvcc on PATH; WHEEL_CUDA_LICENCE names the text of its licence.
set -eu
source=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
# The time of the files in the wheel, as in release.sh.
: "${SOURCE_DATE_EPOCH:=$(git -C "$source" log -1 --format=%ct 2>/dev/null || date -r "$source/NEWS" +%s)}"
export SOURCE_DATE_EPOCH
: "${CC:=cc}" "${PYTHON:=python3}" "${STRIP:=strip}" "${JOBS:=2}" "${WHEEL_CUDA:=no}"
WHEEL_GLIBC=2.28
: "${WHEEL_ARCH:=$(uname -m)}"
host=$WHEEL_ARCH-linux-gnu cross='' sysroot=''
if [ "$WHEEL_ARCH" != "$(uname -m)" ]; then
    CC=${WHEEL_CROSS_CC-$host-gcc} STRIP=$host-strip cross=--host=$host sysroot=${WHEEL_SYSROOT:-$PWD/sysroot}
    [ -e "$sysroot/packages" ] || sh "$source/packaging/wheel/sysroot.sh" "$WHEEL_ARCH" "$sysroot"
fi
WHEEL_CC=$CC WHEEL_TARGET=$host.$WHEEL_GLIBC
if [ -z "${WHEEL_ZIG-}" ]; then
    WHEEL_ZIG=zig
    ! "$PYTHON" -c 'import ziglang' 2>/dev/null || WHEEL_ZIG="$PYTHON -m ziglang"
fi
export WHEEL_CC WHEEL_TARGET WHEEL_ZIG
# With an outer make's variables, CC among them, the command would be linked without Zig.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES

die() {
    echo "wheel: $*" >&2
    exit 1
}

$WHEEL_ZIG version >/dev/null 2>&1 || die 'Zig is missing (pip install ziglang; or WHEEL_ZIG names it)'
$CC --version >/dev/null 2>&1 || die "$CC is missing (Debian: gcc-$(echo "$host" | tr _ -))"
command -v patchelf >/dev/null || die 'patchelf is missing (Debian: patchelf; PyPI: patchelf)'

# found LIBRARY: the file of a static library.
found() {
    if [ -n "$sysroot" ]; then
        find "$sysroot/usr/lib/$host" "$sysroot/usr/lib/gcc/$host" -name "$1" | sort | tail -n 1
    elif [ "$1" = libhdf5.a ]; then
        echo "$(pkg-config --libs-only-L hdf5 | sed 's/^-L//; s/ .*//')/libhdf5.a"
    else
        $CC -print-file-name="$1"
    fi
}

version_of() {
    if [ -n "$sysroot" ]; then
        sed -n "s/^$1 //p" "$sysroot/packages"
    else
        dpkg-query -W -f '${Version}\n' "$1" | head -n 1
    fi
}

hdf5_flags() {
    if [ -n "$sysroot" ]; then
        echo "-idirafter $sysroot/usr/include/hdf5/serial"
    else
        pkg-config --cflags hdf5
    fi
}

# Static libraries, in a folder without shared ones: library:package of Debian's.
static='libinih.a:libinih-dev libjansson.a:libjansson-dev libz.a:zlib1g-dev libhdf5.a:libhdf5-dev libsz.a:libaec-dev
    libaec.a:libaec-dev libpng16.a:libpng-dev libjpeg.a:libjpeg62-turbo-dev liblmdb.a:liblmdb-dev
    libclblast.a:libclblast-dev libopenblas.a:libopenblas-dev libstdc++.a:libstdc++-dev
    libgcc_eh.a:libgcc-dev'
rm -rf static licences native
mkdir -p static licences native/ferry native/bin native/include native/plugin-template
for pair in $static; do
    library=${pair%:*} package=${pair#*:}
    file=$(found "$library")
    [ -f "$file" ] || die "$library is missing (Debian: $package)"
    case $library in libstdc++.a) library=libferrystdcxx.a ;; esac # Zig takes -lstdc++ for its own
    ln -s "$file" "static/$library"
done
# packages.txt: what is linked in, for the SBOM.
for package in libinih1 libjansson4 zlib1g libhdf5-103-1 libaec0 libpng16-16 libjpeg62-turbo liblmdb0 libclblast1 \
    libopenblas0-pthread libstdc++6; do
    cp -L "$sysroot/usr/share/doc/$package/copyright" "licences/$package.txt" 2>/dev/null ||
        die "$sysroot/usr/share/doc/$package/copyright is missing: the licence of what the wheel carries"
    echo "$package $(version_of "$package")"
done >licences/packages.txt
cp "$source/LICENSE" licences/LICENSE
for part in streams glibc; do
    $CC -std=c11 -O2 -fPIC -c "$source/packaging/wheel/$part.c" -o "$part.o"
done
rm -f static/libferryold.a
ar rcD static/libferryold.a streams.o glibc.o
old='-lferryold -ldl'

headers=
[ -z "$sysroot" ] || headers="-idirafter $sysroot/usr/include -idirafter $sysroot/usr/include/$host"
# shellcheck disable=SC2086 # an option, or none
[ -f config.status ] || "$source/configure" -q $cross CC="sh $source/packaging/wheel/cc.sh" \
    CFLAGS="-O2 -g -ffile-prefix-map=$source=ferry" CPPFLAGS="$headers" LDFLAGS="-L$PWD/static" \
    --enable-relocatable --enable-cpu=yes --enable-sim=yes --enable-hip=no --enable-opencl=yes --enable-openvino=no --with-mpi=no \
    --enable-cuda="$WHEEL_CUDA" --enable-cuda-kernels=no --libdir=/usr/lib INIH_CFLAGS=' ' INIH_LIBS="-linih $old" JANSSON_CFLAGS=' ' JANSSON_LIBS="-ljansson $old" \
    ZLIB_CFLAGS=' ' ZLIB_LIBS=-lz HDF5_CFLAGS="$(hdf5_flags)" \
    HDF5_LIBS="-lhdf5 -lsz -laec -lz $old -lm" PNG_CFLAGS=' ' PNG_LIBS="-lpng16 -lz $old -lm" JPEG_CFLAGS=' ' \
    JPEG_LIBS="-ljpeg $old" LMDB_CFLAGS=' ' LMDB_LIBS="-llmdb $old" CLBLAST_CFLAGS=' ' CLBLAST_LIBS="-lclblast -lferrystdcxx -lgcc_eh $old"
make -s generated-sources
make -s -j"$JOBS" libferry.la libferryio.la libferrynet.la libferrykernels.la backends/ferry_cpu.la backends/ferry_sim.la
make -s -j"$JOBS" backends/ferry_opencl.la tools/ferry/ferry

# OpenBLAS: the four products that the plugin cpu calls.
{
    echo '{ global:'
    for function in sgemv dgemv sgemm dgemm; do echo "cblas_$function;"; done
    echo 'local: *; };'
} >blas.map
$WHEEL_ZIG cc -target "$WHEEL_TARGET" -shared -fno-sanitize=undefined -o libferryblas.so.0 \
    -Wl,-soname,libferryblas.so.0 -Wl,--version-script=blas.map -Wl,-z,defs -Wl,-u,cblas_sgemv -Wl,-u,cblas_dgemv \
    -Wl,-u,cblas_sgemm -Wl,-u,cblas_dgemm static/libopenblas.a -lpthread -lm

for library in libferry.so.0 libferryio.so.1 libferrynet.so.0 libferrykernels.so.0; do
    cp -L ".libs/$library" native/
done
cp backends/.libs/ferry_cpu.so backends/.libs/ferry_sim.so backends/.libs/ferry_opencl.so libferryblas.so.0 native/ferry/
cp "$source/plugins.conf" native/ferry/
cp tools/ferry/.libs/ferry native/bin/
cp -R "$source/include/ferry" native/include/
cp -R "$source/examples/plugin-template/." native/plugin-template
# The texts of the kernels, for `ferry new-plugin --operations`.
make -s install-kernelsDATA install-nodist_kernelsDATA kernelsdir="$PWD/native/kernels" >/dev/null
find native -name local.mk -o -name README.md -path '*/include/*' | xargs rm -f
find native -type f -exec chmod 644 {} +
chmod 755 native/bin/ferry
$STRIP --strip-unneeded native/*.so.* native/ferry/*.so native/ferry/*.so.0 native/bin/ferry
patchelf --set-rpath '$ORIGIN' native/libferryio.so.1 native/libferrynet.so.0
patchelf --set-rpath '$ORIGIN/..' native/bin/ferry
patchelf --remove-rpath native/ferry/ferry_opencl.so native/libferrykernels.so.0

version=$(sed -n "s/^PACKAGE_VERSION = //p" Makefile | sed 's/~rc/rc/')
tag=py3-none-manylinux_$(echo $WHEEL_GLIBC | tr . _)_$WHEEL_ARCH
"$PYTHON" "$source/packaging/wheel/assemble.py" "$source/python" native licences "$version" "$tag" "$out"

# The plugin cuda: the runtime is linked in, and libnvrtc compiles the kernels at their first use.
[ "$WHEEL_CUDA" = yes ] || exit 0
cuda=$(sed -n 's/^CUDA_LIBDIR = //p' Makefile) major=$(sed -n 's/^CUDA_CUDART_MAJOR = //p' Makefile)
: "${WHEEL_CUDA_LICENCE=$(find "$cuda/../" -name 'EULA*' -o -path '*nvidia_cuda_runtime*' -name License.txt | head -n 1)}"
[ "$major" -ge 13 ] || die "NVIDIA's packages of CUDA $major have other folders"
[ -f "$WHEEL_CUDA_LICENCE" ] || die 'the licence of CUDA is missing (WHEEL_CUDA_LICENCE names its text)'
make -s -j"$JOBS" backends/ferry_cuda.la
rm -rf cuda-licences
mkdir cuda-licences
cp -L "$WHEEL_CUDA_LICENCE" "cuda-licences/cudart-$major.txt"
cp "$source/LICENSE" cuda-licences/LICENSE
cp backends/.libs/ferry_cuda.so native-cuda.so
$STRIP --strip-unneeded native-cuda.so
patchelf --remove-rpath native-cuda.so
"$PYTHON" "$source/packaging/wheel/assemble.py" --cuda "$major" native-cuda.so cuda-licences "$version" "$tag" "$out"
