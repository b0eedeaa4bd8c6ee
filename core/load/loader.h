/* SPDX-License-Identifier: BSD-2-Clause */
/* The search for plugins, and the load report. Only ferry__loader_load runs a plugin's code. */
#ifndef FERRY_CORE_LOADER_H
#define FERRY_CORE_LOADER_H

#include "core/conf/conf.h"
#include "core/load/examine.h"

#include <ferry/plugin.h>
#include <ferry/runtime.h>
#include <sys/types.h>

/* The stages after those of examine.h, as the report names them. */
#define FERRY__STAGE_DLOPEN  "dlopen"
#define FERRY__STAGE_OPEN    "open"
#define FERRY__STAGE_DEVICES "devices"

struct ferry__candidate {
    ferry_runtime_candidate_info line; /* the line in the report; the first member, since the
                                        * program gets a pointer to it */
    struct ferry__candidate *next;
    char *real; /* the real path of the file; NULL while it is unknown */
    dev_t dev;
    ino_t ino;
    ferry_plugin_descriptor note;
    /* This candidate is used for its name, whether it can be loaded or not. */
    bool claims;
    bool misnamed; /* the file is named like another plugin, so that it is added later */
    int code;      /* FERRY_E… of the refusal; 0 while the file is not refused */
    bool retry;    /* opening the plugin failed, and may succeed with other options */
    const struct ferry__plugin *plugin; /* set once the plugin is open */
};

/* A string of the report; it lives as long as the search. */
struct ferry__kept;

struct ferry__search {
    struct ferry__candidate *first, **end;
    struct ferry__kept *kept;
    char *folders; /* the folders, "/a, /b", for messages */
    const char *path_last; /* during the search: the folders after plugindir, or NULL */
    struct ferry__self self;
    struct ferry__trust trust;
    struct ferry__permitted permitted;
    bool secure; /* only plugins that the configuration names are opened */
};

/*
 * Searches for plugins: absolute libraries of `conf`, its bare ones, then all files in the folders
 * of FERRY_PLUGIN_PATH, in plugindir, and in those of `path_last`, or, if that is NULL, of
 * FERRY_PLUGIN_PATH_LAST. FERRY_ECONF if a section's file is another plugin,
 * FERRY_ENOMEM.
 */
int ferry__loader_search(const struct ferry__conf *conf, const char *path_last,
                         struct ferry__search **out);
void ferry__loader_destroy(struct ferry__search *search);

/* Creates an empty search, for shared objects that are not plugins; NULL if memory is short. */
struct ferry__search *ferry__loader_start(void);

/*
 * Adds a shared object that is not a plugin, under the rules for plugins; a known one is found
 * again. *out is its line, with its code if it was refused. FERRY_ENOMEM.
 */
int ferry__loader_add(struct ferry__search *search, const char *path, const char *origin,
                      struct ferry__candidate **out);

/*
 * The candidate for that name, usable or not; else the first one that was refused before its name
 * was considered; NULL if no file has that name.
 */
struct ferry__candidate *ferry__loader_find(const struct ferry__search *search, const char *name);

/* Sets the stage of a candidate's line; code 0: not refused. The strings are copied. */
void ferry__loader_report(struct ferry__search *search, struct ferry__candidate *candidate,
                          const char *stage, int code, const char *reason, const char *hint);

/*
 * Loads the file permanently, and finds a symbol in it. 0 or refusal->code; otherwise as
 * ferry__loader_load.
 */
int ferry__loader_symbol(const struct ferry__candidate *candidate, const char *name,
                         const void **out, struct ferry__refusal *refusal);

typedef int ferry__open_fn(const ferry_host *host, const ferry_plugin_ops **out);

/*
 * Loads the file permanently into the process, and finds its entry point. 0 or refusal->code. Takes
 * no lock; runs the plugin's constructors.
 */
int ferry__loader_load(const struct ferry__candidate *candidate, ferry__open_fn **out,
                       struct ferry__refusal *refusal);

#endif
