#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# OpenCV's dnn names in C++ (tests/cxx/dnn.cpp): with plain pointers, and with OpenCV's matrices if
# its headers are installed.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}" "${CXX:=c++}" "${CFLAGS=}" "${LDFLAGS=}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

if [ "$CXX" = no ]; then
    skip programs_in_opencvs_style 'no C++ compiler was found'
    finish dnn-names
fi
work=$(mktemp -d /tmp/ferry-dnn-XXXXXX) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
include=$FERRY_TEST_SRCDIR/include
libraries=$FERRY_TEST_BUILDDIR/.libs
source=$FERRY_TEST_SRCDIR/tests/cxx/dnn.cpp

# compiled PROGRAM STANDARD OPTION…. Passes the flags of CFLAGS that the libraries are linked with:
# sanitizers.
compiled() {
    program=$1 standard=$2
    shift 2
    # shellcheck disable=SC2046,SC2086
    $CXX -std="$standard" -g -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror \
        $(printf '%s\n' $CFLAGS | grep '^-fsanitize\|^-fno-sanitize') -I"$include" "$source" -o "$program" "$@" \
        -L"$libraries" -lferrynet -lferryio -lferry -Wl,-rpath,"$libraries" $LDFLAGS -lpthread
}

# with_opencv PROGRAM: included by the include path, as <opencv2/dnn.hpp>; OpenCV's own headers
# cause no warnings.
with_opencv() {
    compiled "$1" c++11 -DWITH_OPENCV -I"$include/ferry/opencv" -isystem "$opencv" -lopencv_core
}

run() {
    for case in $("$work/$1"); do
        for backend in cpu sim; do
            case " ${FERRY_TEST_PLUGINS-} " in
            *" $backend "*)
                check "$1/${case}_on_$backend" env FERRY_BACKEND="$backend,cpu" "$work/$1" "$case"
                ;;
            *) skip "$1/${case}_on_$backend" "the $backend plugin was not built" ;;
            esac
        done
    done
}

# Nets of the tests of OpenCV's importer, in Python and by the program, compared with a cv2 that
# reads Caffe models.
importer() {
    if ! python=$(python_with numpy,pytest,cv2) || [ -z "${FERRY_TEST_DATA-}" ] ||
        ! "$python" -c 'import cv2; cv2.dnn.readNetFromCaffe' 2>/dev/null; then
        skip importer 'no Python with NumPy, pytest and a cv2 that reads Caffe models, or no FERRY_TEST_DATA'
        return
    fi
    FERRY_TEST_DNN_PROGRAM=$work/pointers FERRY_BACKEND=cpu FERRY_LIBRARY_PATH=$libraries PYTHONDONTWRITEBYTECODE=1 \
        PYTHONPATH=$FERRY_TEST_SRCDIR/python "$python" -m pytest -v --tb=short -p no:cacheprovider \
        --basetemp="$work/tmp" "$FERRY_TEST_SRCDIR/python/tests/test_dnn_importer.py" >"$work/out" 2>&1
    pytest_results importer "$work/out"
}

check a_program_over_pointers_compiles compiled "$work/pointers" c++11
run pointers
importer
opencv=$(pkg-config --variable=includedir opencv4 2>/dev/null)
[ -n "$opencv" ] || opencv=/usr/include/opencv4
if [ ! -f "$opencv/opencv2/core.hpp" ]; then
    skip a_program_over_opencvs_matrices_compiles 'the development files of OpenCV were not found'
elif [ -n "$(printf '%s\n' $CFLAGS | grep '^-fsanitize')" ]; then
    skip a_program_over_opencvs_matrices_compiles 'OpenCV is not built with the sanitizer'
else
    check a_program_over_opencvs_matrices_compiles with_opencv "$work/matrices"
    run matrices
fi
finish dnn-names
