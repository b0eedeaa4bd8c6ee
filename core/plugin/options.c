/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/plugin/options.h"
#include "core/base/log.h"
#include "core/base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMES 64 /* the maximum length of the list of options in a message about an unknown
                      * one */

/* ---- settings ------------------------------------------------------------------------------- */

static void destroy_list(const struct ferry__option *option)
{
    while (option) {
        const struct ferry__option *next = option->next;

        free((char *)option->key); /* key, value and origin are one block */
        free((struct ferry__option *)option);
        option = next;
    }
}

void ferry__settings_destroy(struct ferry__settings *settings)
{
    if (!settings)
        return;
    destroy_list(settings->options);
    destroy_list(settings->keys);
    free(settings);
}

/* Adds a copy at the beginning of a list; false without memory. */
static bool add_copy(const struct ferry__option **list, const char *key, const char *value,
                     const char *origin)
{
    size_t key_size = strlen(key) + 1, value_size = strlen(value) + 1;
    size_t origin_size = strlen(origin) + 1;
    struct ferry__option *copy = calloc(1, sizeof(*copy));
    char *text = malloc(key_size + value_size + origin_size);

    if (!copy || !text) {
        free(copy);
        free(text);
        return false;
    }
    copy->key = memcpy(text, key, key_size);
    copy->value = memcpy(text + key_size, value, value_size);
    copy->origin = memcpy(text + key_size + value_size, origin, origin_size);
    copy->next = (struct ferry__option *)*list;
    *list = copy;
    return true;
}

static bool add_key(struct ferry__settings *settings, const char *key,
                    const struct ferry__value *value)
{
    return !value->text || add_copy(&settings->keys, key, value->text, value->origin);
}

struct ferry__settings *ferry__settings_create(const struct ferry__conf *conf, const char *name)
{
    const struct ferry__section *section = ferry__conf_section(conf, name);
    struct ferry__settings *settings = calloc(1, sizeof(*settings));
    const struct ferry__option *option;
    bool ok;

    if (!settings)
        return NULL;
    settings->pool_limit = UINT64_MAX;
    settings->validate = ferry__conf_bool(&conf->validate, false);
    if (!section)
        return settings;
    settings->pool_limit = ferry__conf_size(&section->pool_limit, UINT64_MAX);
    settings->budget = ferry__conf_size(&section->budget, 0);
    settings->validate = ferry__conf_bool(&section->validate, settings->validate);
    ok = add_key(settings, "pool_limit", &section->pool_limit) &&
         add_key(settings, "budget", &section->budget);
    for (option = section->options; option && ok; option = option->next)
        ok = add_copy(&settings->options, option->key, option->value, option->origin);
    if (ok)
        return settings;
    ferry__settings_destroy(settings);
    return NULL;
}

/* ---- the plugin's table --------------------------------------------------------------------- */

bool ferry__options_at(const struct ferry__plugin *plugin, uint32_t index, ferry_plugin_option *out)
{
    const ferry_plugin_ops *ops = &plugin->ops;
    size_t size = ops->option_size < sizeof(*out) ? ops->option_size : sizeof(*out);

    if (!ops->options || index >= ops->option_count || size == 0)
        return false;
    memset(out, 0, sizeof(*out));
    memcpy(out, (const char *)ops->options + (size_t)index * ops->option_size, size);
    return out->name != NULL;
}

static bool is_whole(const char *value)
{
    char *end;

    errno = 0;
    strtoll(value, &end, 10);
    return errno == 0 && end != value && *end == '\0';
}

/* The requirement that the value violates; NULL if it is valid. */
static const char *complaint(const ferry_plugin_option *option, const char *value)
{
    uint64_t size;
    double number;
    bool is;

    switch (option->type) {
    case FERRY_OPTION_INT:
        return is_whole(value) ? NULL : "a whole number";
    case FERRY_OPTION_REAL:
        return ferry__text_real(value, &number) ? NULL : "a number";
    case FERRY_OPTION_BOOL:
        return ferry__text_bool(value, &is) ? NULL : "yes or no";
    case FERRY_OPTION_SIZE:
        return ferry__text_size(value, &size) ? NULL : "a size (as in 4096, 512MiB, 4GiB)";
    case FERRY_OPTION_ENUM:
        return ferry__text_word(value, option->values) >= 0 ? NULL : option->values;
    default:
        return NULL;
    }
}

