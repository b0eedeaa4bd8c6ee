/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file io.h
 * Files of blobs (libferryio): Caffe's, NumPy's, safetensors, HDF5, read and written; PyTorch's, read.
 *
 * A file is opened, its arrays are listed as entries, and each is read into a blob. What a file is
 * gets decided by its content, never by its suffix. Opening reads headers only; values go from the
 * file straight into the blob's memory, or stay in the file's pages until they are touched.
 *
 * Errors name the file, the field and the byte. A file is taken at nobody's word: each length and
 * each dim is checked against the bytes that are there, and memory stays below twice the file's
 * size plus 64 MiB whatever the file claims. Files are mapped: one that another program shortens
 * while it is open can raise SIGBUS; replace files by renaming, as the writer here does.
 *
 * Threads: distinct readers and writers from distinct threads; one reader from one thread at a
 * time.
 */
#ifndef FERRY_IO_H
#define FERRY_IO_H

#include <ferry/blob.h>

FERRY_BEGIN_DECLS

/** An open file of arrays. Opaque. */
typedef struct ferry_io ferry_io;

/** A file being written. Opaque. */
typedef struct ferry_io_writer ferry_io_writer;

/** What a file is. Values never change. */
typedef enum ferry_io_format {
    FERRY_IO_UNKNOWN = 0,
    FERRY_IO_BLOBPROTO = 1,   /* .binaryproto: one BlobProto */
    FERRY_IO_CAFFEMODEL = 2,  /* NetParameter: V2 layers, V1 layers, V0 nested in V1 */
    FERRY_IO_SOLVERSTATE = 3, /* SolverState: its history */
    FERRY_IO_BLOBVECTOR = 4,  /* BlobProtoVector */
    FERRY_IO_NPY = 5,         /* NumPy, one array, 1.0 to 3.0 */
    FERRY_IO_NPZ = 6,         /* NumPy, a zip of .npy */
    FERRY_IO_SAFETENSORS = 7, /* safetensors; read, also by the index of several files */
    FERRY_IO_HDF5 = 8,        /* Caffe's HDF5 weights; any HDF5 file's arrays */
    FERRY_IO_PYTORCH = 9      /* PyTorch's archive, of 1.6 and later; only read, and never run */
} ferry_io_format;

/**
 * One array of a file.
 *
 * All strings and dims belong to the ferry_io (to the caller where the caller made the entry, for
 * ferry_io_writer_declare) and live until it is closed. Members may be added at the end: zero the structure
 * before filling it in, and set struct_size; a copy of an entry that ferry gave wants its own too.
 *
 * Files know element types that ferry has not. Their values are read as a dtype that holds them
 * exactly: U16 as U32, U64 as I64 (from 2^63 on FERRY_EOVERFLOW), I16 as I32, BOOL as U8, F8_E4M3
 * and F8_E5M2 as F16. An array of any other type is listed like the rest, and reading it is
 * FERRY_EUNSUPPORTED.
 */
typedef struct ferry_io_entry {
    size_t struct_size; /* sizeof(ferry_io_entry) of whoever made it; 0 in ferry's own */
    int64_t index;      /* the entry's place in the file, from 0 */
    const char *name; /* "conv1/0" in Caffe's files; the array's own; a single one's file's stem */
    ferry_dtype dtype;
    int rank; /* 0: a scalar */
    const int64_t *shape;
    int64_t count;          /* elements: the product of the dims */
    const char *layer_name; /* Caffe's layer, else "" */
    const char *layer_type; /* "Convolution", also for V1's enum; else "" */
    bool has_diff;          /* there is a diff beside the data */
    ferry_dtype diff_dtype; /* of the diff, if there is one; NVCaffe's may differ from the data's */
    uint64_t offset;        /* where in the file the values begin, or their message; bytes */
    uint64_t stored_bytes;  /* what the values take in the file */
    const char *storage; /* their type there: "F32", "U16"; where unreadable, in the file's words */
    const char *unreadable; /* why the values cannot be read (dtype is then U8); NULL: they can */
} ferry_io_entry;

/** A format's short name: "caffemodel", "npy" …; "?" for a value that is no format. */
FERRY_API const char *ferry_io_format_name(ferry_io_format format);

/** The format of that name, or of a path's suffix (".npz"); FERRY_IO_UNKNOWN if there is none. */
FERRY_API ferry_io_format ferry_io_format_find(const char *name_or_path);

/**
 * Opens a file and reads its headers: every name, dtype and shape is known, and every length
 * checked, when this returns. The caller closes it. FERRY_EIO where the system refuses (missing, a
 * directory, no permission), FERRY_EFORMAT for what is empty, malformed or of no known format,
 * FERRY_EUNSUPPORTED for what is well-formed but beyond ferry (an object array, say), FERRY_ENOMEM;
 * *out is then untouched.
 */
FERRY_API int ferry_io_open(const char *path, ferry_io **out);

