# SPDX-License-Identifier: BSD-2-Clause
# The installed headers. tests/scripts/check-headers.sh compiles each of them alone.

ferryincludedir = $(includedir)/ferry
ferryinclude_HEADERS = \
	%D%/blob.h \
	%D%/blobproto.h \
	%D%/caffe.hpp \
	%D%/comm.h \
	%D%/descriptor.h \
	%D%/device.h \
	%D%/dlpack.h \
	%D%/dnn.hpp \
	%D%/ferry.h \
	%D%/graph_plugin.h \
	%D%/image.h \
	%D%/io.h \
	%D%/io_file.h \
	%D%/io_reader.h \
	%D%/io_writer.h \
	%D%/kernels.h \
	%D%/layer.h \
	%D%/math.h \
	%D%/memory.h \
	%D%/net.h \
	%D%/net_info.h \
	%D%/net_ranges.h \
	%D%/onnx.h \
	%D%/op.h \
	%D%/op_desc.h \
	%D%/op_params.h \
	%D%/op_plugin.h \
	%D%/op_table.h \
	%D%/op_tier.h \
	%D%/op_types.h \
	%D%/plugin.h \
	%D%/plugin_names.h \
	%D%/plugin_types.h \
	%D%/profile.h \
	%D%/profile_plugin.h \
	%D%/proto.h \
	%D%/proto_edit.h \
	%D%/queue.h \
	%D%/runtime.h \
	%D%/solver.h \
	%D%/status.h \
	%D%/types.h \
	%D%/version.h

# The parts of dnn.hpp.
dnndir = $(ferryincludedir)/dnn
dnn_HEADERS = \
	%D%/dnn/cost.hpp \
	%D%/dnn/graph.hpp \
	%D%/dnn/image.hpp \
	%D%/dnn/impl.hpp \
	%D%/dnn/layer.hpp \
	%D%/dnn/model.hpp \
	%D%/dnn/net.hpp \
	%D%/dnn/nms.hpp \
	%D%/dnn/params.hpp \
	%D%/dnn/read.hpp \
	%D%/dnn/resize.hpp \
	%D%/dnn/runner.hpp \
	%D%/dnn/text.hpp \
	%D%/dnn/types.hpp

# In place of OpenCV's header of this name, by the same path.
opencvdir = $(ferryincludedir)/opencv/opencv2
opencv_HEADERS = %D%/opencv/opencv2/dnn.hpp

# Caffe's own names for C++: below compat, so that its path alone makes <caffe/caffe.hpp> be these.
compatdir = $(ferryincludedir)/compat/caffe
compat_HEADERS = \
	%D%/compat/caffe/blob.hpp \
	%D%/compat/caffe/caffe.hpp \
	%D%/compat/caffe/common.hpp \
	%D%/compat/caffe/data_transformer.hpp \
	%D%/compat/caffe/ferry_layer.hpp \
	%D%/compat/caffe/filler.hpp \
	%D%/compat/caffe/internal_thread.hpp \
	%D%/compat/caffe/layer.hpp \
	%D%/compat/caffe/layer_base.hpp \
	%D%/compat/caffe/layer_factory.hpp \
	%D%/compat/caffe/logging.hpp \
	%D%/compat/caffe/messages.hpp \
	%D%/compat/caffe/net.hpp \
	%D%/compat/caffe/net_filter.hpp \
	%D%/compat/caffe/parallel.hpp \
	%D%/compat/caffe/program_layer.hpp \
	%D%/compat/caffe/sgd_solvers.hpp \
	%D%/compat/caffe/solver.hpp \
	%D%/compat/caffe/solver_base.hpp \
	%D%/compat/caffe/solver_factory.hpp \
	%D%/compat/caffe/syncedmem.hpp
compatdetaildir = $(compatdir)/detail
compatdetail_HEADERS = \
	%D%/compat/caffe/detail/db_base.hpp \
	%D%/compat/caffe/detail/files.hpp \
	%D%/compat/caffe/detail/net_parts.hpp \
	%D%/compat/caffe/detail/runtime.hpp
