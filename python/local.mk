# SPDX-License-Identifier: BSD-2-Clause
# The package for Python, which pip installs; make only carries it along. check-python.sh runs its tests.

EXTRA_DIST += \
	%D%/README.md \
	%D%/pyproject.toml \
	%D%/ferry/__init__.py \
	%D%/ferry/_abi.py \
	%D%/ferry/_blob.py \
	%D%/ferry/_dlpack.py \
	%D%/ferry/_dtypes.py \
	%D%/ferry/_errors.py \
	%D%/ferry/_files.py \
	%D%/ferry/_library.py \
	%D%/ferry/_net.py \
	%D%/ferry/_runtime.py \
	%D%/ferry/_script.py \
	%D%/ferry/_solver.py \
	%D%/ferry/_version.py \
	%D%/ferry/caffe/__init__.py \
	%D%/ferry/caffe/__main__.py \
	%D%/ferry/caffe/_blob.py \
	%D%/ferry/caffe/_caffe.py \
	%D%/ferry/caffe/_layer.py \
	%D%/ferry/caffe/_net.py \
	%D%/ferry/caffe/_solver.py \
	%D%/ferry/caffe/_state.py \
	%D%/ferry/caffe/_timer.py \
	%D%/ferry/caffe/_vectors.py \
	%D%/ferry/caffe/classifier.py \
	%D%/ferry/caffe/coord_map.py \
	%D%/ferry/caffe/detector.py \
	%D%/ferry/caffe/draw.py \
	%D%/ferry/caffe/io.py \
	%D%/ferry/caffe/net_spec.py \
	%D%/ferry/caffe/pycaffe.py \
	%D%/ferry/caffe/proto/__init__.py \
	%D%/ferry/caffe/proto/caffe_pb2.py \
	%D%/tests/conftest.py \
	%D%/tests/test_abi.py \
	%D%/tests/test_blob.py \
	%D%/tests/test_caffe_io.py \
	%D%/tests/test_caffe_layer.py \
	%D%/tests/test_caffe_names.py \
	%D%/tests/test_caffe_net.py \
	%D%/tests/test_caffe_stored.py \
	%D%/tests/test_caffe_threads.py \
	%D%/tests/test_dlpack.py \
	%D%/tests/test_files.py \
	%D%/tests/test_neighbours.py \
	%D%/tests/test_net.py \
	%D%/tests/test_runtime.py \
	%D%/tests/test_solver.py
