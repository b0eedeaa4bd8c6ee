/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file op_tier.h
 * The tiers that compute operations; op.h describes them. Part of libferrynet.
 */
#ifndef FERRY_OP_TIER_H
#define FERRY_OP_TIER_H

#include <ferry/types.h>

FERRY_BEGIN_DECLS

/**
 * The tier that computes an operation. The worst tier of several operations is the largest value.
 */
typedef enum ferry_operation_tier {
    FERRY_TIER_OWN = 0,
    FERRY_TIER_COMPOSED = 1,
    FERRY_TIER_HOST = 2
} ferry_operation_tier;

/**
 * The name of a tier, "own", "composed" or "host"; "?" for any other value. Static storage, any
 * thread.
 */
FERRY_API const char *ferry_operation_tier_name(ferry_operation_tier tier);

FERRY_END_DECLS

#endif
