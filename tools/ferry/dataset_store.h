/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_DATASET_STORE_H
#define FERRY_TOOL_DATASET_STORE_H

#include <stddef.h>

/*
 * The databases that `ferry dataset` writes, one file each. A failure is a ferry error that names
 * `folder`, the name that the user gave; the functions of a database that ferry was built without
 * return FERRY_EUNSUPPORTED.
 */
struct dataset_backend {
    const char *name; /* the value of --backend */

    /* Creates a database in `fresh`, an empty folder. `folder` must live until close. */
    int (*open)(const char *fresh, const char *folder, void **out);

    /* Adds a record. Keys must be in ascending order. */
    int (*put)(void *store, const char *key, const void *record, size_t size);

    /* Writes the added records to the disk; called once, before close. */
    int (*sync)(void *store);

    /* Closes the database. Records that sync did not write may be lost. */
    void (*close)(void *store);
};

extern const struct dataset_backend dataset_lmdb, dataset_leveldb;

#endif
