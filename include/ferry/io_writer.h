/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file io_writer.h
 * Writing a file of arrays. Part of libferryio.
 *
 * Create a writer, declare or write arrays one after the other, and commit the file. The file
 * appears under its path only at the commit.
 *
 * Errors: FERRY_EINVAL for NULL, FERRY_ENOMEM, and those that a function names. A call that refuses
 * its arguments changes nothing. If a write fails otherwise, the writer can only be committed or
 * aborted: each later write, and the commit, returns that error with its message. libhdf5 does not
 * report why an allocation failed: for HDF5 that is FERRY_EIO, also from later calls on any HDF5
 * file, since libhdf5 then stays in an undefined state in the process.
 *
 * Threads: distinct writers from distinct threads; one writer from one thread at a time.
 */
#ifndef FERRY_IO_WRITER_H
#define FERRY_IO_WRITER_H

#include <ferry/io_reader.h>

FERRY_BEGIN_DECLS

/** A writer of one file. Opaque. */
typedef struct ferry_io_writer ferry_io_writer;

/**
 * Creates a writer. The bytes go to a temporary file in the folder of `path`;
 * ferry_io_writer_commit renames it. FERRY_EINVAL for a format that cannot be written,
 * FERRY_EUNSUPPORTED for HDF5 if libferryio was built without it, FERRY_EIO, FERRY_ENOMEM; *out is
 * then unchanged.
 */
FERRY_API int ferry_io_writer_create(const char *path, ferry_io_format format,
                                     ferry_io_writer **out);

/**
 * Declares an array. The members name, dtype, rank, shape, layer_name, layer_type, has_diff and
 * storage of `entry` are used, up to its struct_size; a diff has the array's dtype. All arrays are
 * declared before the first is written, and they are written in that order.
 *
 * `storage` may name a type that is read as `dtype`, such as "U16" with U32. If the format has that
 * type, the values are stored in it, F8 and I8_ROWS rounded to nearest; a value out of its range is
 * FERRY_EOVERFLOW from the write. Scalars, empty arrays and those with a diff are not stored in
 * I8_ROWS.
 *
 * FERRY_EINVAL if struct_size is not set. FERRY_EUNSUPPORTED for anything that the format cannot
 * represent, with the array and the reason in the message; ferry drops nothing silently.
 * FERRY_ENOMEM. After a failure the declared arrays are unchanged.
 */
FERRY_API int ferry_io_writer_declare(ferry_io_writer *w, const ferry_io_entry *entry);

/**
 * Sets a metadata string, before the first array is written. safetensors: any key. caffemodel:
 * "name". solverstate: "iter", "learned_net", "current_step". HDF5: the keys of solverstate; "iter"
 * makes the file Caffe's .solverstate.h5, in which arrays have no /data prefix. FERRY_EUNSUPPORTED
 * for a key that the format does not support.
 */
FERRY_API int ferry_io_writer_set_metadata(ferry_io_writer *w, const char *key, const char *value);

/** The layout of an HDF5 file. Values never change. */
typedef enum ferry_io_layout {
    /** Each array is at the path of its name; with a diff, /data/NAME and /diff/NAME. */
    FERRY_IO_LAYOUT_PLAIN = 0,
    /** As Caffe's .caffemodel.h5: blob i of a layer is /data/LAYER/i. */
    FERRY_IO_LAYOUT_WEIGHTS = 1
} ferry_io_layout;

/**
 * Sets the layout of an HDF5 file, before the first array is written; the default is PLAIN. In
 * WEIGHTS, these arrays are under /data: arrays with a diff, arrays named LAYER/i, and arrays whose
 * names conflict with the layout (data, diff, data/…, diff/…). Other arrays are at their names. In
 * either layout a reader lists the array at /data/X as X. FERRY_EUNSUPPORTED for another format,
 * FERRY_EINVAL for an unknown layout and after the first array.
 */
FERRY_API int ferry_io_writer_set_layout(ferry_io_writer *w, ferry_io_layout layout);

/**
 * A function for ferry_io_writer_copy_attributes: attribute `name` of the object at `path` ("" for
 * the root) is not copied, for the reason `why`. The strings are borrowed for the call.
 */
