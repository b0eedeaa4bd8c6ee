/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file io_reader.h
 * Opening a file of arrays, listing its entries, reading them into blobs. Part of libferryio.
 *
 * ferry detects the format from the content of a file, never from its suffix. Opening a file reads
 * only its headers. Values are read directly into the blob's memory, or stay in the mapped file
 * until they are accessed.
 *
 * Error messages name the file, the field and the byte offset. ferry checks every length and every
 * dimension against the bytes in the file, and its memory use stays below twice the file's size
 * plus 64 MiB. Files are mapped: if another program truncates an open file, an access can raise
 * SIGBUS. Replace files by renaming, as the writer does.
 *
 * Threads: distinct readers from distinct threads; one reader from one thread at a time.
 */
#ifndef FERRY_IO_READER_H
#define FERRY_IO_READER_H

#include <ferry/blob.h>

FERRY_BEGIN_DECLS

/** An open file of arrays. Opaque. */
typedef struct ferry_io ferry_io;

/** File formats. Values never change. */
typedef enum ferry_io_format {
    FERRY_IO_UNKNOWN = 0,
    FERRY_IO_BLOBPROTO = 1,   /* .binaryproto: one BlobProto */
    FERRY_IO_CAFFEMODEL = 2,  /* NetParameter: V2 layers, V1 layers, V0 nested in V1 */
    FERRY_IO_SOLVERSTATE = 3, /* SolverState: its histories */
    FERRY_IO_BLOBVECTOR = 4,  /* BlobProtoVector */
    FERRY_IO_NPY = 5,         /* NumPy, one array, versions 1.0 to 3.0 */
    FERRY_IO_NPZ = 6,         /* NumPy, a zip of .npy */
    FERRY_IO_SAFETENSORS = 7, /* safetensors; reading also accepts the index of several files */
    FERRY_IO_HDF5 = 8,        /* Caffe's HDF5 weights, and arrays of any HDF5 file */
    FERRY_IO_PYTORCH = 9      /* PyTorch's archive, 1.6 and later; read only, never executed */
} ferry_io_format;

/** The storage of arrays that ferry_io_read_integers reads. */
#define FERRY_IO_I8_ROWS "I8_ROWS"

/**
 * One array of a file.
 *
 * The strings and the shape belong to the ferry_io and are valid until it is closed. In an entry
 * for ferry_io_writer_declare they belong to the caller. The structure may grow: zero it before you
 * fill it in, and set struct_size. An entry from ferry has the library's, up to which it may be
 * read and copied, and can be declared as it is.
 *
 * Values of an element type without a ferry_dtype are read as a dtype that represents them exactly:
 * U16 as U32, U64 as I64 (FERRY_EOVERFLOW from 2⁶³ on), I16 as I32, BOOL as U8, F8_E4M3 and F8_E5M2
 * as F16. I8_ROWS, of Caffe's files only, is read as F32 (ferry_io_read_integers). Arrays of any
 * other type are listed too; reading them is FERRY_EUNSUPPORTED.
 */
typedef struct ferry_io_entry {
    size_t struct_size; /* sizeof(ferry_io_entry) of the caller, or of the library */
    int64_t index;      /* position in the file, from 0 */
    const char *name;   /* "conv1/0" in Caffe's files; a single unnamed array has the file's stem */
    ferry_dtype dtype;
    int rank; /* 0: scalar */
    const int64_t *shape;
    int64_t count;          /* elements: the product of the shape */
    const char *layer_name; /* the layer's name in Caffe's files, else "" */
    const char *layer_type; /* "Convolution", also for the enum of V1 layers; else "" */
    bool has_diff;          /* the entry also has a diff */
    ferry_dtype diff_dtype; /* the diff's type if has_diff; NVCaffe's may differ from the data's */
    uint64_t offset;        /* byte offset in the file of the values or of their message */
    uint64_t stored_bytes;  /* bytes of the values in the file */
    const char *storage; /* type in the file: "F32", "U16"; if unreadable, as the file names it */
    const char *unreadable; /* reason why the values cannot be read (dtype is then U8), or NULL */
} ferry_io_entry;

