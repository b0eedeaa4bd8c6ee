/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_CONFORM_THROUGH_H
#define FERRY_CONFORM_THROUGH_H

#include <ferry/ferry.h>

/* libferry, told to use the file under test and nothing else. The groups that look from above. */

/* A runtime whose configuration names the file; options are set. */
ferry_runtime *through_open(void);
/* The file's line of the load report. */
const ferry_runtime_candidate_info *through_candidate(ferry_runtime *rt);
/* The device under test, or the group ends. */
ferry_device *through_device(ferry_runtime *rt);

#endif
