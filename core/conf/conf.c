/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/conf/conf.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/base/text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTION        "option."
#define OPTION_LENGTH (sizeof(OPTION) - 1)

static int no_memory(void)
{
    return ferry__error(FERRY_ENOMEM, "plugins.conf: no memory for it");
}

/* ---- values --------------------------------------------------------------------------------- */

static void value_clear(struct ferry__value *value)
{
    free(value->text);
    free(value->origin);
    *value = (struct ferry__value){ 0 };
}

static int value_set(struct ferry__value *value, const char *text, const char *origin)
{
    struct ferry__value fresh = { strdup(text), strdup(origin) };

    if (!fresh.text || !fresh.origin) {
        value_clear(&fresh);
        return no_memory();
    }
    value_clear(value);
    *value = fresh;
    return 0;
}

static void option_destroy(struct ferry__option *option)
{
    free((char *)option->key);
    free((char *)option->value);
    free((char *)option->origin);
    free(option);
}

static struct ferry__option *option_create(const char *key, const char *value, const char *origin)
{
    struct ferry__option *option = calloc(1, sizeof(*option));

    if (!option)
        return NULL;
    option->key = strdup(key);
    option->value = strdup(value);
    option->origin = strdup(origin);
    if (option->key && option->value && option->origin)
        return option;
    option_destroy(option);
    return NULL;
}

static int option_set(struct ferry__section *section, const char *key, const char *value,
                      const char *origin)
{
    struct ferry__option **place = &section->options;
    struct ferry__option *fresh = option_create(key, value, origin);
    struct ferry__option *old;

    if (!fresh)
        return no_memory();
    while (*place && strcmp((*place)->key, key) != 0)
        place = &(*place)->next;
    old = *place;
    fresh->next = old ? old->next : NULL;
    *place = fresh;
    if (old)
        option_destroy(old);
    return 0;
}

/* ---- sections ------------------------------------------------------------------------------- */

struct ferry__conf *ferry__conf_create(void)
{
    struct ferry__conf *conf = calloc(1, sizeof(*conf));

    if (!conf)
        no_memory();
    return conf;
}

void ferry__conf_destroy(struct ferry__conf *conf)
{
    if (!conf)
        return;
    value_clear(&conf->backend);
    value_clear(&conf->strict);
    value_clear(&conf->validate);
    value_clear(&conf->layers);
    while (conf->sections) {
        struct ferry__section *section = conf->sections;

        conf->sections = section->next;
        while (section->options) {
            struct ferry__option *option = section->options;

            section->options = option->next;
            option_destroy(option);
        }
        value_clear(&section->library);
        value_clear(&section->enabled);
        value_clear(&section->pool_limit);
        value_clear(&section->validate);
        value_clear(&section->budget);
        free(section->origin);
        free(section);
    }
    free(conf);
}

struct ferry__section *ferry__conf_section(const struct ferry__conf *conf, const char *name)
{
    struct ferry__section *section = conf->sections;

    while (section && strcmp(section->name, name) != 0)
        section = section->next;
    return section;
}

struct ferry__section *ferry__conf_make_section(struct ferry__conf *conf, const char *name,
                                                const char *origin)
{
    struct ferry__section **place = &conf->sections;
    struct ferry__section *section;

    while (*place && strcmp((*place)->name, name) < 0)
        place = &(*place)->next;
    if (*place && strcmp((*place)->name, name) == 0)
        return *place;
    section = calloc(1, sizeof(*section));
    if (section)
        section->origin = strdup(origin);
    if (!section || !section->origin) {
        free(section);
        no_memory();
        return NULL;
    }
    snprintf(section->name, sizeof(section->name), "%s", name);
    section->next = *place;
    *place = section;
    return section;
}

bool ferry__conf_bool(const struct ferry__value *value, bool otherwise)
{
    bool is = otherwise;

    if (value->text)
        ferry__text_bool(value->text, &is);
    return is;
}

bool ferry__conf_enabled(const struct ferry__section *section)
{
    return !section || ferry__conf_bool(&section->enabled, true);
}

uint64_t ferry__conf_size(const struct ferry__value *value, uint64_t otherwise)
{
    uint64_t size = otherwise;

    if (value->text)
        ferry__text_size(value->text, &size);
    return size;
}

/* ---- keys ----------------------------------------------------------------------------------- */

static void warn_unknown(const char *origin, const char *what, const char *word,
                         const char *const *known, size_t count)
{
    const char *nearest = ferry__text_nearest(word, known, count);

    if (nearest)
        ferry__log(FERRY_LOG_WARN, "%s: %s \"%s\" is not known; did you mean \"%s\"?", origin, what,
                   word, nearest);
    else
        ferry__log(FERRY_LOG_WARN, "%s: %s \"%s\" is not known", origin, what, word);
}

static int check_library(const char *value, const char *origin)
{
    size_t length = strlen(value);

    if (length == 0 || length >= PATH_MAX)
        return ferry__error(FERRY_ECONF, "%s: library: %s", origin,
                            length ? "the path is too long" : "a file's name is missing");
    if (value[0] != '/' && strchr(value, '/'))
        return ferry__error(FERRY_ECONF,
                            "%s: library = %s: neither a bare file name nor an absolute path",
                            origin, value);
    return 0;
}

static int check_size(const char *key, const char *value, const char *origin)
{
    uint64_t size;

    if (ferry__text_size(value, &size))
        return 0;
    return ferry__error(FERRY_ECONF, "%s: %s = %s: not a size (as in 4096, 512MiB, 4GiB)", origin,
                        key, value);
}

