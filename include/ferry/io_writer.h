/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file io_writer.h
 * Writing a file of arrays. Part of libferryio.
 *
 * A writer is created, arrays are declared or written one after the other, and the file is
 * committed: nothing appears under its path before that.
 *
 * Threads: distinct writers from distinct threads; one writer from one thread at a time.
 */
#ifndef FERRY_IO_WRITER_H
#define FERRY_IO_WRITER_H

#include <ferry/io_reader.h>

FERRY_BEGIN_DECLS

/** A file being written. Opaque. */
typedef struct ferry_io_writer ferry_io_writer;

/**
 * Starts a file. Nothing appears under `path` until ferry_io_writer_commit: the bytes go to a temporary
 * file beside it. FERRY_EINVAL for a format that cannot be written, FERRY_EUNSUPPORTED for
 * HDF5 where libferryio was built without it, FERRY_EIO, FERRY_ENOMEM.
 */
FERRY_API int ferry_io_writer_create(const char *path, ferry_io_format format,
                                     ferry_io_writer **out);

/**
 * Announces an array: name, dtype, rank, dims, layer_name, layer_type, has_diff and storage of `entry` count, as
 * far as its struct_size reaches; a diff has the array's dtype. Where `storage` names a type that is
 * read as `dtype` ("U16" beside U32) and the format has it, the values are stored so, F8 rounded to
 * nearest; FERRY_EOVERFLOW from a write of one that does not fit. FERRY_EINVAL if struct_size is not set. What the
 * format cannot hold is FERRY_EUNSUPPORTED, which names the array and says why; nothing is lost silently. All arrays
 * are declared before the first is written, and written in that order.
 */
FERRY_API int ferry_io_writer_declare(ferry_io_writer *w, const ferry_io_entry *entry);

/**
 * A string that the file is to keep about itself, before the first array is written: any in
 * safetensors; "name" in a caffemodel; "iter", "learned_net", "current_step" in a solverstate, and in
 * HDF5, where "iter" makes the file Caffe's .solverstate.h5: arrays then have no /data before their names.
 * FERRY_EUNSUPPORTED where the format has no place for it.
 */
FERRY_API int ferry_io_writer_set_metadata(ferry_io_writer *w, const char *key, const char *value);

/** Where the arrays of an HDF5 file are. Values never change. */
typedef enum ferry_io_layout {
    FERRY_IO_LAYOUT_PLAIN =
        0, /* each at the path that is its name; a diff is /diff/NAME, its data /data/NAME */
    FERRY_IO_LAYOUT_WEIGHTS = 1 /* as Caffe's .caffemodel.h5: blob i of a layer is /data/LAYER/i */
} ferry_io_layout;

/**
 * Chooses the layout of an HDF5 file, before the first array is written; PLAIN without it. In WEIGHTS an array
 * with a diff, one of the form LAYER/i, and one that a reader would otherwise take for such a blob (data, diff,
 * data/..., diff/...) is under /data, the others at their names. A reader takes /data/X for array X in either
 * layout. FERRY_EUNSUPPORTED for another format, FERRY_EINVAL for another layout and after the first array.
 */
FERRY_API int ferry_io_set_layout(ferry_io_writer *w, ferry_io_layout layout);

/** Of ferry_io_writer_copy_attributes: attribute `name` of the object at `path`, "" for the root, stays behind, and why. */
typedef void (*ferry_io_attribute_dropped_fn)(void *arg, const char *path, const char *name,
                                              const char *why);

/**
 * Has the new file get the attributes that an HDF5 file has on its groups and arrays, where it has the same;
 * behind the declared arrays and before their values. What cannot be kept is told `left`, which may be NULL, at
 * once: references, what is longer than 64000 bytes, attributes of what the new file has not, and all of them
 * where it is no HDF5. From one HDF5 file to another, arrays keep their paths too: a name that `from` has stays
 * where it is there, under /data or not, and new names follow the layout of `from`,
 * unless ferry_io_set_layout was called before. `from` stays open until the first value is written or the file committed. A
 * file without attributes changes nothing. FERRY_EFORMAT for attributes that cannot be read, FERRY_EINVAL,
 * FERRY_ENOMEM, FERRY_EIO from the write that makes them.
 */
FERRY_API int ferry_io_writer_copy_attributes(ferry_io_writer *w, ferry_io *from,
                                              ferry_io_attribute_dropped_fn left, void *arg);

/**
 * The definition of the net whose blobs a caffemodel is to hold, before the first array: a serialised
 * NetParameter of today's form (`layer`, not `layers`), without blobs, which is copied. Each layer's
 * blobs are then written inside the layer of that name; layers come in the definition's order, and one
 * that it has not is FERRY_EINVAL from commit or from the write that comes to it. FERRY_EFORMAT for
 * bytes that are no such message, FERRY_EUNSUPPORTED for another format, FERRY_ENOMEM. A name that was
 * set with ferry_io_writer_set_metadata stands before the definition's, which wins.
 */
FERRY_API int ferry_io_writer_set_definition(ferry_io_writer *w, const void *bytes, size_t size);

/**
 * The same of the definition that the caffemodel `from` has, of whatever fields: today's layers and V1's
 * stay what they are, and keep their order. Blobs go into those layers that have some in `from`, which stays
 * open until the new file is committed. Where an entry that is declared has a layer_name, as those of `from` have, its
 * blob goes into the layer of that name, which is called from then on as the entry's name says. FERRY_EUNSUPPORTED
 * where `from` is no caffemodel, or has blobs in layers of Caffe's first form (V0); the errors of
 * ferry_io_writer_set_definition.
 */
FERRY_API int ferry_io_writer_copy_definition(ferry_io_writer *w, ferry_io *from);

/**
 * Writes the next `size` bytes of the declared arrays' values, this machine's byte order,
 * row-major: of each array its data, then its diff if declared with one. A piece may be of any size
 * but ends with its array's data or diff at the latest. FERRY_EINVAL for bytes nobody declared,
 * FERRY_EIO.
 */
FERRY_API int ferry_io_writer_write_values(ferry_io_writer *w, const void *values, size_t size);

/**
 * Writes a blob as one array: declares it and sends its values, and its diff where `with_diff`. In
 * Caffe's formats a name "conv1/0" is blob 0 of layer "conv1". After ferry_io_writer_declare has been
 * called, the blob must be the next declared array. FERRY_ESHAPE if it is not like it.
 */
FERRY_API int ferry_io_writer_write(ferry_io_writer *w, const char *name, const ferry_blob *b,
                                    bool with_diff);

/**
 * Completes the file, syncs it, and renames it to its path, replacing what was there in one step;
 * frees the writer, whatever the result. On failure what was there is still there and the temporary
 * file is gone. FERRY_EINVAL if a declared array was not written whole, FERRY_EIO.
 */
FERRY_API int ferry_io_writer_commit(ferry_io_writer *w);

/** Gives up: removes the temporary file and frees the writer. NULL is accepted. */
FERRY_API void ferry_io_writer_abort(ferry_io_writer *w);

FERRY_END_DECLS

#endif