/** With ferry_io_open_with: the file is known to be sound. */
#define FERRY_IO_TRUST 1u

/**
 * The same with flags, 0 or FERRY_IO_TRUST. libhdf5 can crash on a damaged file, so an HDF5 file that
 * is not trusted is first walked by a child of this process (fork, without exec; it prints nothing,
 * runs nothing of the program's, and has seconds): where that crashes the file is FERRY_EFORMAT. One
 * that is trusted is walked here at once. Other formats are the same either way. FERRY_EINVAL for
 * other flags, and the errors of ferry_io_open.
 */
FERRY_API int ferry_io_open_with(const char *path, unsigned flags, ferry_io **out);

/**
 * The same for bytes in memory, which the caller keeps as they are until ferry_io_close. `name`
 * stands for the path in messages and its stem names a single unnamed array.
 */
FERRY_API int ferry_io_open_bytes(const void *bytes, size_t size, const char *name, ferry_io **out);

/** Closes the file. Entries become invalid; blobs read from it do not. NULL is accepted. */
FERRY_API void ferry_io_close(ferry_io *io);

/** What the file is; FERRY_IO_UNKNOWN for NULL. */
FERRY_API ferry_io_format ferry_io_get_format(const ferry_io *io);

/** How many arrays there are; 0 for NULL. Does not change while the file is open. */
FERRY_API int64_t ferry_io_entry_count(const ferry_io *io);

/** The entry at 0 … ferry_io_entry_count − 1, in the file's order; FERRY_EINVAL outside. */
FERRY_API int ferry_io_entry_at(const ferry_io *io, int64_t index, const ferry_io_entry **out);

/**
 * Steps through the entries in the file's order; *out is NULL after the last one. What it stands on
 * belongs to the file: two loops at once use ferry_io_entry_at.
 */
FERRY_API int ferry_io_next(ferry_io *io, const ferry_io_entry **out);

/** Lets ferry_io_next start again at the first entry. */
FERRY_API void ferry_io_rewind(ferry_io *io);

/**
 * The first entry of that name; *out is NULL if there is none, which is no error. FERRY_EINVAL for
 * NULL, FERRY_ENOMEM.
 */
FERRY_API int ferry_io_entry_find(ferry_io *io, const char *name, const ferry_io_entry **out);

/** How many strings the file keeps about itself; 0 for NULL. Does not change while it is open. */
FERRY_API int64_t ferry_io_metadata_count(const ferry_io *io);

/**
 * The string number `index`, 0 … ferry_io_metadata_count − 1, that the file keeps about itself:
 * safetensors' __metadata__, a net's name, a solver's iteration. Where a caffemodel is more than the
 * blobs, names and types of its layers, "definition" says how much more (ferry_proto_open reads that).
 * Both live until the file is closed. FERRY_EINVAL outside.
 */
FERRY_API int ferry_io_metadata_at(const ferry_io *io, int64_t index, const char **out_key,
                                   const char **out_value);

/**
 * Reads an entry into a blob: reshapes it, fills data, and diff where the file has one (else the
 * blob's diff is left alone). The newest copy is then the host's; devices fetch it when they need
 * it.
 *
 * `entry` must be one of this file's. Where the blob's dtype differs from the file's, values are
 * converted as ferry_blob_copy_from converts. Where they agree and the bytes of a .npy, .npz or
 * safetensors file can serve as they are, large arrays are adopted: the blob's memory becomes a private mapping of
 * the file, whose pages the kernel reads when they are touched and copies when they are written; those of a .npz are
 * read once before, for its checksum. Errors: FERRY_EFORMAT for values that are damaged, FERRY_EIO, FERRY_ENOMEM,
 * FERRY_EINVAL, FERRY_EUNSUPPORTED for an entry that is unreadable, those of ferry_blob_reshape; the blob is then as
 * before, except that after FERRY_EIO and FERRY_EFORMAT its values are unspecified.
 */
FERRY_API int ferry_io_read(ferry_io *io, const ferry_io_entry *entry, ferry_blob *b);

/**
 * Copies elements start … start + count − 1 of an entry's data, in row-major order, to `out`: in
 * the entry's dtype and this machine's byte order. For whoever works in tiles. FERRY_EINVAL for a
 * range outside the array, FERRY_EUNSUPPORTED for an entry that is unreadable, FERRY_EIO, FERRY_ENOMEM;
 * FERRY_EFORMAT for values that are damaged: a stored member of a .npz by its checksum, once all of it was read,
 * at once or in tiles in their order.
 */
FERRY_API int ferry_io_read_values(ferry_io *io, const ferry_io_entry *entry, int64_t start,
                                   int64_t count, void *out);

/** The same for an entry's diff, in its diff_dtype; FERRY_EINVAL if it has none. */
FERRY_API int ferry_io_read_diff_values(ferry_io *io, const ferry_io_entry *entry, int64_t start,
                                        int64_t count, void *out);

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

