/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file blob.h
 * The blob: an N-dimensional array, row-major, with data and diff. (Caffe: Blob.)
 *
 * A blob has a shape, an element type and a home device, and up to two memories (memory.h): data
 * and, from its first use on, diff. Dims and counts are int64_t elements; at most FERRY_MAX_AXES
 * axes; every overflow is detected. Accessors have the rules of memory.h for validity, threads and
 * failure. Distinct blobs may be used from distinct threads, and one blob may be read from several;
 * the caller serialises writes, reshapes and moves. A call that fails leaves the blob as it was.
 * For a NULL blob a function returns FERRY_EINVAL, or NULL or 0 if it returns no code.
 */
#ifndef FERRY_BLOB_H
#define FERRY_BLOB_H

#include <ferry/memory.h>
#include <stdbool.h>

FERRY_BEGIN_DECLS

/** An array of data and diff. Opaque; retains its home and its memories. */
typedef struct ferry_blob ferry_blob;

/** The most axes a blob may have. */
#define FERRY_MAX_AXES 32

/**
 * Passed instead of a number of axes: the blob gets no shape, with 0 axes and count 0. (0 axes make
 * a scalar of count 1.)
 */
#define FERRY_UNSHAPED (-1)

/** A flag of ferry_blob_copy_from: copy diff instead of data. */
#define FERRY_COPY_DIFF 1u
/** A flag of ferry_blob_copy_from: reshape to the source's shape first, instead of requiring it. */
#define FERRY_COPY_RESHAPE 2u

/** The size of an element in bytes; 0 for a value that is not a dtype. */
FERRY_API size_t ferry_dtype_size(ferry_dtype t);
/** The name, "F32", "BF16" …, in static storage; "?" for a value that is not a dtype. */
FERRY_API const char *ferry_dtype_name(ferry_dtype t);

/**
 * Creates a blob of `rank` dims (FERRY_UNSHAPED: as Caffe's Blob()) whose home is `home`. No
 * storage is allocated before first use. The caller destroys it. Errors: FERRY_EINVAL (home, dtype,
 * a negative dim, rank beyond FERRY_MAX_AXES), FERRY_EOVERFLOW, FERRY_ENOMEM, the error of opening
 * the device; *out is then unchanged.
 */
FERRY_API int ferry_blob_create(ferry_device *home, ferry_dtype dtype, const int64_t *shape,
                                int rank, ferry_blob **out);

/**
 * Destroys the blob; memories that others share live on. Waits for pending work on the others. NULL
 * is accepted.
 */
FERRY_API void ferry_blob_destroy(ferry_blob *b);

/**
 * Changes the shape. Within the capacity, contents and pointers stay. If a blob shrinks and grows
 * again, the old values past the smaller size are kept as long as a valid copy contains them.
 * Copies that are made while the blob is small do not contain them. If a write or an eviction
 * leaves only such copies valid, the old values read as zeros: for example after a write on the
 * device, if only the host's copy contained them, even if both are one memory. (Caffe copies the
 * capacity each time, and keeps them.) If the copy that contained them failed, or its device was
 * lost, reading the grown blob is FERRY_ELOST until the blob is written or small again. Growing
 * waits for a pending copy that contains them, if the other copies do not. If data or diff is too
 * small, memory that reads as zeros replaces it, and *out_grew (may be NULL) says whether one was
 * replaced. Errors: FERRY_EINVAL, FERRY_EOVERFLOW for any order of zero dims, FERRY_ENOMEM,
 * FERRY_ESHAPE for a slice that would leave its range; the blob, and *out_grew, are then as before.
 */
FERRY_API int ferry_blob_reshape(ferry_blob *b, const int64_t *shape, int rank, bool *out_grew);
/** As ferry_blob_reshape, to (n, c, h, w). */
FERRY_API int ferry_blob_reshape4(ferry_blob *b, int64_t n, int64_t c, int64_t h, int64_t w);
/** As ferry_blob_reshape, to the shape of `other`. */
FERRY_API int ferry_blob_reshape_like(ferry_blob *b, const ferry_blob *other);

