/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source and the alignment of large blocks of host memory; for the plugins that allocate them.
 */
#ifndef FERRY_COMMON_BLOCKS_H
#define FERRY_COMMON_BLOCKS_H

#include <stdint.h>

/* Blocks of this size and above are fresh pages of the system, which are zero before any write. */
#define FERRY__BLOCK_PAGES (UINT64_C(1) << 20)

/*
 * Blocks of this size and above start at rotating offsets in their pages: at equal offsets a
 * processor would mistake reads of one block for the addresses of recent writes to another (4K
 * aliasing). Block n starts at n % FERRY__BLOCK_PLACES steps of about FERRY__BLOCK_STEP bytes, nine
 * cache lines.
 */
#define FERRY__BLOCK_SPREAD (UINT64_C(1) << 17)
#define FERRY__BLOCK_PLACES 7u
#define FERRY__BLOCK_STEP   UINT64_C(576)

#endif
