# SPDX-License-Identifier: BSD-2-Clause
"""caffe.proto: see caffe_pb2."""