/** The number of axes; 0 for a scalar and for a blob without a shape. */
FERRY_API int ferry_blob_rank(const ferry_blob *b);
/** The dim of an axis, −rank … rank − 1; FERRY_EINVAL for another axis. */
FERRY_API int64_t ferry_blob_dim(const ferry_blob *b, int axis);
/** The dims, ferry_blob_rank of them, borrowed until the next reshape. */
FERRY_API const int64_t *ferry_blob_shape(const ferry_blob *b);
/** The number of elements, which is the product of the dims; 1 for a scalar, 0 without a shape. */
FERRY_API int64_t ferry_blob_element_count(const ferry_blob *b);
/**
 * The product of the dims of axes start … end − 1; 1 for an empty range. FERRY_EINVAL unless 0 ≤
 * start ≤ end ≤ rank.
 */
FERRY_API int64_t ferry_blob_element_count_range(const ferry_blob *b, int start, int end);
/**
 * The number of elements that a reshape can reach without replacing the data's memory: those of the
 * largest shape since that memory was made. After a shape that was too large for the device it is
 * smaller: the elements for which the valid copies have storage.
 */
FERRY_API int64_t ferry_blob_capacity(const ferry_blob *b);
/** Converts an axis −rank … rank − 1 to 0 … rank − 1; FERRY_EINVAL for another axis. */
FERRY_API int ferry_blob_canonical_axis(const ferry_blob *b, int axis);
/**
 * Writes the shape as "2 3 (6)": dims, then the count; "(1)" for a scalar. Returns 0;
 * FERRY_EOVERFLOW if `size` is too small.
 */
FERRY_API int ferry_blob_shape_string(const ferry_blob *b, char *buf, size_t size);
/**
 * The offset in elements of `n` indices; missing trailing indices are 0. FERRY_EINVAL unless each
 * index is inside its dim.
 */
FERRY_API int64_t ferry_blob_offset(const ferry_blob *b, const int64_t *index, int n);
/**
 * The offset in elements as Caffe computes it: ((n·C + c)·H + h)·W + w; each index may be one past
 * its end. At most 4 axes.
 */
FERRY_API int64_t ferry_blob_offset4(const ferry_blob *b, int64_t n, int64_t c, int64_t h,
                                     int64_t w);
/**
 * Caffe's LegacyShape: axis −4 … 3 of a blob of at most 4 axes; a missing axis has dim 1.
 * FERRY_EINVAL otherwise.
 */
FERRY_API int64_t ferry_blob_legacy_dim(const ferry_blob *b, int axis);
/** ferry_blob_legacy_dim(b, 0). */
FERRY_API int64_t ferry_blob_num(const ferry_blob *b);
/** ferry_blob_legacy_dim(b, 1). */
FERRY_API int64_t ferry_blob_channels(const ferry_blob *b);
/** ferry_blob_legacy_dim(b, 2). */
FERRY_API int64_t ferry_blob_height(const ferry_blob *b);
/** ferry_blob_legacy_dim(b, 3). */
FERRY_API int64_t ferry_blob_width(const ferry_blob *b);

/** The element type; FERRY_F32 for NULL. */
FERRY_API ferry_dtype ferry_blob_dtype(const ferry_blob *b);
/** The home device, borrowed. */
FERRY_API ferry_device *ferry_blob_home(const ferry_blob *b);
/** Names the blob for traces and logs; the string is copied. NULL or "" takes the name away. */
FERRY_API int ferry_blob_set_name(ferry_blob *b, const char *name);
/** The name, borrowed until the next ferry_blob_set_name; "" if it has none. */
FERRY_API const char *ferry_blob_name(const ferry_blob *b);

/** The half of a blob, for ferry_blob_access. */
#define FERRY_DATA 0u
#define FERRY_DIFF 1u

