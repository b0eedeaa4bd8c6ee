/* SPDX-License-Identifier: BSD-2-Clause */
/* The registered layer types. */
#ifndef FERRY_NET_MODEL_TYPES_H
#define FERRY_NET_MODEL_TYPES_H

#include <ferry/layer.h>
#include <stdbool.h>

/*
 * Whether a type's own message has that name; has the type of ferry_proto_options.claims. Returns 1
 * or 0.
 */
int ferry__types_claim(void *arg, const char *message);

/* The most similar type name, at an edit distance of at most three; NULL if there is none. */
const char *ferry__types_nearest(const char *name);

/* The origin of a type that ferry does not implement; NULL: unknown. */
const char *ferry__types_fork(const char *name);

#endif