static int check_bool(const char *key, const char *value, const char *origin)
{
    bool is;

    if (ferry__text_bool(value, &is))
        return 0;
    return ferry__error(FERRY_ECONF, "%s: %s = %s: neither yes nor no", origin, key, value);
}

int ferry__conf_set(struct ferry__section *section, const char *key, const char *value,
                    const char *origin)
{
    static const char *const known[] = { "library", "enabled",  "pool_limit",
                                         "budget",  "validate", "option." };
    struct ferry__value *place;
    int err;

    if (strncmp(key, OPTION, OPTION_LENGTH) == 0 && key[OPTION_LENGTH])
        return option_set(section, key + OPTION_LENGTH, value, origin);
    if (strcmp(key, "library") == 0) {
        err = check_library(value, origin);
        place = &section->library;
    } else if (strcmp(key, "enabled") == 0) {
        err = check_bool(key, value, origin);
        place = &section->enabled;
    } else if (strcmp(key, "pool_limit") == 0) {
        err = check_size(key, value, origin);
        place = &section->pool_limit;
    } else if (strcmp(key, "budget") == 0) {
        err = check_size(key, value, origin);
        place = &section->budget;
    } else if (strcmp(key, "validate") == 0) {
        err = check_bool(key, value, origin);
        place = &section->validate;
    } else {
        warn_unknown(origin, "key", key, known, sizeof(known) / sizeof(known[0]));
        return 0;
    }
    return err ? err : value_set(place, value, origin);
}

static int set_backend(struct ferry__conf *conf, const char *value, const char *origin)
{
    struct ferry__choice choice;
    char why[128];

    if (ferry__choice_parse(value, &choice, why))
        return ferry__error(FERRY_ECONF, "%s: backend = %s: %s", origin, value, why);
    return value_set(&conf->backend, value, origin);
}

static int set_validate(struct ferry__conf *conf, const char *value, const char *origin)
{
    int err = check_bool("enabled", value, origin);

    return err ? err : value_set(&conf->validate, value, origin);
}

static int set_strict(struct ferry__conf *conf, const char *value, const char *origin)
{
    int err = check_bool("strict", value, origin);

    return err ? err : value_set(&conf->strict, value, origin);
}

/* Accepts only absolute paths, since bare names are defined for plugins' folders only. */
static int set_layers(struct ferry__conf *conf, const char *value, const char *origin)
{
    const char *at = value;

    for (;;) {
        at += strspn(at, " \t");
        if (*at != '/')
            return ferry__error(FERRY_ECONF,
                                "%s: library = %s: absolute paths, with commas between "
                                "them",
                                origin, value);
        at += strcspn(at, ",");
        if (!*at++)
            return value_set(&conf->layers, value, origin);
    }
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* Parses a section such as "[plugin cuda]": a blank separates the two words. */
static int on_plugin_section(struct ferry__conf *conf, const char *words, const char *origin)
{
    const char *name = words + strlen("plugin");

    name += strspn(name, " \t");
    if (!ferry__text_is_name(name, strlen(name)))
        return ferry__error(FERRY_ECONF,
                            "%s: [%s]: \"%s\" is not a plugin's name (as in "
                            "[plugin cuda])",
                            origin, words, name);
    return ferry__conf_make_section(conf, name, origin) ? 0 : FERRY_ENOMEM;
}

static bool is_plugin_section(const char *words)
{
    size_t length = strlen("plugin");

    return strncmp(words, "plugin", length) == 0 &&
           (words[length] == '\0' || words[length] == ' ' || words[length] == '\t');
}

int ferry__conf_on_section(struct ferry__conf *conf, const char *words, const char *origin)
{
    static const char *const known[] = { "ferry", "plugin", "layers", "validate" };
    char first[64];

    if (is_plugin_section(words))
        return on_plugin_section(conf, words, origin);
    if (strcmp(words, "ferry") != 0 && strcmp(words, "layers") != 0 &&
        strcmp(words, "validate") != 0) {
        snprintf(first, sizeof(first), "%.*s", (int)strcspn(words, " \t"), words);
        warn_unknown(origin, "section", first, known, sizeof(known) / sizeof(known[0]));
    }
    return 0;
}

int ferry__conf_on_key(struct ferry__conf *conf, const char *words, const char *key,
                       const char *value, const char *origin)
{
    static const char *const known[] = { "backend", "strict" };
    struct ferry__section *section;

    if (!words[0])
        return ferry__error(FERRY_ECONF, "%s: %s precedes any [section]", origin, key);
    if (strcmp(words, "ferry") == 0) {
        if (strcmp(key, "backend") == 0)
            return set_backend(conf, value, origin);
        if (strcmp(key, "strict") == 0)
            return set_strict(conf, value, origin);
        warn_unknown(origin, "key", key, known, sizeof(known) / sizeof(known[0]));
        return 0;
    }
    if (strcmp(words, "layers") == 0) {
        if (strcmp(key, "library") == 0)
            return set_layers(conf, value, origin);
        warn_unknown(origin, "key", key, (const char *const[]){ "library" }, 1);
        return 0;
    }
    if (strcmp(words, "validate") == 0) {
        if (strcmp(key, "enabled") == 0)
            return set_validate(conf, value, origin);
        warn_unknown(origin, "key", key, (const char *const[]){ "enabled" }, 1);
        return 0;
    }
    if (!is_plugin_section(words))
        return 0; /* its section was reported already */
    words += strlen("plugin");
    section = ferry__conf_section(conf, words + strspn(words, " \t"));
    return section ? ferry__conf_set(section, key, value, origin) : 0;
}