typedef void (*ferry_io_attribute_dropped_fn)(void *arg, const char *path, const char *name,
                                              const char *why);

/**
 * Copies the attributes of the groups and arrays of the HDF5 file `from` to the same objects of the
 * new file. Call it after the arrays are declared and before their values are written. `from` stays
 * open until the first value is written or the file is committed. A file without attributes changes
 * nothing.
 *
 * `left` (may be NULL) is called, before this returns, for each attribute that cannot be copied:
 * references, attributes longer than 64000 bytes, attributes of objects that the new file lacks,
 * and all attributes if the new file is not HDF5. If both files are HDF5, arrays keep their paths
 * too: an array of `from` keeps its path, under /data or not, and new arrays follow the layout of
 * `from`, unless ferry_io_writer_set_layout was called before.
 *
 * FERRY_EFORMAT for attributes that cannot be read, FERRY_EINVAL, FERRY_ENOMEM; FERRY_EIO from the
 * write that creates them.
 */
FERRY_API int ferry_io_writer_copy_attributes(ferry_io_writer *w, ferry_io *from,
                                              ferry_io_attribute_dropped_fn left, void *arg);

/**
 * Sets the definition of the net whose blobs a caffemodel will contain, before the first array: a
 * serialised NetParameter in the current form (`layer`, not `layers`) without blobs, which is
 * copied. The blobs of a layer are written inside the layer with that name. Layers follow the
 * definition's order.
 *
 * A layer name that the definition lacks is FERRY_EINVAL from commit, or from the write that
 * reaches it. FERRY_EFORMAT for bytes that are not such a message, FERRY_EUNSUPPORTED for another
 * format, FERRY_ENOMEM. The definition's name overrides a name that ferry_io_writer_set_metadata
 * sets.
 */
FERRY_API int ferry_io_writer_set_definition(ferry_io_writer *w, const void *bytes, size_t size);

/**
 * Copies the definition of the caffemodel `from`, with all its fields; V1 layers and current layers
 * keep their form and their order. `from` stays open until the new file is committed.
 *
 * Blobs are written into the layers that have blobs in `from`. If a declared entry has a
 * layer_name, as the entries of `from` have, its blob is written into the layer of that name, which
 * is renamed to the layer part of the entry's name. FERRY_EUNSUPPORTED if `from` is not a
 * caffemodel or has blobs in V0 layers; the errors of ferry_io_writer_set_definition.
 */
FERRY_API int ferry_io_writer_copy_definition(ferry_io_writer *w, ferry_io *from);

/**
 * Writes the next `size` bytes of the declared arrays' values, row-major, in this machine's byte
 * order: for each array its data, then its diff if declared. A piece may have any size but must not
 * extend past the end of an array's data or diff. FERRY_EINVAL, with the writer unchanged, for such
 * a piece, for a part of an element and for bytes past the declared arrays; FERRY_EIO.
 */
FERRY_API int ferry_io_writer_write_values(ferry_io_writer *w, const void *values, size_t size);

/**
 * Declares a blob as one array and writes its values, with its diff if `with_diff`. In Caffe's
 * formats the name "conv1/0" is blob 0 of layer "conv1". After ferry_io_writer_declare, the blob
 * must be the next declared array; FERRY_ESHAPE if it does not match. After FERRY_ENOMEM and
 * FERRY_EIO later writes and ferry_io_writer_commit fail too.
 */
FERRY_API int ferry_io_writer_write(ferry_io_writer *w, const char *name, const ferry_blob *b,
                                    bool with_diff);

/**
 * Completes the file, syncs it and renames it to its path, which atomically replaces an existing
 * file. Frees the writer in every case. On failure an existing file is unchanged and the temporary
 * file is removed. FERRY_EINVAL if a declared array is incomplete, FERRY_EIO.
 */
FERRY_API int ferry_io_writer_commit(ferry_io_writer *w);

/** Removes the temporary file and frees the writer. NULL is accepted. Cannot fail. */
FERRY_API void ferry_io_writer_abort(ferry_io_writer *w);

FERRY_END_DECLS

#endif
