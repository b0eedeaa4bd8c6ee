/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layer types that there are.
 */
#ifndef FERRY_NET_MODEL_TYPES_H
#define FERRY_NET_MODEL_TYPES_H

#include <ferry/layer.h>
#include <stdbool.h>

/* 1 if some type's own messages have that name; for ferry_proto_options.claims. */
int ferry__types_claim(void *arg, const char *message);

/* The type whose name is nearest, within three edits; NULL if none is. */
const char *ferry__types_nearest(const char *name);

/* Who has a type that ferry has not; NULL: nobody known. */
const char *ferry__types_fork(const char *name);

#endif
