#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Scripts that other projects wrote for pycaffe, unchanged, run by `python -m ferry.caffe`:
# pycaffe's own unit tests, and the scripts and notebooks of Caffe's tree and of the projects in the
# folder. Weights are random, a notebook's magics are removed, Python 2 is converted by lib2to3, and
# windows are not shown. Usage: check-caffe-scripts.sh CAFFE_TREE [FOLDER]
#
# FOLDER may have MobileNet-SSD (chuanqi305), mtcnn (DuinoDu), deepdream (google), fcn (shelhamer)
# and py-faster-rcnn (rbgirshick; its compiled parts are replaced by its own Python). PYTHON names a
# Python with NumPy, protobuf and, for some scripts, matplotlib, SciPy, scikit-image, pandas,
# scikit-learn, h5py, pydot and cv2. Scripts whose packages are missing are skipped.
set -u
: "${FERRY_TEST_SRCDIR:?}" "${FERRY_TEST_BUILDDIR:?}"
# shellcheck source=tests/scripts/lib.sh
. "$FERRY_TEST_SRCDIR/tests/scripts/lib.sh"

if [ $# -lt 1 ]; then
    skip scripts_for_pycaffe 'no tree of Caffe was named'
    finish caffe-scripts
fi
caffe=$(cd "$1" && pwd) || exit 1
others=$(cd "${2:-/nonexistent}" 2>/dev/null && pwd)
FERRY_PLUGIN_PATH=$(cd "$FERRY_TEST_BUILDDIR/backends/.libs" && pwd)
FERRY_LIBRARY_PATH=$(cd "$FERRY_TEST_BUILDDIR/.libs" && pwd)
FERRY_BACKEND=${FERRY_BACKEND-cpu}
PYTHONPATH=$(cd "$FERRY_TEST_SRCDIR/python" && pwd)
PYTHONDONTWRITEBYTECODE=1
export FERRY_PLUGIN_PATH FERRY_LIBRARY_PATH FERRY_BACKEND PYTHONPATH PYTHONDONTWRITEBYTECODE
ferry=$(cd "$FERRY_TEST_BUILDDIR" && pwd)/tools/ferry/ferry
here=$(cd "$FERRY_TEST_SRCDIR/tests/scripts" && pwd)
python=$(python_with numpy,google.protobuf) || exit 1
work=$(mktemp -d /tmp/ferry-scripts-XXXXXX) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cp -r "$caffe/." "$work/caffe" || exit 1
cd "$work/caffe" || exit 1

# Runs a COMMAND of caffe-scripts.py, in which `import caffe` imports ferry.caffe.
helper() {
    nice -n 5 timeout 900 "$python" -m ferry.caffe "$here/caffe-scripts.py" "$@"
}

# runs NAME MODULES SOURCE COPY 'OLD=>NEW|…' [ARGUMENT…]
runs() {
    name=$1 modules=$2 source=$3 copy=$4 replacements=$5
    shift 5
    if [ ! -f "$source" ]; then
        skip "$name" "there is no $source"
        return
    fi
    if ! "$python" -c "import $modules" 2>/dev/null; then
        skip "$name" "it needs $modules"
        return
    fi
    old_ifs=$IFS
    IFS='|'
    # shellcheck disable=SC2086
    helper prepare "$source" "$copy" $replacements >"$work/said" 2>&1
    status=$?
    IFS=$old_ifs
    if [ "$status" -eq 0 ] && helper run "$copy" "$@" >"$work/said" 2>&1; then
        pass "$name"
    else
        fail "$name" "$(grep -v '^I[0-9]' "$work/said" | tail -n 12)"
    fi
}

# ---- pycaffe's own tests -------------------------------------------------------------------------

if [ -d python/caffe/test ]; then
    cp -r python/caffe/test "$work/pycaffe_tests"
    (cd "$work/pycaffe_tests" && nice -n 5 "$python" -m ferry.caffe -m unittest discover -v >"$work/said" 2>&1)
    tests=$(sed -n 's/^Ran \([0-9]*\) tests.*/\1/p' "$work/said")
    # test_draw searches the tree around it.
    wrong=$(grep -E '^(ERROR|FAIL): ' "$work/said" | grep -v TestDraw)
    if [ "${tests:-0}" -gt 50 ] && [ -z "$wrong" ]; then
        pass "pycaffes_own_tests: $tests"
    else
        fail pycaffes_own_tests "$wrong" "$(tail -n 3 "$work/said")"
    fi
fi

# ---- scripts and notebooks of Caffe's tree -------------------------------------------------------

check mnist_gets_its_data nice -n 5 "$python" "$here/caffe-examples.py" make "$ferry" mnist
runs draw_net google.protobuf,pydot python/draw_net.py draw_net.py '' examples/mnist/lenet_train_test.prototxt net.dot
sed 's/max_iter: 10000/max_iter: 20/; s/test_iter: 100/test_iter: 2/; s/display: 100/display: 10/; s/snapshot: 5000/snapshot: 20/' \
    examples/mnist/lenet_solver.prototxt >short.prototxt
runs train google.protobuf python/train.py train.copy.py '' --solver short.prototxt --timing
check train_writes_its_model test -s examples/mnist/lenet_iter_20.caffemodel
runs pycaffe_caffenet google.protobuf examples/pycaffe/caffenet.py caffenet.py ''
runs brewing_logreg h5py,sklearn,pandas,matplotlib examples/brewing-logreg.ipynb examples/logreg.py \
    "loss='log', n_iter=1000=>loss='log_loss', max_iter=1000|import sklearn.linear_model=>import sklearn.linear_model, sklearn.model_selection|s.max_iter = 10000=>s.max_iter = 1000"
mkdir -p examples/images
cd examples || exit 1
runs learning_lenet matplotlib 01-learning-lenet.ipynb lenet.py \
    'niter = 200=>niter = 30|niter = 250=>niter = 30|range(100)=>range(5)|test_interval = niter / 10=>test_interval = niter // 10'
cd ..

# Generated class names replace those that get_ilsvrc_aux.sh downloads.
labels() {
    awk 'BEGIN { for (i = 0; i < 1000; i++) printf "n%08d class %d, a thing\n", i, i }' >data/ilsvrc12/synset_words.txt
    awk 'BEGIN { for (i = 0; i < 200; i++) printf "n%08d %s, a thing\n", i, i == 7 ? "person" : i == 9 ? "bicycle" : "class " i }' \
        >data/ilsvrc12/det_synset_words.txt
}

# Notebooks whose downloads are replaced by random weights, and generated pictures and labels. Other
# replacements are sizes, and names that NumPy, pandas and Python 3 have changed.
notebooks() {
    labels
    cp examples/images/fish-bike.jpg examples/image.jpg
    cd examples || exit 1
    runs classification matplotlib,skimage 00-classification.ipynb classification.py ''
    cd ..
    check flickr_style_gets_its_data nice -n 5 "$python" "$here/caffe-examples.py" make "$ferry" flickr_style
    for list in data/flickr_style/*.txt; do  # five of its classes
        awk '{ print $1, $2 % 5 }' "$list" >labels && mv labels "$list"
    done
    cd examples || exit 1
    runs fine_tuning matplotlib 02-fine-tuning.ipynb tuning.py \
        "NamedTemporaryFile(delete=False)=>NamedTemporaryFile('w', delete=False)|, delimiter='\\n'=>, delimiter='\\t'|niter = 200=>niter = 2|test_iters=10=>test_iters=1"
    mkdir -p _temp
    { echo filename,ymin,xmin,ymax,xmax
      for y in 0 80 160; do
          for x in 0 120 240; do
              echo "$PWD/images/fish-bike.jpg,$y,$x,$((y + 150)),$((x + 200))"
          done
      done; } >_temp/windows.csv
    net=../models/bvlc_reference_rcnn_ilsvrc13
    check rcnn_gets_random_weights helper weights $net/deploy.prototxt $net/bvlc_reference_rcnn_ilsvrc13.caffemodel
    runs detect_of_the_notebook google.protobuf,pandas,tables ../python/detect.py ../python/detect.copy.py "$to_hdf" \
        --crop_mode=list --pretrained_model=$net/bvlc_reference_rcnn_ilsvrc13.caffemodel --model_def=$net/deploy.prototxt \
        --gpu --raw_scale=255 _temp/windows.csv _temp/det_output.h5
    runs detection matplotlib,pandas,tables detection.ipynb detection.py \
        'labels_df.sort(=>labels_df.sort_values(|max_s.sort(=>max_s = max_s.sort_values(|.order(=>.sort_values(|scores[:, np=>scores.values[:, np'
    cd ..
}

to_hdf="args.output_file, 'df', mode=>args.output_file, key='df', mode"
# classify.py with CaffeNet, and a picture of the tree.
if [ -f examples/images/cat.jpg ]; then
    net=models/bvlc_reference_caffenet
    check caffenet_gets_random_weights helper weights $net/deploy.prototxt $net/bvlc_reference_caffenet.caffemodel
    runs classify google.protobuf python/classify.py python/classify.copy.py '' examples/images/cat.jpg out.npy --center_only \
        --mean_file '' --model_def $net/deploy.prototxt --pretrained_model $net/bvlc_reference_caffenet.caffemodel
    printf '%s\n' filename,ymin,xmin,ymax,xmax "$PWD/examples/images/cat.jpg,10,20,200,220" \
        "$PWD/examples/images/cat.jpg,50,0,360,480" >windows.csv
    runs detect google.protobuf,pandas,tables python/detect.py python/detect.copy.py "$to_hdf" --crop_mode list \
        --mean_file '' --model_def $net/deploy.prototxt --pretrained_model $net/bvlc_reference_caffenet.caffemodel \
        windows.csv windows.h5
    cd examples || exit 1
    runs net_surgery matplotlib,scipy net_surgery.ipynb surgery.py ''
    cd ..
    notebooks
    check pascal_multilabel_gets_its_data nice -n 5 "$python" "$here/caffe-examples.py" make "$ferry" pascal_multilabel
    check pascal_multilabels_layers_are_converted helper convert examples/pycaffe
    cd examples || exit 1
    runs pascal_multilabel matplotlib,scipy,skimage,PIL pascal-multilabel-with-datalayer.ipynb pascal.py \
        'batch_size = 128=>batch_size = 8|range(6)=>range(1)|solver.step(100)=>solver.step(2)|test_nets[0], 50=>test_nets[0], 1|5823/128=>1'
    cd ..
fi

# ---- other projects ------------------------------------------------------------------------------

if [ -d "$others/MobileNet-SSD" ]; then
    cp -rL "$others/MobileNet-SSD" "$work/ssd" && cd "$work/ssd" || exit 1
    check mobilenet_ssd_gets_random_weights helper weights deploy.prototxt mobilenet_iter_73000.caffemodel
    runs mobilenet_ssd_demo cv2 demo.py demo.copy.py ''
    train=template/MobileNetSSD_train_template.prototxt
    [ -f voc/MobileNetSSD_deploy.prototxt ] && train=voc/MobileNetSSD_deploy.prototxt
    helper weights $train trained.caffemodel >/dev/null 2>&1
    runs mobilenet_ssd_merge_bn google.protobuf merge_bn.py merge.copy.py '' --model $train --weights trained.caffemodel
fi
if [ -d "$others/mtcnn" ]; then
    cp -rL "$others/mtcnn" "$work/mtcnn" && cd "$work/mtcnn" || exit 1
    ls "$PWD"/*.jpg >imglist.txt
    runs mtcnn_demo cv2 demo.py demo.copy.py ''
fi
if [ -d "$others/py-faster-rcnn" ]; then
    cp -rL "$others/py-faster-rcnn" "$work/frcnn" && cd "$work/frcnn" || exit 1
    check faster_rcnn_is_converted helper convert .
    printf '%s\n' 'from nms.py_cpu_nms import py_cpu_nms as cpu_nms' >lib/nms/cpu_nms.py
    printf '%s\n' 'from nms.py_cpu_nms import py_cpu_nms' 'def gpu_nms(dets, thresh, device_id=0):' \
        '    return py_cpu_nms(dets, thresh)' >lib/nms/gpu_nms.py
    mkdir -p data/faster_rcnn_models
    old_path=$PYTHONPATH
    PYTHONPATH=$PYTHONPATH:$PWD/lib
    check faster_rcnn_gets_random_weights helper weights models/pascal_voc/ZF/faster_rcnn_alt_opt/faster_rcnn_test.pt \
        data/faster_rcnn_models/ZF_faster_rcnn_final.caffemodel
    runs faster_rcnn_demo cv2,easydict,yaml,scipy,matplotlib tools/demo.py tools/demo.copy.py '' --net zf --cpu
    PYTHONPATH=$old_path
fi
if [ -d "$others/fcn" ]; then
    for net in voc-fcn-alexnet voc-fcn32s voc-fcn16s voc-fcn8s; do
        cp -rL "$others/fcn/." "$work/fcn-$net" && cd "$work/fcn-$net/$net" || exit 1
        runs "fcn_net_of_$net" google.protobuf net.py net.copy.py ''
        check "fcn_text_of_${net}_is_written" test -s train.prototxt
    done
fi
if [ -d "$others/deepdream" ]; then
    cp -rL "$others/deepdream" "$work/deepdream" && mkdir "$work/deepdream/frames" && cd "$work/deepdream" || exit 1
    check googlenet_gets_random_weights helper weights "$work/caffe/models/bvlc_googlenet/deploy.prototxt" \
        "$work/caffe/models/bvlc_googlenet/bvlc_googlenet.caffemodel"
    runs deepdream scipy,PIL,IPython dream.ipynb dream.py \
        'iter_n=10, octave_n=4=>iter_n=1, octave_n=2|range(100)=>range(1)|frames/0029.jpg=>frames/0000.jpg|from io import StringIO=>from io import BytesIO as StringIO'
fi
finish caffe-scripts