static void warn_unknown(const struct ferry__plugin *plugin, const struct ferry__option *given)
{
    const char *names[MAX_NAMES];
    ferry_plugin_option option;
    const char *nearest;
    uint32_t n = 0;

    while (n < MAX_NAMES && ferry__options_at(plugin, n, &option))
        names[n++] = option.name;
    nearest = ferry__text_nearest(given->key, names, n);
    if (nearest)
        ferry__log(FERRY_LOG_WARN, "%s: plugin %s has no option \"%s\"; did you mean \"%s\"?",
                   given->origin, plugin->name, given->key, nearest);
    else
        ferry__log(FERRY_LOG_WARN, "%s: plugin %s has no option \"%s\"", given->origin,
                   plugin->name, given->key);
}

/* Checks a value. 0, or the refusal of a value that does not have the option's type. */
static int check_option(const struct ferry__plugin *plugin, const struct ferry__option *given,
                        struct ferry__refusal *refusal)
{
    ferry_plugin_option option;

    for (uint32_t i = 0; ferry__options_at(plugin, i, &option); i++) {
        const char *wanted;

        if (strcmp(option.name, given->key) != 0)
            continue;
        wanted = complaint(&option, given->value);
        return wanted ? ferry__refuse(refusal, FERRY_ECONF, "", "%s: option.%s = %.64s: not %s",
                                      given->origin, given->key, given->value, wanted)
                      : 0;
    }
    warn_unknown(plugin, given);
    return 0;
}

int ferry__options_check(const struct ferry__plugin *plugin, struct ferry__refusal *refusal)
{
    const struct ferry__option *given;
    int err = 0;

    for (given = plugin->options; given && !err; given = given->next)
        err = check_option(plugin, given, refusal);
    return err;
}

/* ---- options for the program ---------------------------------------------------------------- */

static const ferry_plugin_option core_keys[] = {
    { .name = "pool_limit",
      .default_value = "",
      .description = "bytes that the pool of a device may keep for later",
      .type = FERRY_OPTION_SIZE },
    { .name = "budget",
      .default_value = "",
      .description = "bytes that ferry may hold on a device",
      .type = FERRY_OPTION_SIZE },
};

#define CORE_KEYS ((uint32_t)(sizeof(core_keys) / sizeof(core_keys[0])))

static const char *type_name(uint32_t type)
{
    static const char *const names[] = { "string", "integer", "real", "boolean", "size", "enum" };

    return type < sizeof(names) / sizeof(names[0]) ? names[type] : "";
}

static const struct ferry__option *find_given(const struct ferry__option *list, const char *key)
{
    while (list && strcmp(list->key, key) != 0)
        list = list->next;
    return list;
}

bool ferry__options_describe(const struct ferry__plugin *plugin, uint32_t index,
                             ferry_runtime_option_info *out)
{
    const struct ferry__option *given;
    ferry_plugin_option option;

    if (index < CORE_KEYS)
        option = core_keys[index];
    else if (!ferry__options_at(plugin, index - CORE_KEYS, &option))
        return false;
    given = find_given(index < CORE_KEYS ? plugin->keys : plugin->options, option.name);
    *out = (ferry_runtime_option_info){
        .name = option.name,
        .type = type_name(option.type),
        .values = option.values ? option.values : "",
        .default_value = option.default_value ? option.default_value : "",
        .description = option.description ? option.description : "",
        .core = index < CORE_KEYS,
    };
    out->value = given ? given->value : out->default_value;
    out->origin = given ? given->origin : "";
    return true;
}