/**
 * The primitive under all accessors: data or diff (`which`) at `where` (NULL: the host), for
 * `access` (FERRY_READ, FERRY_WRITE or both; FERRY_NOWAIT), ordered on `q`, as ferry_memory_access.
 *
 * *out is the location of the blob's first element, also for a slice; it is {pointer, 0} for the
 * host. FERRY_WRITE alone counts as FERRY_READ|FERRY_WRITE for a slice that does not cover its
 * memory. `where` may be any device, not only the home. The returned code belongs to this call,
 * whereas the accessors below return a NULL reference and leave the code in the thread's latest
 * failure. Errors: FERRY_EINVAL, and those of ferry_memory_access; *out is then untouched.
 */
FERRY_API int ferry_blob_access(ferry_blob *b, unsigned which, ferry_device *where, unsigned access,
                                ferry_queue *q, ferry_ref *out);

/*
 * Accessors: short forms of ferry_blob_access, for the host, and for the home device on its default
 * queue. Each behaves like the function of memory.h with the same name. For a blob of count 0, or
 * without a shape, they return valid pointers that refer to no element. On failure they return
 * NULL, or a NULL handle.
 */
/** Data on the host, to read. [cpu_data] */
FERRY_API const void *ferry_blob_host_data(const ferry_blob *b);
/** Data on the host, to read and write. [mutable_cpu_data] */
FERRY_API void *ferry_blob_mutable_host_data(ferry_blob *b);
/** Data on the host, to write whole. */
FERRY_API void *ferry_blob_overwrite_host_data(ferry_blob *b);
/** Data on the home device, to read. [gpu_data] */
FERRY_API ferry_cref ferry_blob_device_data(const ferry_blob *b);
/** Data on the home device, to read and write. [mutable_gpu_data] */
FERRY_API ferry_ref ferry_blob_mutable_device_data(ferry_blob *b);
/** Data on the home device, to write whole. */
FERRY_API ferry_ref ferry_blob_overwrite_device_data(ferry_blob *b);
/** Diff on the host, to read. [cpu_diff] */
FERRY_API const void *ferry_blob_host_diff(const ferry_blob *b);
/** Diff on the host, to read and write. [mutable_cpu_diff] */
FERRY_API void *ferry_blob_mutable_host_diff(ferry_blob *b);
/** Diff on the host, to write whole. */
FERRY_API void *ferry_blob_overwrite_host_diff(ferry_blob *b);
/** Diff on the home device, to read. [gpu_diff] */
FERRY_API ferry_cref ferry_blob_device_diff(const ferry_blob *b);
/** Diff on the home device, to read and write. [mutable_gpu_diff] */
FERRY_API ferry_ref ferry_blob_mutable_device_diff(ferry_blob *b);
/** Diff on the home device, to write whole. */
FERRY_API ferry_ref ferry_blob_overwrite_device_diff(ferry_blob *b);

/**
 * The memory of data, borrowed until a growing reshape, share or destroy; NULL, with the reason
 * recorded, on failure.
 */
FERRY_API ferry_memory *ferry_blob_data_memory(const ferry_blob *b);
/** The memory of diff, as ferry_blob_data_memory. */
FERRY_API ferry_memory *ferry_blob_diff_memory(const ferry_blob *b);

/**
 * The dims as int32 on the home device, to read; FERRY_EOVERFLOW if a dim does not fit. Valid until
 * the next reshape. [gpu_shape]
 */
FERRY_API ferry_cref ferry_blob_device_shape(const ferry_blob *b);

/** One element of data as a double, copied to the host; indices as for ferry_blob_offset. */
FERRY_API int ferry_blob_data_at(const ferry_blob *b, const int64_t *index, int n, double *out);
/** One element of diff, as ferry_blob_data_at. */
FERRY_API int ferry_blob_diff_at(const ferry_blob *b, const int64_t *index, int n, double *out);
/**
 * Sets every element of data, at the place of its newest copy (the home if it was never written).
 * FERRY_EOVERFLOW for a value out of the range of an integer dtype.
 */
FERRY_API int ferry_blob_fill_data(ferry_blob *b, double value);
/** Sets every element of diff, as ferry_blob_fill_data. */
FERRY_API int ferry_blob_fill_diff(ferry_blob *b, double value);

