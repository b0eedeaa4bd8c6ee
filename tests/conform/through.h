/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_CONFORM_THROUGH_H
#define FERRY_CONFORM_THROUGH_H

#include <ferry/ferry.h>

/* libferry, configured to use only the file under test, for groups that test through it. */

/* A runtime whose configuration names the file and sets its options. */
ferry_runtime *through_open(void);
/* The file's line of the load report. */
const ferry_runtime_candidate_info *through_candidate(ferry_runtime *rt);
/* The device under test; ends the group if it cannot be opened. */
ferry_device *through_device(ferry_runtime *rt);

#endif
