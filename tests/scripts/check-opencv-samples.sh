#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Compares OpenCV's own samples for Caffe models, with only the include of dnn.hpp changed, with the
# unchanged samples: pictures and output must be equal. Models have random weights and the texts in
# FERRY_TEST_DATA/nets/prototxt. Usage: check-opencv-samples.sh FOLDER a folder with
# classification.cpp and the others: samples/dnn of OpenCV 4
#
# Requires OpenCV 4's development files, including those of its dnn module, and Python with NumPy.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${CXX:=c++}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

if [ $# -lt 1 ] || [ -z "${FERRY_TEST_DATA-}" ]; then
    skip opencvs_samples 'no folder of samples was named, or no FERRY_TEST_DATA'
    finish opencv-samples
fi
samples=$(cd "$1" && pwd) || exit 1
include=$(cd "$FERRY_TEST_SRCDIR/include" && pwd)
libraries=$(cd "$FERRY_TEST_BUILDDIR/.libs" && pwd)
FERRY_PLUGIN_PATH=$(cd "$FERRY_TEST_BUILDDIR/backends/.libs" && pwd)
FERRY_BACKEND=${FERRY_BACKEND-cpu}
FERRY_LIBRARY_PATH=$libraries
PYTHONPATH=$(cd "$FERRY_TEST_SRCDIR/python" && pwd)
export FERRY_PLUGIN_PATH FERRY_BACKEND FERRY_LIBRARY_PATH PYTHONPATH
script=$(cd "$FERRY_TEST_SRCDIR/tests/scripts" && pwd)/opencv-samples.py
python=$(python_with numpy) || exit 1
opencv=$(pkg-config --variable=includedir opencv4 2>/dev/null)
[ -n "$opencv" ] || opencv=/usr/include/opencv4
work=$(mktemp -d /tmp/ferry-samples-XXXXXX) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# compiled SOURCE PROGRAM LIBRARY…
compiled() {
    source=$1 program=$2
    shift 2
    nice -n 5 "$CXX" -std=c++11 -O0 -w -I"$samples" -I"$include" -I"$opencv" "$source" "$work/windows.o" -o "$program" \
        "$@" -lopencv_videoio -lopencv_imgcodecs -lopencv_imgproc -lopencv_core -lpthread
}

# moved NAME: the sample with one line changed, compiled with ferry.
moved() {
    sed 's|#include <opencv2/dnn.hpp>|#include <ferry/opencv/opencv2/dnn.hpp>|' "$samples/$1.cpp" >"$work/$1.cpp"
    [ "$(diff "$samples/$1.cpp" "$work/$1.cpp" | grep -c '^>')" -eq 1 ] &&
        compiled "$work/$1.cpp" "$work/$1" -L"$libraries" -lferrynet -lferryio -lferry -Wl,-rpath,"$libraries"
}

# arguments NAME: the arguments of the sample.
arguments() {
    net="$work/$1.caffemodel $work/$1.prototxt"
    files="--model=${net% *} --config=${net#* } --input=$work/picture.ppm --rgb=false"
    case $1 in
    classification) echo "$files --width=227 --height=227 --scale=0.02 --mean=104" ;;
    object_detection)
        echo "$files --width=300 --height=300 --scale=0.00784 --thr=0.2 --nms=0.4"
        ;;
    segmentation) echo "$files --width=96 --height=96 --scale=0.02 --mean=104" ;;
    colorization) echo "--proto=${net#* } --model=${net% *} --image=$work/picture.ppm" ;;
    openpose)
        echo "--proto=${net#* } --model=${net% *} --image=$work/picture.ppm --dataset=COCO --width=160 --height=160" \
            "--threshold=0"
        ;;
    esac
}

# shown NAME PROGRAM FOLDER
shown() {
    mkdir -p "$3" && cd "$3" || return 1
    # shellcheck disable=SC2046
    nice -n 5 timeout 300 "$2" $(arguments "$1") >"$3/output" 2>"$3/errors"
    grep -v '^\[\|^$' "$3/output" >"$3/lines"
    [ -n "$(ls "$3"/*.ppm 2>/dev/null)" ] || { cat "$3/output" "$3/errors"; return 1; }
}

check windows_as_files_compile "$CXX" -std=c++11 -w -I"$opencv" -c "$FERRY_TEST_SRCDIR/tests/cxx/windows.cpp" \
    -o "$work/windows.o"
check random_weights_are_written nice -n 5 "$python" "$script" nets "$work" "$FERRY_TEST_DATA"
for name in ${FERRY_TEST_SAMPLES-classification object_detection segmentation colorization openpose}; do
    check "${name}_compiles_with_one_line_changed" moved "$name"
    check "${name}_compiles_unchanged_with_opencv" compiled "$samples/$name.cpp" "$work/$name.opencv" -lopencv_dnn
    check "${name}_shows_a_picture_with_ferry" shown "$name" "$work/$name" "$work/$name-ferry"
    check "${name}_shows_a_picture_with_opencv" shown "$name" "$work/$name.opencv" "$work/$name-opencv"
    if "$python" "$script" same "$work/$name-ferry" "$work/$name-opencv" >"$work/said" 2>&1; then
        pass "${name}_shows_the_same: $(cat "$work/said")"
    else
        fail "${name}_shows_the_same" "$(tail -3 "$work/said")"
    fi
done
finish opencv-samples