/*
 * One BlobProto, as bytes. (Caffe: FromProto, ToProto, ShapeEquals.)
 */

/**
 * Fills a blob from a serialised BlobProto of `size` bytes: data, and diff if there is one.
 *
 * With `reshape` the blob takes the message's shape; without, it must have it already, as
 * ferry_blob_shape_equals_proto decides, else FERRY_ESHAPE. If one of num, channels, height, width
 * is there, the shape is these four and `shape` is ignored; with no shape at all it is a scalar.
 * Double values win over floats. NVCaffe's and the OpenCL branch's fields are understood. Values
 * are converted to the blob's dtype. FERRY_EFORMAT for bytes that are no BlobProto; FERRY_ESHAPE
 * where the number of values is not the count; the blob is then as before.
 */
FERRY_API int ferry_blob_from_proto(ferry_blob *b, const void *bytes, size_t size, bool reshape);

/**
 * Serialises a blob, data and with `write_diff` diff, into `buf`; *out_size is the length. With a
 * NULL buf only that is found out. F32 goes to data and diff, F64 to double_data and double_diff,
 * F16 to NVCaffe's raw fields; other dtypes are FERRY_EUNSUPPORTED. Values never written are zeros;
 * a scalar has no shape; a blob without a shape is written as one axis of 0. FERRY_EOVERFLOW if
 * `capacity` is too small.
 */
FERRY_API int ferry_blob_to_proto(const ferry_blob *b, bool write_diff, void *buf, size_t capacity,
                                  size_t *out_size);

/**
 * 1 if the blob has the shape of the serialised BlobProto, 0 if not. A legacy shape is compared
 * from the last axis backwards, missing axes being 1. FERRY_EFORMAT, FERRY_EINVAL.
 */
FERRY_API int ferry_blob_shape_equals_proto(const ferry_blob *b, const void *bytes, size_t size);

/*
 * DLPack: memory shared with NumPy, PyTorch and others, without a copy. Callers include
 * <dlpack/dlpack.h> for the structures: DLManagedTensor, of before 1.0, and DLManagedTensorVersioned,
 * since.
 */
struct DLManagedTensor;
struct DLManagedTensorVersioned;

/** With to_dlpack_versioned: the client only reads, and the copy there is not the only valid one. */
#define FERRY_DLPACK_READ_ONLY 4u
/** With to_dlpack_versioned: a copy of the values, the client's alone. */
#define FERRY_DLPACK_COPY 8u

/**
 * A tensor over the blob's own data, or with FERRY_COPY_DIFF its diff: on the host where `where` is
 * NULL, otherwise on `where`, the blob's home: a CUDA device (a device pointer), an OpenCL device (a
 * cl_mem and an offset) or a host-memory device (host memory again).
 *
 * It counts as a write there: that copy becomes the only valid one, the calling thread has waited
 * for all work on it, and what the client writes is what ferry then reads. The tensor keeps the
 * memory alive whatever becomes of the blob; its owner calls its deleter once. The client sees the
 * blob's changes until ferry writes elsewhere, or the blob grows or adopts. Of count 0, data is
 * NULL. FERRY_EINVAL, FERRY_EUNSUPPORTED for a device that DLPack has no name for, and the errors
 * of access.
 */
FERRY_API int ferry_blob_to_dlpack(ferry_blob *b, ferry_device *where, unsigned flags,
                                   struct DLManagedTensor **out);

/**
 * A blob over a tensor's memory, with `home`: host memory for any home; CUDA and OpenCL memory where
 * `home` is that device. From success on ferry owns the tensor and calls its deleter once, when it
 * lets go of the memory; on failure it is still the caller's. The blob may write there. Strides have
 * to be those of a contiguous row-major array, else FERRY_EUNSUPPORTED, as for lanes and element
 * types that ferry does not have. The caller destroys the blob.
 */
FERRY_API int ferry_blob_from_dlpack(ferry_device *home, struct DLManagedTensor *tensor,
                                     ferry_blob **out);

/**
 * The same as a tensor of DLPack 1.0. With FERRY_DLPACK_READ_ONLY it counts as a read, and the
 * tensor's READ_ONLY flag says so; with FERRY_DLPACK_COPY the values are copied first, on the blob's
 * home, the blob is only read, and the flag is IS_COPIED.
 */
FERRY_API int ferry_blob_to_dlpack_versioned(ferry_blob *b, ferry_device *where, unsigned flags,
                                             struct DLManagedTensorVersioned **out);

/**
 * The same of a tensor of DLPack 1.x; FERRY_EUNSUPPORTED for another major, of which no member but
 * the version is looked at. One with the READ_ONLY flag is adopted with FERRY_ADOPT_READONLY.
 */
FERRY_API int ferry_blob_from_dlpack_versioned(ferry_device *home,
                                               struct DLManagedTensorVersioned *tensor,
                                               ferry_blob **out);

FERRY_END_DECLS

#endif
