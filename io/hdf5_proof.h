/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file that nobody vouches for is first walked by a child of this process, so that what libhdf5
 * makes of damaged headers ends the child.
 */
#ifndef FERRY_IO_HDF5_PROOF_H
#define FERRY_IO_HDF5_PROOF_H

#include "reader.h"

/*
 * Lets a child do `walk(io)`, which must not be undone there. Its error, or FERRY_EFORMAT where it
 * crashed or did not come to an end. Inside enter and leave.
 */
int ferry__hdf5_prove(struct ferry_io *io, int (*walk)(struct ferry_io *io));

/*
 * Around what libhdf5 reads by a length that stands in the file: in between the child gets no more
 * memory than a file of that size can need. Nothing at all where no child runs. What fails in
 * between is damage, as this process would not be held back.
 */
void ferry__hdf5_lean_begin(void);
void ferry__hdf5_lean_end(void);

#endif