/** The short name of a format, "caffemodel", "npy", …; "?" for an unknown value. */
FERRY_API const char *ferry_io_format_name(ferry_io_format format);

/**
 * The format with that short name or with the suffix of that path (".npz"); FERRY_IO_UNKNOWN if
 * there is none.
 */
FERRY_API ferry_io_format ferry_io_format_find(const char *name_or_path);

/**
 * Opens a file and reads its headers. On return every name, dtype and shape is known and every
 * length is checked. The caller closes *out. FERRY_EIO for an error of the system (missing file,
 * directory, no permission), FERRY_EFORMAT for an empty file, a malformed one, and an unknown
 * format, FERRY_EUNSUPPORTED for a well-formed file that ferry cannot read, such as an array of
 * objects, FERRY_ENOMEM. After a failure *out is unchanged.
 */
FERRY_API int ferry_io_open(const char *path, ferry_io **out);

/** Flag of ferry_io_open_with: the caller trusts the file. */
#define FERRY_IO_TRUST 1u

/**
 * As ferry_io_open, with flags: 0 or FERRY_IO_TRUST. libhdf5 can crash on a damaged file. Without
 * FERRY_IO_TRUST, a child process (fork, without exec) therefore reads the structure of an HDF5
 * file first; if the child crashes, the file is FERRY_EFORMAT. The child prints nothing, runs no
 * code of the program, and has a time limit. With FERRY_IO_TRUST this process reads the structure
 * directly. The flag does not affect other formats. FERRY_EINVAL for other flags, and the errors of
 * ferry_io_open.
 */
FERRY_API int ferry_io_open_with(const char *path, unsigned flags, ferry_io **out);

/**
 * As ferry_io_open, for a file in memory. The caller keeps the bytes unchanged until
 * ferry_io_close. `name` replaces the path in messages, and its stem names a single unnamed array.
 */
FERRY_API int ferry_io_open_bytes(const void *bytes, size_t size, const char *name, ferry_io **out);

/** Closes the file. Its entries become invalid; blobs read from it stay valid. NULL is accepted. */
FERRY_API void ferry_io_close(ferry_io *io);

/**
 * Whether the contents of the open file are those that were opened, as far as its size and the
 * time of its last change show. A file that was renamed, removed or replaced by another of its name
 * stays readable and is unchanged; one that was overwritten is not. True for bytes in memory; of a
 * file with several parts, only the index is compared. False for NULL. Callable from any thread.
 */
FERRY_API bool ferry_io_is_unchanged(const ferry_io *io);

/** The format of the file; FERRY_IO_UNKNOWN for NULL. */
FERRY_API ferry_io_format ferry_io_get_format(const ferry_io *io);

/** The number of arrays; 0 for NULL. Constant while the file is open. */
FERRY_API int64_t ferry_io_entry_count(const ferry_io *io);

/**
 * Entry `index`, 0 … ferry_io_entry_count − 1, in the file's order. FERRY_EINVAL for an index out
 * of range.
 */
FERRY_API int ferry_io_entry_at(const ferry_io *io, int64_t index, const ferry_io_entry **out);

/**
 * Iterates over the entries in the file's order; *out is NULL after the last. The position belongs
 * to the file: nested loops use ferry_io_entry_at.
 */
FERRY_API int ferry_io_next(ferry_io *io, const ferry_io_entry **out);

/** Resets ferry_io_next to the first entry. */
FERRY_API void ferry_io_rewind(ferry_io *io);

/**
 * Finds the first entry with that name; *out is NULL if there is none, and the result is 0.
 * FERRY_EINVAL for NULL, FERRY_ENOMEM.
 */
FERRY_API int ferry_io_entry_find(ferry_io *io, const char *name, const ferry_io_entry **out);

/** The number of metadata strings of the file; 0 for NULL. Constant while the file is open. */
FERRY_API int64_t ferry_io_metadata_count(const ferry_io *io);

