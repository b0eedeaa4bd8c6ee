/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file version.h
 * The version of these headers. ferry_version in status.h is the version of the running library.
 * doc/abi.md lists the changes that each kind of release may contain.
 */
#ifndef FERRY_VERSION_H
#define FERRY_VERSION_H

#include <ferry/types.h>

FERRY_BEGIN_DECLS

/** The version of these headers: 1.0.0. */
#define FERRY_VERSION_MAJOR 1
#define FERRY_VERSION_MINOR 0
#define FERRY_VERSION_PATCH 0

/**
 * A version as one integer, larger for a later version; minor and patch are below 100. Usable in
 * preprocessor conditions.
 */
#define FERRY_VERSION_OF(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))

/** FERRY_VERSION_OF of these headers. */
#define FERRY_VERSION \
    FERRY_VERSION_OF(FERRY_VERSION_MAJOR, FERRY_VERSION_MINOR, FERRY_VERSION_PATCH)

/**
 * FERRY_VERSION_OF of the running library. A value below FERRY_VERSION means that the program was
 * compiled with newer headers. Callable from any thread.
 */
FERRY_API int ferry_version_number(void);

FERRY_END_DECLS

#endif
