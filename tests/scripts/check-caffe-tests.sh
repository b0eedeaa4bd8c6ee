#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs Caffe's own tests, unchanged, with ferry's C++ headers on the devices cpu and sim, and prints
# a table by file. A failure that caffe-tests.list does not explain is a failure here, and so is a
# line of that list without a failure. Usage: check-caffe-tests.sh CAFFE_TREE [FILE…] default: all
# files; FILE is "net" for test_net.cpp
#
# Requires the development files of gtest, glog, protobuf and its compiler, Boost, OpenCV, HDF5,
# LMDB and LevelDB. Objects are kept in FERRY_TEST_BUILDDIR/caffe-tests, so that a second run only
# builds changed files. FERRY_TEST_JOBS is the number of concurrent compilers (2).
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${CXX:=c++}" "${FERRY_TEST_JOBS:=2}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

if [ $# -lt 1 ]; then
    skip caffes_own_tests 'no tree of Caffe was named'
    finish caffe-tests
fi
caffe=$(cd "$1" && pwd) || exit 1
shift
source=$(cd "$FERRY_TEST_SRCDIR" && pwd)
build=$(cd "$FERRY_TEST_BUILDDIR" && pwd)
work=$build/caffe-tests
known=$source/tests/scripts/caffe-tests.list
mkdir -p "$work/caffe/proto" || exit 1

files=
for file in "$caffe"/src/caffe/test/test_*.cpp; do
    name=$(basename "$file" .cpp)
    name=${name#test_}
    case " $* " in
    "  " | *" $name "*) [ "$name" = caffe_main ] || files="$files $name" ;;
    esac
done

# The rules for all files: each is a program of its own.
cat >"$work/Makefile" <<EOF
CXXFLAGS = -std=c++14 -O0 -w -DCPU_ONLY -DUSE_OPENCV -DUSE_HDF5 -DUSE_LMDB -DUSE_LEVELDB \\
	-DFERRY_CAFFE_BOOST -DFERRY_CAFFE_GLOG -DCV_LOAD_IMAGE_COLOR=cv::IMREAD_COLOR \\
	-DCV_LOAD_IMAGE_GRAYSCALE=cv::IMREAD_GRAYSCALE
CPPFLAGS = -I$work -I$source/include/ferry/compat -I$source/include -idirafter $work/theirs \\
	$(pkg-config --cflags opencv4 2>/dev/null || echo -I/usr/include/opencv4) $(pkg-config --cflags hdf5 2>/dev/null)
LIBS = -L$build/.libs -lferrynet -lferryio -lferry -Wl,-rpath,$build/.libs -lgtest -lglog -lprotobuf \\
	-lboost_thread -lboost_system -lopencv_imgcodecs -lopencv_imgproc -lopencv_core \\
	$(pkg-config --libs hdf5 2>/dev/null) -lhdf5_hl -llmdb -lleveldb -lpthread
HEADERS = \$(wildcard $source/include/ferry/*.h $source/include/ferry/compat/caffe/*.h* \\
	$source/include/ferry/compat/caffe/*/*.h*)
.SECONDARY:
caffe/proto/caffe.pb.cc:
	cd $caffe/src && protoc --cpp_out=$work caffe/proto/caffe.proto
caffe.pb.o: caffe/proto/caffe.pb.cc
	\$(CXX) \$(CXXFLAGS) -I$work -c -o \$@ \$<
main.o: $caffe/src/caffe/test/test_caffe_main.cpp caffe/proto/caffe.pb.cc \$(HEADERS)
	\$(CXX) \$(CXXFLAGS) \$(CPPFLAGS) -c -o \$@ \$<
cpu-device.o: $source/tests/cxx/cpu-device.cpp caffe/proto/caffe.pb.cc \$(HEADERS)
	\$(CXX) \$(CXXFLAGS) \$(CPPFLAGS) -c -o \$@ \$<
all.hpp.gch: all.hpp caffe/proto/caffe.pb.cc \$(HEADERS)
	\$(CXX) \$(CXXFLAGS) \$(CPPFLAGS) -x c++-header -o \$@ \$<
%.o: $caffe/src/caffe/test/test_%.cpp all.hpp.gch
	\$(CXX) \$(CXXFLAGS) \$(CPPFLAGS) -include all.hpp -c -o \$@ \$< 2>\$*.errors
%.exe: %.o main.o cpu-device.o caffe.pb.o
	\$(CXX) -o \$@ \$^ \$(LIBS) 2>\$*.errors
EOF
# Compiled once for all files. check-headers.sh compiles each of ferry's headers alone.
printf '#include <%s>\n' caffe/caffe.hpp caffe/util/db.hpp gtest/gtest.h >"$work/all.new"
cmp -s "$work/all.new" "$work/all.hpp" || mv "$work/all.new" "$work/all.hpp"
# Of Caffe's headers only those of its tests are on the include path.
mkdir -p "$work/theirs/caffe" && ln -sfn "$caffe/include/caffe/test" "$work/theirs/caffe/test" || exit 1
targets=
for name in $files; do
    targets="$targets $name.exe"
done
# shellcheck disable=SC2086
nice -n 5 make -s -k -C "$work" -j"$FERRY_TEST_JOBS" CXX="$CXX" $targets >"$work/make.log" 2>&1

# explained FILE CASE DEVICE: whether the list has the case.
explained() {
    grep -qE "^$1 +$2 +(both|$3) " "$known"
}

# ran NAME DEVICE: prints "passed failed", and the failures to NAME.DEVICE.failed.
ran() {
    log=$work/$1.$2.log
    (cd "$caffe" && FERRY_PLUGIN_PATH=$build/backends/.libs FERRY_BACKEND="$2,cpu" FERRY_TEST_CPU_DEVICE=$2 \
        GLOG_minloglevel=2 nice -n 5 timeout 900 "$work/$1.exe" --gtest_filter="${FERRY_TEST_FILTER-*}" >"$log" 2>&1)
    grep '^\[  FAILED  \]' "$log" | sed 's/^\[  FAILED  \] //; s/[ ,].*//' | grep '\.' | sort -u >"$work/$1.$2.failed"
    grep -q '^\[  PASSED  \]\|^\[  FAILED  \]' "$log" ||
        grep '^\[ RUN' "$log" | tail -1 | sed 's/.*\] //; s/$/ (ended the program)/' >>"$work/$1.$2.failed"
    echo "$(grep -c '^\[       OK \]' "$log") $(wc -l <"$work/$1.$2.failed")"
}

printf '%-32s %-6s %14s %14s\n' file built 'cpu ok/failed' 'sim ok/failed'
: >"$work/unexplained"
: >"$work/seen"
all_cpu=0 all_sim=0 bad_cpu=0 bad_sim=0
for name in $files; do
    if [ ! -x "$work/$name.exe" ]; then
        printf '%-32s %-6s\n' "$name" no
        printf '%s built cpu\n%s built sim\n' "$name" "$name" >>"$work/seen"
        explained "$name" built both || echo "$name does not build: $work/$name.errors" >>"$work/unexplained"
        continue
    fi
    # shellcheck disable=SC2046
    set -- $(ran "$name" cpu) $(ran "$name" sim)
    printf '%-32s %-6s %9s/%-4s %9s/%-4s\n' "$name" yes "$1" "$2" "$3" "$4"
    all_cpu=$((all_cpu + $1)) bad_cpu=$((bad_cpu + $2)) all_sim=$((all_sim + $3)) bad_sim=$((bad_sim + $4))
    for device in cpu sim; do
        while read -r case rest; do
            plain=$(echo "$case" | sed 's|/[0-9]*\.|.|')
            echo "$name $plain $device" >>"$work/seen"
            explained "$name" "$plain" $device || echo "$name $case $device $rest" >>"$work/unexplained"
        done <"$work/$name.$device.failed"
    done
done
printf '%-32s %-6s %9s/%-4s %9s/%-4s\n' all '' $all_cpu $bad_cpu $all_sim $bad_sim
sed 's/^/unexplained: /' "$work/unexplained"
check every_failure_has_a_reason test ! -s "$work/unexplained"

# stale: prints the lines of the list, for the files that were run, whose case did not fail on one
# of their devices.
stale() {
    grep -v '^#' "$known" | while read -r name case device reason; do
        case " $files " in *" $name "*) ;; *) continue ;; esac
        for one in $(echo "$device" | sed 's/both/cpu sim/'); do
            grep -qxF "$name $case $one" "$work/seen" || echo "stale: $name $case $one: $reason"
        done
    done
}
if [ "${FERRY_TEST_FILTER-*}" = '*' ]; then
    check every_reason_has_a_failure test -z "$(stale | tee /dev/stderr)"
else
    skip every_reason_has_a_failure 'FERRY_TEST_FILTER leaves cases out'
fi
finish caffe-tests
