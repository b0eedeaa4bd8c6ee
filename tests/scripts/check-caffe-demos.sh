#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Demos in C++ that other projects wrote for Caffe's headers compile unchanged with ferry's headers
# and run, and each pass of their nets gives the numbers of OpenCV 4's importer for the same input.
# Usage: check-caffe-demos.sh FOLDER [REAL_CAFFE]
#
# FOLDER may have checkouts as OWNER+NAME: BVLC+caffe (cpp_classification), weiliu89+caffe at its
# branch ssd (ssd_detect), DaFuCoding+MTCNN_Caffe (MTMain) and blankWorld+MTCNN-Accelerate-Onet
# (mtcnn.cpp, with its pictures). REAL_CAFFE has Caffe itself: include with caffe.pb.h, and
# libcaffe.so, built with CPU_ONLY from the sources in BVLC+caffe. The MTCNN demos are then also
# built with it, and the pictures must be the same bytes (for mtcnn.cpp with a fixed order of boxes
# of nearly equal scores).
#
# Requires the development files of OpenCV 4, Boost, glog and gflags, and Python with NumPy. Numbers
# are compared if that Python's cv2 reads Caffe models (PYTHON names another one).
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${CXX:=c++}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

if [ $# -lt 1 ] || [ -z "${FERRY_TEST_DATA-}" ]; then
    skip demos_over_caffes_headers 'no folder of demos was named, or no FERRY_TEST_DATA'
    finish caffe-demos
fi
trees=$(cd "$1" && pwd) || exit 1
real=$(cd "${2:-/nonexistent}" 2>/dev/null && pwd)
source=$(cd "$FERRY_TEST_SRCDIR" && pwd)
libraries=$(cd "$FERRY_TEST_BUILDDIR/.libs" && pwd)
FERRY_PLUGIN_PATH=$(cd "$FERRY_TEST_BUILDDIR/backends/.libs" && pwd)
FERRY_BACKEND=${FERRY_BACKEND-cpu}
FERRY_LIBRARY_PATH=$libraries
PYTHONPATH=$source/python
OMP_NUM_THREADS=1
export FERRY_PLUGIN_PATH FERRY_BACKEND FERRY_LIBRARY_PATH PYTHONPATH OMP_NUM_THREADS
script=$source/tests/scripts/caffe-demos.py
python=$(python_with numpy) || exit 1
opencv=$(pkg-config --variable=includedir opencv4 2>/dev/null)
[ -n "$opencv" ] || opencv=/usr/include/opencv4
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# linked SOURCE PROGRAM OPTION…: compiles and links with the libraries that the demos need besides
# Caffe.
linked() {
    file=$1 program=$2
    shift 2
    nice -n 5 "$CXX" -O1 -w -fopenmp -DUSE_OPENCV -I"$opencv" "$file" "$work/windows.o" -o "$program" "$@" -lglog -lgflags \
        -lopencv_videoio -lopencv_imgcodecs -lopencv_imgproc -lopencv_core -lpthread
}

# compiled SOURCE PROGRAM OPTION…
compiled() {
    file=$1 program=$2
    shift 2
    linked "$file" "$program" -std=c++11 -DFERRY_CAFFE_BOOST -DFERRY_CAFFE_GLOG "$@" -I"$source/include/ferry/compat" \
        -I"$source/include" "$work/passes.o" -L"$libraries" -lferrynet -lferryio -lferry -Wl,-rpath,"$libraries" -ldl
}

# with_caffe SOURCE PROGRAM OPTION…
with_caffe() {
    file=$1 program=$2
    shift 2
    linked "$file" "$program" -std=c++17 -DCPU_ONLY "$@" -I"$real/include" -I"$trees/BVLC+caffe/include" -L"$real" -lcaffe \
        -Wl,-rpath,"$real" -lboost_system -lprotobuf
}

# in_folder FOLDER STATUS COMMAND…: runs a demo there; its passes are recorded in the file passes.
in_folder() {
    place=$1 wanted=$2
    shift 2
    mkdir -p "$place"
    (cd "$place" && FERRY_TEST_PASSES=$place/passes nice -n 5 timeout 600 "$@" >output 2>errors)
    status=$?
    [ "$status" -eq "$wanted" ] || { echo "status $status"; tail -n 5 "$place/output" "$place/errors"; return 1; }
}

# reported NAME COMMAND…: passes if the command of caffe-demos.py succeeds, with its output.
reported() {
    name=$1
    shift
    if nice -n 5 "$python" "$script" "$@" >"$work/said" 2>&1; then
        pass "$name: $(cat "$work/said")"
    else
        fail "$name" "$(tail -n 3 "$work/said")"
    fi
}

# opencvs NAME FOLDER NET=TEXT=WEIGHTS…
opencvs() {
    title=$1 place=$2
    shift 2
    if "$python" -c 'import cv2; cv2.dnn.readNetFromCaffe' 2>/dev/null; then
        reported "${title}_has_opencvs_numbers" passes "$place/passes" "$@"
    else
        skip "${title}_has_opencvs_numbers" 'this Python has no cv2 that reads Caffe models'
    fi
}

# has NAME FILE: whether the demo is in the folder.
has() {
    [ -f "$trees/$2" ] && return 0
    skip "$1" "there is no $2"
    return 1
}

# cascade NAME MODELS: the three nets of MTCNN.
cascade() {
    opencvs "$1" "$work/$1" "PNet=$2/det1.prototxt=$2/det1.caffemodel" "RNet=$2/det2.prototxt=$2/det2.caffemodel" \
        "ONet=$2/det3.prototxt=$2/det3.caffemodel"
}

check windows_as_files_compile "$CXX" -std=c++11 -w -I"$opencv" -c "$source/tests/cxx/windows.cpp" -o "$work/windows.o"
check a_recorder_of_passes_compiles "$CXX" -std=c++11 -Wall -Wextra -I"$source/include" -c "$source/tests/cxx/passes.cpp" \
    -o "$work/passes.o"
check the_models_are_generated nice -n 5 "$python" "$script" make "$work" "$FERRY_TEST_DATA"

demo=weiliu89+caffe/examples/ssd/ssd_detect.cpp
if has ssd_detect $demo; then
    check ssd_detect_compiles compiled "$trees/$demo" "$work/ssd_detect"
    check ssd_detect_finds_a_code in_folder "$work/ssd" 0 "$work/ssd_detect" --mean_value=0 --confidence_threshold=0.3 \
        "$work/detect.prototxt" "$work/detect.caffemodel" "$work/list.txt"
    check ssd_detect_prints_a_box grep -q "^$work/code.pgm 1 " "$work/ssd/output"
    opencvs ssd_detect "$work/ssd" "=$work/detect.prototxt=$work/detect.caffemodel"
fi

demo=BVLC+caffe/examples/cpp_classification/classification.cpp
if has cpp_classification $demo; then
    net=$FERRY_TEST_DATA/nets/squeezenet_dc
    check cpp_classification_compiles compiled "$trees/$demo" "$work/classification"
    check cpp_classification_runs in_folder "$work/classify" 0 "$work/classification" "$net/SqueezeNet_deploy.prototxt" \
        "$net/squeezenet_v1.0_decoded.caffemodel" "$FERRY_TEST_DATA/imagenet_256x256_mean.binaryproto" "$work/labels.txt" \
        "$trees/BVLC+caffe/examples/images/cat.jpg"
    check cpp_classification_prints_five_classes test "$(grep -c '^[0-9.]* - "class [0-9]*"$' "$work/classify/output")" -eq 5
    opencvs cpp_classification "$work/classify" \
        "FireNet=$net/SqueezeNet_deploy.prototxt=$net/squeezenet_v1.0_decoded.caffemodel"
fi

folder=$trees/DaFuCoding+MTCNN_Caffe/examples
demo=DaFuCoding+MTCNN_Caffe/examples/MTSrc/MTMain.cpp
if has mtcnn_caffe $demo; then
    for mode in cpu gpu; do
        flag=-DCPU_ONLY
        [ $mode = cpu ] || flag=-UCPU_ONLY
        check "mtcnn_caffe_${mode}_compiles" compiled "$trees/$demo" "$work/mtmain-$mode" $flag
        check "mtcnn_caffe_${mode}_runs" in_folder "$work/mtmain_$mode" 1 "$work/mtmain-$mode" "$folder/MTmodel" \
            "$folder/MTSrc/test2.jpg"
        cascade "mtmain_$mode" "$folder/MTmodel"
    done
    reported its_two_ways_show_the_same pictures "$work/mtmain_cpu" "$work/mtmain_gpu" '*.ppm'
    if [ -n "$real" ]; then
        check mtcnn_caffe_compiles_with_caffe with_caffe "$trees/$demo" "$work/mtmain-real"
        check mtcnn_caffe_runs_with_caffe in_folder "$work/mtmain_real" 1 "$work/mtmain-real" "$folder/MTmodel" \
            "$folder/MTSrc/test2.jpg"
        reported mtcnn_caffe_shows_what_caffe_shows pictures "$work/mtmain_real" "$work/mtmain_cpu" '*.ppm'
    fi
fi

folder=$trees/blankWorld+MTCNN-Accelerate-Onet
demo=blankWorld+MTCNN-Accelerate-Onet/mtcnn.cpp
if has mtcnn_accelerate_onet $demo; then
    for way in ours real; do
        mkdir -p "$work/onet_$way/img" && cp -r "$folder/model" "$work/onet_$way" &&
            cp "$folder"/img/[0-9i]*.jpg "$work/onet_$way/img" || exit 1
    done
    check mtcnn_accelerate_onet_compiles compiled "$trees/$demo" "$work/onet"
    check mtcnn_accelerate_onet_runs in_folder "$work/onet_ours" 1 "$work/onet"
    cascade onet_ours "$folder/model"
    if [ -n "$real" ]; then
        # A Caffe without CUDA has no GPU. Hundreds of scores are near 1 and differ at most in the
        # last bit; the demo keeps the boxes that std::sort places first. Here boxes of nearly equal
        # scores have a fixed order.
        sed -e 's/Caffe::GPU/Caffe::CPU/' -e 's|return a.bbox.score > b.bbox.score;|return std::make_tuple(\
            -std::round(a.bbox.score * 1e4f), a.bbox.xmin, a.bbox.ymin, a.bbox.xmax) < std::make_tuple(\
            -std::round(b.bbox.score * 1e4f), b.bbox.xmin, b.bbox.ymin, b.bbox.xmax);|' "$trees/$demo" >"$work/ordered.cpp"
        check mtcnn_with_an_order_compiles compiled "$work/ordered.cpp" "$work/onet-ordered"
        check mtcnn_with_an_order_compiles_with_caffe with_caffe "$work/ordered.cpp" "$work/onet-real"
        rm -f "$work"/onet_ours/img/_res*
        check mtcnn_with_an_order_runs in_folder "$work/onet_ours" 1 "$work/onet-ordered"
        check mtcnn_with_an_order_runs_with_caffe in_folder "$work/onet_real" 1 "$work/onet-real"
        reported mtcnn_with_an_order_shows_what_caffe_shows pictures "$work/onet_real/img" "$work/onet_ours/img" '_res_*'
    fi
fi
finish caffe-demos
