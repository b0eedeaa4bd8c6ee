# SPDX-License-Identifier: BSD-2-Clause
# libferrynet: proto texts, operations, layers, nets and solvers. It uses libferry and libferryio only through
# their installed headers; its own headers are included by path from the root: "net/proto/tree.h".

lib_LTLIBRARIES += libferrynet.la
noinst_LTLIBRARIES += %D%/libferrynetobjs.la

# The flags of op/, net/ and solver/.
NET_CPPFLAGS = -I$(top_srcdir) $(PUBLIC_CPPFLAGS)
NET_CFLAGS = $(STD_CFLAGS) -fvisibility=hidden

# The objects as a convenience library, which unit tests link to reach hidden symbols.
%C%_libferrynetobjs_la_SOURCES = \
	%D%/open.c \
	%D%/open.h \
	%D%/data/chance.c \
	%D%/data/chance.h \
	%D%/data/database.c \
	%D%/data/database.h \
	%D%/data/datum.c \
	%D%/data/datum.h \
	%D%/data/image.c \
	%D%/data/image.h \
	%D%/data/image_jpeg.c \
	%D%/data/image_pixels.c \
	%D%/data/image_png.c \
	%D%/data/leveldb/bytes.h \
	%D%/data/leveldb/crc32c.c \
	%D%/data/leveldb/crc32c.h \
	%D%/data/leveldb/file.c \
	%D%/data/leveldb/file.h \
	%D%/data/leveldb/key.h \
	%D%/data/leveldb/leveldb.c \
	%D%/data/leveldb/leveldb.h \
	%D%/data/leveldb/log.c \
	%D%/data/leveldb/log.h \
	%D%/data/leveldb/manifest.c \
	%D%/data/leveldb/manifest.h \
	%D%/data/leveldb/recent.c \
	%D%/data/leveldb/recent.h \
	%D%/data/leveldb/snappy.c \
	%D%/data/leveldb/snappy.h \
	%D%/data/leveldb/table.c \
	%D%/data/leveldb/table.h \
	%D%/data/lmdb.c \
	%D%/data/lmdb.h \
	%D%/data/list.c \
	%D%/data/list.h \
	%D%/data/prefetch.c \
	%D%/data/prefetch.h \
	%D%/data/resize.c \
	%D%/data/resize.h \
	%D%/data/transform.c \
	%D%/exec/backward.c \
	%D%/exec/choose.c \
	%D%/exec/debug.c \
	%D%/exec/exec.h \
	%D%/exec/items.c \
	%D%/exec/measure.c \
	%D%/exec/measure.h \
	%D%/exec/move.c \
	%D%/exec/reshape.c \
	%D%/exec/run.c \
	%D%/exec/running.c \
	%D%/import/build.c \
	%D%/import/build.h \
	%D%/import/file.c \
	%D%/import/file.h \
	%D%/import/fold.c \
	%D%/import/fold.h \
	%D%/import/fold_view.c \
	%D%/import/import.c \
	%D%/import/import.h \
	%D%/import/node.c \
	%D%/import/ops.h \
	%D%/import/ops_binary.c \
	%D%/import/ops_conv.c \
	%D%/import/ops_element.c \
	%D%/import/ops_norm.c \
	%D%/import/ops_pool.c \
	%D%/import/ops_shape.c \
	%D%/import/shapes.c \
	%D%/import/table.c \
	%D%/import/tensor.c \
	%D%/import/tensor.h \
	%D%/import/values.c \
	%D%/import/window.c \
	%D%/ir/program.c \
	%D%/ir/program.h \
	%D%/layers/accuracy.c \
	%D%/layers/arg_max.c \
	%D%/layers/axpy.c \
	%D%/layers/backward.c \
	%D%/layers/batch_norm.c \
	%D%/layers/batch_reindex.c \
	%D%/layers/bias.c \
	%D%/layers/binary.c \
	%D%/layers/bn.c \
	%D%/layers/columns.c \
	%D%/layers/concat.c \
	%D%/layers/contrastive_loss.c \
	%D%/layers/convolution.c \
	%D%/layers/convolution.h \
	%D%/layers/convolution_wide.c \
	%D%/layers/crop.c \
	%D%/layers/data.c \
	%D%/layers/detection_output.c \
	%D%/layers/dropout.c \
	%D%/layers/dummy_data.c \
	%D%/layers/eltwise.c \
	%D%/layers/embed.c \
	%D%/layers/euclidean_loss.c \
	%D%/layers/fillers.c \
	%D%/layers/fillers.h \
	%D%/layers/filter.c \
	%D%/layers/flatten.c \
	%D%/layers/hdf5_data.c \
	%D%/layers/hdf5_output.c \
	%D%/layers/hinge_loss.c \
	%D%/layers/im2col.c \
	%D%/layers/image_data.c \
	%D%/layers/infogain_loss.c \
	%D%/layers/inner_product.c \
	%D%/layers/input.c \
	%D%/layers/interp.c \
	%D%/layers/layer_norm.c \
	%D%/layers/layers.h \
	%D%/layers/loss.c \
	%D%/layers/loss.h \
	%D%/layers/lrn.c \
	%D%/layers/lstm.c \
	%D%/layers/lstm_unit.c \
	%D%/layers/memory_data.c \
	%D%/layers/multinomial_logistic_loss.c \
	%D%/layers/mvn.c \
	%D%/layers/normalize.c \
	%D%/layers/pad.c \
	%D%/layers/parameter.c \
	%D%/layers/permute.c \
	%D%/layers/pictures.c \
	%D%/layers/pictures.h \
	%D%/layers/pooling.c \
	%D%/layers/prelu.c \
	%D%/layers/prior_box.c \
	%D%/layers/proposal.c \
	%D%/layers/psroi_pooling.c \
	%D%/layers/recurrent.c \
	%D%/layers/recurrent_backward.c \
	%D%/layers/recurrent.h \
	%D%/layers/reader.c \
	%D%/layers/reader.h \
	%D%/layers/reduce.c \
	%D%/layers/reduction.c \
	%D%/layers/region.c \
	%D%/layers/regions_backward.c \
	%D%/layers/resample.c \
	%D%/layers/resample.h \
	%D%/layers/reshape.c \
	%D%/layers/resize.c \
	%D%/layers/rnn.c \
	%D%/layers/roi_pooling.c \
	%D%/layers/scale.c \
	%D%/layers/scale.h \
	%D%/layers/scale_span.c \
	%D%/layers/shared.c \
	%D%/layers/shuffle_channel.c \
	%D%/layers/sigmoid_cross_entropy_loss.c \
	%D%/layers/silence.c \
	%D%/layers/slice.c \
	%D%/layers/softmax.c \
	%D%/layers/softmax_with_loss.c \
	%D%/layers/split.c \
	%D%/layers/spp.c \
	%D%/layers/strided_slice.c \
	%D%/layers/table.c \
	%D%/layers/tile.c \
	%D%/layers/unary.c \
	%D%/layers/upsample.c \
	%D%/layers/window.c \
	%D%/layers/window_data.c \
	%D%/layers/window_file.c \
	%D%/layers/window_file.h \
	%D%/layers/window_place.c \
	%D%/layers/window_place.h \
	%D%/model/build.c \
	%D%/model/conditions.c \
	%D%/model/fill.c \
	%D%/model/graph.c \
	%D%/model/graph.h \
	%D%/model/layer.c \
	%D%/model/library.c \
	%D%/model/load.c \
	%D%/model/names.c \
	%D%/model/names.h \
	%D%/model/needs.c \
	%D%/model/net.c \
	%D%/model/params.c \
	%D%/model/place.c \
	%D%/model/place.h \
	%D%/model/rules.c \
	%D%/model/save.c \
	%D%/model/seed.c \
	%D%/model/shapes.c \
	%D%/model/stages.c \
	%D%/model/state.h \
	%D%/model/training.c \
	%D%/model/training.h \
	%D%/model/types.c \
	%D%/model/types.h \
	%D%/model/writes.c \
	%D%/onnx/export.c \
	%D%/onnx/fold.c \
	%D%/onnx/graph.c \
	%D%/onnx/graph.h \
	%D%/onnx/layers.h \
	%D%/onnx/layers_conv.c \
	%D%/onnx/layers_data.c \
	%D%/onnx/layers_detect.c \
	%D%/onnx/layers_element.c \
	%D%/onnx/layers_loss.c \
	%D%/onnx/layers_norm.c \
	%D%/onnx/layers_pool.c \
	%D%/onnx/layers_proposal.c \
	%D%/onnx/layers_recurrent.c \
	%D%/onnx/layers_region.c \
	%D%/onnx/layers_shape.c \
	%D%/onnx/model.c \
	%D%/onnx/ops.c \
	%D%/onnx/ops.h \
	%D%/onnx/schema.c \
	%D%/onnx/schema.h \
	%D%/onnx/table.c \
	%D%/onnx/write.c \
	%D%/passes/arena.c \
	%D%/passes/collect.c \
	%D%/passes/differentiate.c \
	%D%/passes/fold.c \
	%D%/passes/fold.h \
	%D%/passes/fold_weights.c \
	%D%/passes/fuse.c \
	%D%/passes/layout.c \
	%D%/passes/make.c \
	%D%/passes/passes.h \
	%D%/passes/reach.c \
	%D%/passes/slice.c \
	%D%/passes/strides.c \
	%D%/segment/compiled.c \
	%D%/segment/compiled.h \
	%D%/segment/convex.c \
	%D%/segment/convex.h \
	%D%/segment/graph.c \
	%D%/segment/graph.h \
	%D%/segment/offer.c \
	%D%/segment/segment.h \
	%D%/segment/store.c \
	%D%/segment/store.h \
	%D%/proto/copy.c \
	%D%/proto/describe.c \
	%D%/proto/downgrade.c \
	%D%/proto/edit.h \
	%D%/proto/file.c \
	%D%/proto/file.h \
	%D%/proto/fold.c \
	%D%/proto/get.c \
	%D%/proto/index.c \
	%D%/proto/index.h \
	%D%/proto/inputs.c \
	%D%/proto/lexer.c \
	%D%/proto/lexer.h \
	%D%/proto/open.c \
	%D%/proto/parse.c \
	%D%/proto/parse.h \
	%D%/proto/parser.h \
	%D%/proto/part.c \
	%D%/proto/print.c \
	%D%/proto/quote.c \
	%D%/proto/quote.h \
	%D%/proto/schema.c \
	%D%/proto/schema.h \
	%D%/proto/schema_data.c \
	%D%/proto/schema_ferry.c \
	%D%/proto/schema_forks.c \
	%D%/proto/schema_layers.c \
	%D%/proto/schema_legacy.c \
	%D%/proto/schema_net.c \
	%D%/proto/schema_solver.c \
	%D%/proto/schema_tables.h \
	%D%/proto/unknown.c \
	%D%/proto/tree.c \
	%D%/proto/tree.h \
	%D%/proto/upgrade.c \
	%D%/proto/upgrade.h \
	%D%/proto/upgrade_v0.c \
	%D%/proto/upgrade_v1.c \
	%D%/proto/value.c \
	%D%/proto/value.h \
	%D%/proto/wire.h \
	%D%/proto/wire_read.c \
	%D%/proto/wire_write.c \
	%D%/proto/write.c
