/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plugin that is open, as the rest of the core sees it.
 */
#ifndef FERRY_CORE_PLUGIN_H
#define FERRY_CORE_PLUGIN_H

#include "core/conf/conf.h"

#include <ferry/plugin.h>
#include <stdint.h>

/* An opened plugin: the adopted, full-size table, in which every entry may be called. */
struct ferry__plugin {
    char name[32];
    char version[32];
    ferry_plugin_ops ops; /* the plugin's own entries, as far as both sizes reach; plugin_table.c's
                           * defaults for the rest */
    uint64_t given;       /* bits FERRY__GIVEN_…: entries that the plugin itself provides */
    uint64_t pool_limit;  /* bytes, from its section; UINT64_MAX: not set */
    uint64_t budget;      /* bytes, from its section; 0: none */
    /* The plugin's settings and the core's keys, as they were when the plugin was opened. */
    const struct ferry__option *options, *keys;
    struct ferry__plugin *next;
};

/*
 * Groups of optional entries that the core tests as a whole. plugin_table.c sets the bits when it
 * adopts a table.
 */
#define FERRY__GIVEN_EVENTS (UINT64_C(1) << 0)           /* event_record … queue_wait */
#define FERRY__GIVEN_QUEUES (UINT64_C(1) << 1)           /* queue_create, queue_destroy */
#define FERRY__GIVEN_HOST   (UINT64_C(1) << 2)           /* host_alloc, host_free */
#define FERRY__GIVEN_IMPORT (UINT64_C(1) << 3)           /* import_host, unimport_host */
#define FERRY__GIVEN_MAP    (UINT64_C(1) << 4)           /* map, unmap */
#define FERRY__GIVEN_PEER   (UINT64_C(1) << 5)           /* peer_access, peer_copy */
#define FERRY__GIVEN_SETTLE (UINT64_C(1) << 6)           /* queue_synchronize */
#define FERRY__GIVEN_OP(op) (UINT64_C(1) << (16 + (op))) /* the arithmetic entry FERRY_OP_… */

#endif