compatlayersdir = $(compatdir)/layers
compatlayers_HEADERS = \
	%D%/compat/caffe/layers/absval_layer.hpp \
	%D%/compat/caffe/layers/accuracy_layer.hpp \
	%D%/compat/caffe/layers/argmax_layer.hpp \
	%D%/compat/caffe/layers/base_conv_layer.hpp \
	%D%/compat/caffe/layers/base_data_layer.hpp \
	%D%/compat/caffe/layers/batch_norm_layer.hpp \
	%D%/compat/caffe/layers/batch_reindex_layer.hpp \
	%D%/compat/caffe/layers/bias_layer.hpp \
	%D%/compat/caffe/layers/bnll_layer.hpp \
	%D%/compat/caffe/layers/clip_layer.hpp \
	%D%/compat/caffe/layers/concat_layer.hpp \
	%D%/compat/caffe/layers/contrastive_loss_layer.hpp \
	%D%/compat/caffe/layers/conv_layer.hpp \
	%D%/compat/caffe/layers/crop_layer.hpp \
	%D%/compat/caffe/layers/cudnn_conv_layer.hpp \
	%D%/compat/caffe/layers/cudnn_deconv_layer.hpp \
	%D%/compat/caffe/layers/cudnn_lcn_layer.hpp \
	%D%/compat/caffe/layers/cudnn_lrn_layer.hpp \
	%D%/compat/caffe/layers/cudnn_pooling_layer.hpp \
	%D%/compat/caffe/layers/cudnn_relu_layer.hpp \
	%D%/compat/caffe/layers/cudnn_sigmoid_layer.hpp \
	%D%/compat/caffe/layers/cudnn_softmax_layer.hpp \
	%D%/compat/caffe/layers/cudnn_tanh_layer.hpp \
	%D%/compat/caffe/layers/data_layer.hpp \
	%D%/compat/caffe/layers/deconv_layer.hpp \
	%D%/compat/caffe/layers/dropout_layer.hpp \
	%D%/compat/caffe/layers/dummy_data_layer.hpp \
	%D%/compat/caffe/layers/eltwise_layer.hpp \
	%D%/compat/caffe/layers/elu_layer.hpp \
	%D%/compat/caffe/layers/embed_layer.hpp \
	%D%/compat/caffe/layers/euclidean_loss_layer.hpp \
	%D%/compat/caffe/layers/exp_layer.hpp \
	%D%/compat/caffe/layers/filter_layer.hpp \
	%D%/compat/caffe/layers/flatten_layer.hpp \
	%D%/compat/caffe/layers/hdf5_data_layer.hpp \
	%D%/compat/caffe/layers/hdf5_output_layer.hpp \
	%D%/compat/caffe/layers/hinge_loss_layer.hpp \
	%D%/compat/caffe/layers/im2col_layer.hpp \
	%D%/compat/caffe/layers/image_data_layer.hpp \
	%D%/compat/caffe/layers/infogain_loss_layer.hpp \
	%D%/compat/caffe/layers/inner_product_layer.hpp \
	%D%/compat/caffe/layers/input_layer.hpp \
	%D%/compat/caffe/layers/log_layer.hpp \
	%D%/compat/caffe/layers/loss_layer.hpp \
	%D%/compat/caffe/layers/lrn_layer.hpp \
	%D%/compat/caffe/layers/lstm_layer.hpp \
	%D%/compat/caffe/layers/memory_data_layer.hpp \
	%D%/compat/caffe/layers/multinomial_logistic_loss_layer.hpp \
	%D%/compat/caffe/layers/mvn_layer.hpp \
	%D%/compat/caffe/layers/neuron_layer.hpp \
	%D%/compat/caffe/layers/parameter_layer.hpp \
	%D%/compat/caffe/layers/pooling_layer.hpp \
	%D%/compat/caffe/layers/power_layer.hpp \
	%D%/compat/caffe/layers/prelu_layer.hpp \
	%D%/compat/caffe/layers/python_layer.hpp \
	%D%/compat/caffe/layers/recurrent_layer.hpp \
	%D%/compat/caffe/layers/reduction_layer.hpp \
	%D%/compat/caffe/layers/relu_layer.hpp \
	%D%/compat/caffe/layers/reshape_layer.hpp \
	%D%/compat/caffe/layers/rnn_layer.hpp \
	%D%/compat/caffe/layers/scale_layer.hpp \
	%D%/compat/caffe/layers/sigmoid_cross_entropy_loss_layer.hpp \
	%D%/compat/caffe/layers/sigmoid_layer.hpp \
	%D%/compat/caffe/layers/silence_layer.hpp \
	%D%/compat/caffe/layers/slice_layer.hpp \
	%D%/compat/caffe/layers/softmax_layer.hpp \
	%D%/compat/caffe/layers/softmax_loss_layer.hpp \
	%D%/compat/caffe/layers/split_layer.hpp \
	%D%/compat/caffe/layers/spp_layer.hpp \
	%D%/compat/caffe/layers/swish_layer.hpp \
	%D%/compat/caffe/layers/tanh_layer.hpp \
	%D%/compat/caffe/layers/threshold_layer.hpp \
	%D%/compat/caffe/layers/tile_layer.hpp \
	%D%/compat/caffe/layers/window_data_layer.hpp
compatprotodir = $(compatdir)/proto
compatproto_HEADERS = \
	%D%/compat/caffe/proto/caffe.pb.h \
	%D%/compat/caffe/proto/fields.hpp
compatutildir = $(compatdir)/util
compatutil_HEADERS = \
	%D%/compat/caffe/util/benchmark.hpp \
	%D%/compat/caffe/util/blocking_queue.hpp \
	%D%/compat/caffe/util/db.hpp \
	%D%/compat/caffe/util/db_leveldb.hpp \
	%D%/compat/caffe/util/db_lmdb.hpp \
	%D%/compat/caffe/util/device_alternate.hpp \
	%D%/compat/caffe/util/format.hpp \
	%D%/compat/caffe/util/hdf5.hpp \
	%D%/compat/caffe/util/insert_splits.hpp \
	%D%/compat/caffe/util/io.hpp \
	%D%/compat/caffe/util/math_functions.hpp \
	%D%/compat/caffe/util/mkl_alternate.hpp \
	%D%/compat/caffe/util/rng.hpp \
	%D%/compat/caffe/util/signal_handler.h \
	%D%/compat/caffe/util/upgrade_proto.hpp
