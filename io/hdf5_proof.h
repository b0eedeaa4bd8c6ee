/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file that is not trusted is first walked by a child process, so that a crash of libhdf5 on
 * damaged headers ends only the child.
 */
#ifndef FERRY_IO_HDF5_PROOF_H
#define FERRY_IO_HDF5_PROOF_H

#include "reader.h"

/*
 * Runs `walk(io)` in a child process; the walk does not need to release its results there. Returns
 * the walk's error, or FERRY_EFORMAT if the child crashed or did not finish. Called between enter
 * and leave.
 */
int ferry__hdf5_prove(struct ferry_io *io, int (*walk)(struct ferry_io *io));

/*
 * Called around operations in which libhdf5 allocates by a length in the file: between them the
 * child's address space is limited to the needs of a file of that size. No effect outside of the
 * child. A failure between them means damage only if this process would not fail for the same
 * limit.
 */
void ferry__hdf5_lean_begin(void);
void ferry__hdf5_lean_end(void);

#endif
