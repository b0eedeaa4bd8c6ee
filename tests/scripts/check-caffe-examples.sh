#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The examples of Caffe's tree: their own solvers and nets, unchanged, on data of the same shape
# that this script makes. Each trains for a few iterations, after the tests that its solver
# requests, and is interrupted. Usage: check-caffe-examples.sh CAFFE_TREE [EXAMPLE…]
#
# EXAMPLE is mnist, cifar10, siamese, hdf5_classification, flickr_style or pascal; by default all
# except the last two, whose nets of AlexNet's size first test for many minutes on a CPU. Requires
# libpng, liblmdb, libleveldb, libhdf5 and Python with NumPy.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

if [ $# -lt 1 ]; then
    skip caffes_examples 'no tree of Caffe was named'
    finish caffe-examples
fi
caffe=$(cd "$1" && pwd) || exit 1
shift
[ $# -gt 0 ] || set -- mnist cifar10 siamese hdf5_classification
FERRY_PLUGIN_PATH=$(cd "$FERRY_TEST_BUILDDIR/backends/.libs" && pwd)
FERRY_LIBRARY_PATH=$(cd "$FERRY_TEST_BUILDDIR/.libs" && pwd)
FERRY_BACKEND=${FERRY_BACKEND-cpu}
PYTHONPATH=$(cd "$FERRY_TEST_SRCDIR/python" && pwd)
export FERRY_PLUGIN_PATH FERRY_LIBRARY_PATH FERRY_BACKEND PYTHONPATH
ferry=$(cd "$FERRY_TEST_BUILDDIR" && pwd)/tools/ferry/ferry
script=$(cd "$FERRY_TEST_SRCDIR/tests/scripts" && pwd)/caffe-examples.py
python=$(python_with numpy) || exit 1
work=$(mktemp -d /tmp/ferry-examples-XXXXXX) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cp -r "$caffe/examples" "$caffe/models" "$caffe/data" "$work" && cd "$work" || exit 1

# trained ITERATIONS SOLVER [OPTION…]
trained() {
    name=${2%.prototxt}
    if shown=$(nice -n 5 "$python" "$script" train "$ferry" "$@" 2>&1); then
        pass "${name#examples/}_trains: $shown"
    else
        fail "${name#examples/}_trains" "$shown"
    fi
}

for example; do
    check "${example}_gets_its_data" nice -n 5 "$python" "$script" make "$ferry" "$example"
    case $example in
    mnist)
        for solver in lenet_solver lenet_solver_adam lenet_solver_rmsprop lenet_adadelta_solver lenet_multistep_solver \
            lenet_consolidated_solver; do
            trained 60 "examples/mnist/$solver.prototxt"
        done
        for solver in '' _adadelta _adagrad _nesterov; do
            trained 20 "examples/mnist/mnist_autoencoder_solver$solver.prototxt"
        done
        ;;
    cifar10)
        trained 20 examples/cifar10/cifar10_quick_solver.prototxt
        # The second step of train_quick.sh and train_full.sh resumes from a snapshot of the first.
        for snapshot in examples/cifar10/*quick*.solverstate*; do :; done
        trained 5 examples/cifar10/cifar10_quick_solver_lr1.prototxt --snapshot "$snapshot"
        for solver in full full_sigmoid; do
            trained 10 "examples/cifar10/cifar10_${solver}_solver.prototxt"
        done
        trained 10 examples/cifar10/cifar10_full_sigmoid_solver_bn.prototxt
        ;;
    siamese) trained 60 examples/siamese/mnist_siamese_solver.prototxt ;;
    hdf5_classification)
        for net in train_val nonlinear_train_val; do
            trained 200 "examples/hdf5_classification/${net}_solver.prototxt"
        done
        ;;
    flickr_style) trained 3 models/finetune_flickr_style/solver.prototxt ;;
    pascal) trained 3 examples/finetune_pascal_detection/pascal_finetune_solver.prototxt ;;
    esac
done
finish caffe-examples