%C%_libferrynetobjs_la_CPPFLAGS = $(NET_CPPFLAGS) $(NET_CPPFLAGS_LIBS)
%C%_libferrynetobjs_la_CFLAGS = $(NET_CFLAGS) $(PNG_CFLAGS) $(JPEG_CFLAGS)
%C%_libferrynetobjs_la_LIBADD = $(PNG_LIBS) $(JPEG_LIBS)

# Higher rooms first.
NET_ROOMS = solver/libferrysolverobjs.la %D%/libferrynetobjs.la op/libferryopobjs.la

libferrynet_la_SOURCES =
libferrynet_la_LIBADD = $(NET_ROOMS) libferryio.la libferry.la $(CORE_SYSTEM_LIBS) -lm
libferrynet_la_LDFLAGS = -version-info 0:0:0 -no-undefined $(Z_DEFS) $(VERSION_FLAGS)
EXTRA_libferrynet_la_DEPENDENCIES = $(VERSION_MAP)

EXTRA_DIST += %D%/proto/caffe-messages.py
EXTRA_DIST += %D%/data/README.md %D%/data/leveldb/README.md %D%/exec/README.md %D%/ir/README.md %D%/layers/README.md %D%/model/README.md \
	%D%/onnx/README.md %D%/passes/README.md %D%/proto/README.md %D%/segment/README.md
EXTRA_DIST += %D%/import/README.md

EXTRA_DIST += %D%/README.md
