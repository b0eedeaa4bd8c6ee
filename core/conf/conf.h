/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parsed plugins.conf; see plugins.conf(5). Later files override earlier ones, key by key, and
 * each value records where it was set.
 */
#ifndef FERRY_CORE_CONF_H
#define FERRY_CORE_CONF_H

#include "core/conf/choice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value as it was written, with its origin, "file:line" or "API"; both NULL if none was given. */
struct ferry__value {
    char *text;
    char *origin;
};

/* A key of a plugin's section, or of ferry_runtime_set_option. */
struct ferry__option {
    struct ferry__option *next;
    const char *key; /* the key without "option." */
    const char *value;
    const char *origin; /* "plugins.conf:7", "API" */
};

/* One section [plugin NAME]. */
struct ferry__section {
    struct ferry__section *next; /* in the bytewise order of the names */
    char name[32];
    char *origin; /* where its first line is */
    struct ferry__value library, enabled, pool_limit, budget, validate;
    struct ferry__option *options; /* its keys that begin with "option." */
};

struct ferry__conf {
    struct ferry__value backend, strict;
    struct ferry__value validate; /* [validate] enabled, for plugins whose section lacks the key */
    struct ferry__value layers; /* [layers] library: files, separated by commas */
    struct ferry__section *sections;
};

/* Creates an empty configuration; NULL without memory. ferry__conf_destroy accepts NULL. */
struct ferry__conf *ferry__conf_create(void);
void ferry__conf_destroy(struct ferry__conf *conf);

/*
 * The section of that name; NULL if there is no such section. `make`: creates it, NULL if memory is
 * short.
 */
struct ferry__section *ferry__conf_section(const struct ferry__conf *conf, const char *name);
struct ferry__section *ferry__conf_make_section(struct ferry__conf *conf, const char *name,
                                                const char *origin);

/*
 * Sets a key of a section ("pool_limit", "option.devices") as a file would. FERRY_ECONF with
 * `origin` in the message, FERRY_ENOMEM; the section is then as before.
 */
int ferry__conf_set(struct ferry__section *section, const char *key, const char *value,
                    const char *origin);

/* Handles a section's first line, or a key, of a file; 0 or FERRY_E…. */
int ferry__conf_on_section(struct ferry__conf *conf, const char *words, const char *origin);
int ferry__conf_on_key(struct ferry__conf *conf, const char *words, const char *key,
                       const char *value, const char *origin);

/* The value as a boolean; `otherwise` if it was not set. */
bool ferry__conf_bool(const struct ferry__value *value, bool otherwise);
uint64_t ferry__conf_size(const struct ferry__value *value, uint64_t otherwise);

/* Whether a plugin is enabled, which is the default; `section` may be NULL. */
bool ferry__conf_enabled(const struct ferry__section *section);

#endif
