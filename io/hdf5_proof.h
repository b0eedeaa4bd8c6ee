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

#endif
