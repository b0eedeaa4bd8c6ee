/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which files a database consists of: the file CURRENT names the manifest, whose records add and remove tables.
 */
#ifndef FERRY_NET_DATA_LEVELDB_MANIFEST_H
#define FERRY_NET_DATA_LEVELDB_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

/* Tables of level 0 may overlap; those of a higher level follow one another. */
struct ferry__leveldb_tables {
    uint64_t *numbers; /* of the files, by their levels, in the order of their smallest keys */
    size_t *begins;    /* where each of the `sources` runs of tables begins; one more, the end */
    size_t sources;
};

struct ferry__leveldb_manifest {
    struct ferry__leveldb_tables tables;
    uint64_t first_log; /* logs from this number on count, and the log `other_log` */
    uint64_t other_log;
};

/* FERRY_EFORMAT for what is damaged, FERRY_EUNSUPPORTED for keys in an order of the program's own. */
int ferry__leveldb_manifest_read(const char *folder, struct ferry__leveldb_manifest *out);

/* Accepts one that is zero. */
void ferry__leveldb_manifest_free(struct ferry__leveldb_manifest *manifest);

#endif
