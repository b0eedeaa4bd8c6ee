/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files of a database: the file CURRENT names the manifest, whose records add and remove
 * tables.
 */
#ifndef FERRY_NET_DATA_LEVELDB_MANIFEST_H
#define FERRY_NET_DATA_LEVELDB_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

/* Tables of level 0 may overlap; those of a higher level do not. */
struct ferry__leveldb_tables {
    uint64_t *numbers; /* the numbers of the files, sorted by level and by smallest key */
    size_t *begins;    /* the index at which each of the `sources` runs of tables begins,
                        * followed by the end */
    size_t sources;
};

struct ferry__leveldb_manifest {
    struct ferry__leveldb_tables tables;
    uint64_t first_log; /* logs with this number or a higher one are live, and the log
                         * `other_log` */
    uint64_t other_log;
};

/*
 * Reads the manifest. FERRY_EFORMAT for damage, FERRY_EUNSUPPORTED for keys in an order defined by
 * the program.
 */
int ferry__leveldb_manifest_read(const char *folder, struct ferry__leveldb_manifest *out);

/* A zeroed structure is accepted. */
void ferry__leveldb_manifest_free(struct ferry__leveldb_manifest *manifest);

#endif
