/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file version.h
 * The version of these headers. That of the library that is running: ferry_version, status.h. What may
 * change from one to the next is in doc/abi.md.
 */
#ifndef FERRY_VERSION_H
#define FERRY_VERSION_H

#include <ferry/types.h>

FERRY_BEGIN_DECLS

/** The version of these headers: 0.2.0. */
#define FERRY_VERSION_MAJOR 0
#define FERRY_VERSION_MINOR 2
#define FERRY_VERSION_PATCH 0

/** A version as one number, larger for a later one; minor and patch are below 100. The preprocessor can do it. */
#define FERRY_VERSION_OF(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))

/** That number of these headers. */
#define FERRY_VERSION \
    FERRY_VERSION_OF(FERRY_VERSION_MAJOR, FERRY_VERSION_MINOR, FERRY_VERSION_PATCH)

/**
 * That number of the library that is running; less than the program's own FERRY_VERSION: the program
 * was built with newer headers. Any thread.
 */
FERRY_API int ferry_version_number(void);

FERRY_END_DECLS

#endif
