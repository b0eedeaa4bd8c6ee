# SPDX-License-Identifier: BSD-2-Clause
# libferryio: files of arrays, read into and written from host memory. Includes public headers only.

lib_LTLIBRARIES += libferryio.la
noinst_LTLIBRARIES += %D%/libferryioobjs.la

%C%_libferryioobjs_la_SOURCES = \
	common/arena.h \
	common/half.h \
	common/rows.h \
	common/wire.h \
	%D%/attributes.c \
	%D%/attributes.h \
	%D%/blob_proto.c \
	%D%/caffe_proof.c \
	%D%/caffe_proof.h \
	%D%/caffemodel.c \
	%D%/crc32.c \
	%D%/crc32.h \
	%D%/dlpack.c \
	%D%/dlpack.h \
	%D%/dlpack_abi.h \
	%D%/dlpack_from.c \
	%D%/dlpack_to.c \
	%D%/file.c \
	%D%/file_map.c \
	%D%/file_map.h \
	%D%/foreign.c \
	%D%/foreign.h \
	%D%/foreign_magic.c \
	%D%/foreign_magic.h \
	%D%/foreign_proto.c \
	%D%/foreign_proto.h \
	%D%/format.c \
	%D%/hdf5_family.c \
	%D%/hdf5_family.h \
	%D%/inflate.c \
	%D%/inflate.h \
	%D%/json.c \
	%D%/json.h \
	%D%/layer_types.c \
	%D%/layer_types.h \
	%D%/names.c \
	%D%/names.h \
	%D%/npy.c \
	%D%/npy.h \
	%D%/npy_header.c \
	%D%/npy_write.h \
	%D%/npz.c \
	%D%/open.c \
	%D%/out.c \
	%D%/out.h \
	%D%/pickle.c \
	%D%/pickle.h \
	%D%/proto.c \
	%D%/proto.h \
	%D%/proto_write.c \
	%D%/proto_write.h \
	%D%/read.c \
	%D%/read.h \
	%D%/reader.c \
	%D%/reader.h \
	%D%/rows.c \
	%D%/rows.h \
	%D%/safetensors.c \
	%D%/safetensors.h \
	%D%/scratch.c \
	%D%/scratch.h \
	%D%/sharded.c \
	%D%/storage.c \
	%D%/storage.h \
	%D%/torch.c \
	%D%/torch_archive.c \
	%D%/torch_archive.h \
	%D%/torch_tensor.c \
	%D%/torch_tensor.h \
	%D%/torch_walk.c \
	%D%/torch_walk.h \
	%D%/values.c \
	%D%/values.h \
	%D%/wire.c \
	%D%/wire.h \
	%D%/write_caffe.c \
	%D%/write_definition.c \
	%D%/write_definition.h \
	%D%/write_npy.c \
	%D%/write_npz.c \
	%D%/write_safetensors.c \
	%D%/write_values.c \
	%D%/writer.c \
	%D%/writer.h \
	%D%/zip.c \
	%D%/zip.h
if HAVE_HDF5
%C%_libferryioobjs_la_SOURCES += \
	%D%/hdf5.c \
	%D%/hdf5_attributes.c \
	%D%/hdf5_attributes.h \
	%D%/hdf5_filter.c \
	%D%/hdf5_filter.h \
	%D%/hdf5_large.c \
	%D%/hdf5_large.h \
	%D%/hdf5_lib.c \
	%D%/hdf5_lib.h \
	%D%/hdf5_proof.c \
	%D%/hdf5_proof.h \
	%D%/hdf5_read.c \
	%D%/hdf5_set.c \
	%D%/hdf5_set.h \
	%D%/hdf5_text.c \
	%D%/hdf5_text.h \
	%D%/lzf.c \
	%D%/lzf.h \
	%D%/write_hdf5.c
else
%C%_libferryioobjs_la_SOURCES += %D%/hdf5_none.c
endif
%C%_libferryioobjs_la_CPPFLAGS = $(PUBLIC_CPPFLAGS) -I$(top_srcdir) $(IO_CPPFLAGS)
%C%_libferryioobjs_la_CFLAGS = $(STD_CFLAGS) -fvisibility=hidden $(ZLIB_CFLAGS) $(HDF5_CFLAGS)
%C%_libferryioobjs_la_LIBADD = $(ZLIB_LIBS) $(HDF5_LIBS) $(CORE_SYSTEM_LIBS)

libferryio_la_SOURCES =
libferryio_la_LIBADD = %D%/libferryioobjs.la libferry.la
libferryio_la_LDFLAGS = -version-info 1:0:0 -no-undefined $(Z_DEFS) $(Z_NODELETE) $(VERSION_FLAGS)
EXTRA_libferryio_la_DEPENDENCIES = $(VERSION_MAP)

EXTRA_DIST += %D%/README.md common/README.md
