/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process-wide set of opened plugins. A plugin, once open, stays for the life of the process;
 * its devices come and go.
 */
#ifndef FERRY_CORE_REGISTRY_H
#define FERRY_CORE_REGISTRY_H

#include "core/conf/conf.h"

#include <ferry/device.h>
#include <ferry/plugin.h>
#include <stdbool.h>

/* What a plugin was told, as it stood when it was opened. */
struct ferry__settings {
    const struct ferry__option *options;
    const struct ferry__option *keys; /* pool_limit, budget, where they were said */
    uint64_t pool_limit;              /* bytes that its pools may cache; UINT64_MAX: not said */
    uint64_t budget;                  /* bytes; 0: none */
    /* Of an open that failed: the plugin may have kept a string. */
    struct ferry__settings *former;
};

/* An opened plugin: the adopted, full-size table, in which every entry may be called. */
struct ferry__plugin {
    char name[32];
    char version[32];
    ferry_plugin_ops
        ops;        /* min(sizes) of the plugin's own; the rest are fallback.c's typed defaults */
    uint64_t given; /* bit FERRY__GIVEN_…: what the plugin itself brought */
    uint64_t pool_limit; /* bytes; core keys of its section. UINT64_MAX: not said */
    uint64_t budget;     /* bytes; 0: none */
    /* As they stood when it was opened: its own, and the core's keys. */
    const struct ferry__option *options, *keys;
    struct ferry__plugin *next;
};

struct ferry__candidate;
struct ferry__refusal;

/*
 * Opens a candidate's plugin, unless it is open already, and counts its devices; the caller holds
 * no lock. `settings` go over to the registry and are kept for good, or freed where the plugin is
 * open already. 0, or refusal->code with the stage at which it stopped.
 */
int ferry__registry_open(const struct ferry__candidate *candidate, struct ferry__settings *settings,
                         const struct ferry__plugin **out, const char **out_stage,
                         struct ferry__refusal *refusal);
void ferry__settings_destroy(struct ferry__settings *settings);

/* Whether the plugin of that file is open, or being opened. */
bool ferry__registry_is_open(const struct ferry__candidate *candidate);

/* How many devices it counted when it was opened. */
uint32_t ferry__registry_count(const struct ferry__plugin *plugin);

/*
 * The device of that index: the one that is alive, or a new one. *out is one reference, the
 * caller's. Devices that treat fallbacks as errors are distinct from those that do not.
 */
int ferry__registry_device(const struct ferry__plugin *plugin, uint32_t index, bool strict,
                           ferry_device **out);

/* The last reference of a device is gone: nobody is to find it any more. */
void ferry__registry_forget(const ferry_device *dev);

/*
 * Groups of optional entries that the core asks about as a whole; set by fallback.c when it adopts
 * a table.
 */
#define FERRY__GIVEN_EVENTS (UINT64_C(1) << 0)           /* event_record … queue_wait */
#define FERRY__GIVEN_QUEUES (UINT64_C(1) << 1)           /* queue_create, queue_destroy */
#define FERRY__GIVEN_HOST   (UINT64_C(1) << 2)           /* host_alloc, host_free */
#define FERRY__GIVEN_IMPORT (UINT64_C(1) << 3)           /* import_host, unimport_host */
#define FERRY__GIVEN_MAP    (UINT64_C(1) << 4)           /* map, unmap */
#define FERRY__GIVEN_PEER   (UINT64_C(1) << 5)           /* peer_access, peer_copy */
#define FERRY__GIVEN_SETTLE (UINT64_C(1) << 6)           /* queue_synchronize */
#define FERRY__GIVEN_OP(op) (UINT64_C(1) << (16 + (op))) /* arithmetic entry FERRY_OP_… */

/*
 * Value of `option.<key>` for that plugin: API over environment over files. NULL if none. Lives as
 * long as the process.
 */
const char *ferry__plugin_option(const struct ferry__plugin *plugin, const char *key);

#endif