/**
 * Computes data −= diff at the place of data's newest copy: on the host if only the host's copy is
 * valid, else on a device. A diff that was never written counts as zeros. FERRY_EUNINIT if data was
 * never written; FERRY_EUNSUPPORTED for integers. [Update]
 */
FERRY_API int ferry_blob_update(ferry_blob *b);
/**
 * The sum of absolute values of data, computed at the place of its newest copy; 0 if it was never
 * written. Blocks until the result is complete. [asum_data]
 */
FERRY_API int ferry_blob_asum_data(const ferry_blob *b, double *out);
/** The sum of absolute values of diff, as ferry_blob_asum_data. [asum_diff] */
FERRY_API int ferry_blob_asum_diff(const ferry_blob *b, double *out);
/** The sum of squares of data, as ferry_blob_asum_data. [sumsq_data] */
FERRY_API int ferry_blob_sumsq_data(const ferry_blob *b, double *out);
/** The sum of squares of diff, as ferry_blob_asum_data. [sumsq_diff] */
FERRY_API int ferry_blob_sumsq_diff(const ferry_blob *b, double *out);
/**
 * Multiplies data by factor at the place of its newest copy; does nothing if data was never
 * written. [scale_data]
 */
FERRY_API int ferry_blob_scale_data(ferry_blob *b, double factor);
/** Multiplies diff by factor, as ferry_blob_scale_data. [scale_diff] */
FERRY_API int ferry_blob_scale_diff(ferry_blob *b, double factor);

/**
 * Copies data from `source` (with FERRY_COPY_DIFF: diff instead). If the dtypes differ, values are
 * rounded to nearest even; integers saturate, and NaN becomes 0. Shapes must be equal
 * (FERRY_ESHAPE) unless FERRY_COPY_RESHAPE is set. The copy runs on the device that has the
 * source's newest copy, if that is this blob's home too, and on the host otherwise. A source that
 * was never written reads as zeros. [CopyFrom]
 */
FERRY_API int ferry_blob_copy_from(ferry_blob *b, const ferry_blob *source, unsigned flags);

/**
 * Makes b use the other blob's data memory instead of its own; counts and dtypes must be equal
 * (FERRY_ESHAPE). From then on each blob sees the writes and adoptions of the other, until one of
 * them grows. A blob has one home, so b moves to the other's home, data and diff, as by
 * ferry_blob_move_to. The rules for threads apply to both as to one memory: while one of them is
 * written, reshaped or moved, no other thread may use either. FERRY_ENOMEM, or the error of the
 * move; b is then as before. [ShareData]
 */
FERRY_API int ferry_blob_share_data(ferry_blob *b, const ferry_blob *other);
/** Makes b use the other blob's diff memory, as ferry_blob_share_data. [ShareDiff] */
FERRY_API int ferry_blob_share_diff(ferry_blob *b, const ferry_blob *other);

/** Whether the dims are equal; a blob without a shape equals only another blob without a shape. */
FERRY_API bool ferry_blob_shape_equals(const ferry_blob *a, const ferry_blob *b);

/**
 * Moves the home, of data and diff alike. Nothing is copied now; the next access copies the bytes
 * that it needs. Sharers and slices of the data move along with its memory, and their diff has the
 * new home too from then on, even if it is shared with other blobs; blobs that share only the diff
 * keep their home.
 */
FERRY_API int ferry_blob_move_to(ferry_blob *b, ferry_device *device);

/**
 * Creates a blob of `count` items of the parent's axis 0 from `start` on, which shares the parent's
 * data and diff memories at an offset.
 *
 * It keeps those memories alive after the parent is destroyed. If the parent grows, its slices keep
 * the old memory. It may be reshaped within its range and cannot adopt. The caller destroys it.
 * FERRY_EINVAL for a range outside axis 0 or a scalar.
 */
FERRY_API int ferry_blob_slice(const ferry_blob *parent, int64_t start, int64_t count,
                               ferry_blob **out);

FERRY_END_DECLS

#endif