/**
 * Metadata string `index`, 0 … ferry_io_metadata_count − 1: safetensors' __metadata__, a net's
 * name, a solver's iteration. If a caffemodel contains more than the blobs, names and types of its
 * layers, the key "definition" describes what; ferry_proto_open reads it. Key and value are valid
 * until the file is closed. FERRY_EINVAL for an index out of range.
 */
FERRY_API int ferry_io_metadata_at(const ferry_io *io, int64_t index, const char **out_key,
                                   const char **out_value);

/**
 * Reads an entry of this file into a blob: reshapes the blob, writes its data, and its diff if the
 * file has one; otherwise the blob's diff is unchanged. The values are then valid on the host;
 * devices copy them at their next access.
 *
 * If the dtypes differ, values are converted as by ferry_blob_copy_from. If they are equal and the
 * file's bytes can be used directly (.npy, .npz, safetensors), large arrays are adopted: the blob's
 * memory becomes a private mapping of the file, loaded on first access and copied on write. For a
 * .npz the bytes are read once before, for the checksum.
 *
 * Errors: FERRY_EFORMAT for damaged values, FERRY_EIO, FERRY_ENOMEM, FERRY_EINVAL,
 * FERRY_EUNSUPPORTED for an unreadable entry, and those of ferry_blob_reshape. The blob is then as
 * before, but after FERRY_EIO and FERRY_EFORMAT its values are unspecified.
 */
FERRY_API int ferry_io_read(ferry_io *io, const ferry_io_entry *entry, ferry_blob *b);

/**
 * Sets the largest number of bytes that decoding may allocate, for the process: the values of a
 * compressed array that ferry_io_read reads (data and diff, in the file's dtype), and an image of
 * image.h with the memory for decoding it. ferry computes the size from the headers before it
 * allocates memory; a larger size is FERRY_EOVERFLOW. Uncompressed arrays have no limit. 0 sets the
 * default, FERRY_IO_MAX_BYTES. Any thread; applies to every later call.
 */
FERRY_API void ferry_io_set_max_bytes(uint64_t bytes);

/** The limit of ferry_io_set_max_bytes, or the default. Callable from any thread. */
FERRY_API uint64_t ferry_io_max_bytes(void);

/** The default of ferry_io_set_max_bytes: 1 GiB. */
#define FERRY_IO_MAX_BYTES (UINT64_C(1) << 30)

/**
 * Copies elements start … start + count − 1 of an entry's data, in row-major order, to `out`, in
 * the entry's dtype and this machine's byte order. It allows a program to read a large array in
 * pieces.
 *
 * FERRY_EINVAL for a range outside the array, FERRY_EUNSUPPORTED for an unreadable entry,
 * FERRY_EIO, FERRY_ENOMEM, FERRY_EFORMAT for damaged values. The checksum of a stored .npz member
 * is checked when all of it has been read, in one call or in consecutive pieces.
 */
FERRY_API int ferry_io_read_values(ferry_io *io, const ferry_io_entry *entry, int64_t start,
                                   int64_t count, void *out);

/**
 * As ferry_io_read_values, for an entry's diff, in its diff_dtype. FERRY_EINVAL if the entry has no
 * diff.
 */
FERRY_API int ferry_io_read_diff_values(ferry_io *io, const ferry_io_entry *entry, int64_t start,
                                        int64_t count, void *out);

/**
 * Reads an entry whose storage is FERRY_IO_I8_ROWS as it is stored: weights that were quantized
 * (ferry_net_save_integers). Each index of axis 0 has a magnitude; an element is its integer, −127
 * to 127, times magnitude / 127, computed in double and rounded to F32. `integers` gets
 * entry->count integers in row-major order, and `magnitudes` entry->shape[0] of them; either may be
 * NULL. FERRY_EINVAL for another storage, FERRY_EFORMAT for rows that are not rounded so: each has
 * an integer of 127 or −127, or only zeros and the magnitude 0; FERRY_EIO, FERRY_ENOMEM. After a
 * failure the two arrays are unspecified.
 */
FERRY_API int ferry_io_read_integers(ferry_io *io, const ferry_io_entry *entry, int8_t *integers,
                                     float *magnitudes);

FERRY_END_DECLS

#endif
