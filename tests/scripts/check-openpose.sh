#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# OpenPose's Caffe files compile unchanged with -DUSE_CAFFE, and its NetCaffe gives OpenCV 4's
# numbers for the texts BODY_25 and COCO in FERRY_TEST_DATA/nets/prototxt, with random weights.
# Usage: check-openpose.sh OPENPOSE_TREE
#
# Requires the development files of OpenCV (libopencv-dev), Boost and glog, and Python with NumPy;
# the numbers are compared if that Python's cv2 reads Caffe models (PYTHON names another one).
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${CXX:=c++}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

if [ $# -lt 1 ] || [ -z "${FERRY_TEST_DATA-}" ]; then
    skip openposes_files 'no tree of OpenPose was named, or no FERRY_TEST_DATA'
    finish openpose
fi
openpose=$(cd "$1" && pwd) || exit 1
source=$(cd "$FERRY_TEST_SRCDIR" && pwd)
libraries=$(cd "$FERRY_TEST_BUILDDIR/.libs" && pwd)
FERRY_PLUGIN_PATH=$(cd "$FERRY_TEST_BUILDDIR/backends/.libs" && pwd)
FERRY_BACKEND=${FERRY_BACKEND-cpu}
FERRY_LIBRARY_PATH=$libraries
PYTHONPATH=$source/python
export FERRY_PLUGIN_PATH FERRY_BACKEND FERRY_LIBRARY_PATH PYTHONPATH
opencv=$(pkg-config --variable=includedir opencv4 2>/dev/null)
[ -n "$opencv" ] || opencv=/usr/include/opencv4
work=$(mktemp -d /tmp/ferry-openpose-XXXXXX) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

compiled() {
    nice -n 5 "$CXX" -std=c++11 -O0 -w -DUSE_CAFFE -DFERRY_CAFFE_BOOST -DFERRY_CAFFE_GLOG \
        -I"$source/include/ferry/compat" -I"$source/include" -I"$openpose/include" -I"$opencv" "$@"
}

linked() {
    compiled "$source/tests/cxx/openpose.cpp" "$work/netCaffe.o" "$work/arrayCpuGpu.o" "$work/array.o" \
        "$work/matrix.o" -o "$work/openpose" -L"$libraries" -lferrynet -lferryio -lferry -Wl,-rpath,"$libraries" \
        -lglog -lopencv_core -lpthread
}

for file in core/arrayCpuGpu net/bodyPartConnectorCaffe net/maximumCaffe net/netCaffe net/nmsCaffe \
    net/resizeAndMergeCaffe pose/poseExtractorCaffe face/faceExtractorCaffe hand/handExtractorCaffe \
    core/array core/matrix; do
    name=${file##*/}
    check "${name}_compiles" compiled -c "$openpose/src/openpose/$file.cpp" -o "$work/$name.o"
done
check a_program_with_its_net_links linked
python=$(python_with numpy) || exit 1
for net in body25 coco; do
    text=$FERRY_TEST_DATA/nets/prototxt/openpose_$net.prototxt
    check "${net}_gets_random_weights" nice -n 5 "$python" "$source/tests/scripts/openpose.py" make "$work" "$text" 96 128
    check "${net}_runs" nice -n 5 timeout 300 "$work/openpose" "$text" "$work/weights.caffemodel" "$work/input" 96 128 \
        "$work/output"
    if ! "$python" -c 'import cv2; cv2.dnn.readNetFromCaffe' 2>/dev/null; then
        skip "${net}_has_opencvs_numbers" 'this Python has no cv2 that reads Caffe models'
    elif "$python" "$source/tests/scripts/openpose.py" same "$work" "$text" 96 128 >"$work/said" 2>&1; then
        pass "${net}_has_opencvs_numbers: $(cat "$work/said")"
    else
        fail "${net}_has_opencvs_numbers" "$(cat "$work/said")"
    fi
done
finish openpose
