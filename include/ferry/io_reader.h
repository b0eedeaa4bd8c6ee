/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file io_reader.h
 * Opening a file of arrays, listing its entries, reading them into blobs. Part of libferryio.
 *
 * The content of a file decides its format, never its suffix. Opening reads headers only. Values go
 * from the file straight into the blob's memory, or stay in the file's pages until they are touched.
 *
 * Errors name the file, the field and the byte. Every length and every dimension is checked against
 * the bytes that are there, and memory stays below twice the file's size plus 64 MiB whatever the
 * file claims. Files are mapped: a file that another program shortens while it is open can raise
 * SIGBUS, so replace files by renaming, as the writer does.
 *
 * Threads: distinct readers from distinct threads; one reader from one thread at a time.
 */
#ifndef FERRY_IO_READER_H
#define FERRY_IO_READER_H

#include <ferry/blob.h>

FERRY_BEGIN_DECLS

/** An open file of arrays. Opaque. */
typedef struct ferry_io ferry_io;

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
 * Sets the most bytes that decoding may take, for the process: the values of a compressed array
 * that ferry_io_read reads (data and diff, in the file's dtype), and a picture of ferry/image.h with
 * the memory for decoding it. The size is computed from the headers before memory is allocated; a
 * larger one is FERRY_EOVERFLOW. An array that is stored uncompressed has no limit. 0 sets the
 * default, FERRY_IO_MAX_BYTES. Any thread; it holds for every later call.
 */
FERRY_API void ferry_io_set_max_bytes(uint64_t bytes);

/** What was set, or the default. Any thread. */
FERRY_API uint64_t ferry_io_max_bytes(void);

/** The default of ferry_io_set_max_bytes: 1 GiB. */
#define FERRY_IO_MAX_BYTES (UINT64_C(1) << 30)

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

FERRY_END_DECLS

#endif
