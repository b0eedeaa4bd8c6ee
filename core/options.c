/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "options.h"
#include "log.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMES 64 /* of a plugin's options, when one is misspelt */

/* ---- settings ------------------------------------------------------------------------------- */

void ferry__settings_destroy(struct ferry__settings *settings)
{
    const struct ferry__option *option, *next;

    if (!settings)
        return;
    for (option = settings->options; option; option = next) {
        next = option->next;
        free((char *)option->key); /* one block with value and origin */
        free((struct ferry__option *)option);
    }
    free(settings);
}

static struct ferry__option *copy_option(const struct ferry__option *option)
{
    size_t key = strlen(option->key) + 1, value = strlen(option->value) + 1;
    size_t origin = strlen(option->origin) + 1;
    struct ferry__option *copy = calloc(1, sizeof(*copy));
    char *text = malloc(key + value + origin);

    if (!copy || !text) {
        free(copy);
        free(text);
        return NULL;
    }
    copy->key = memcpy(text, option->key, key);
    copy->value = memcpy(text + key, option->value, value);
    copy->origin = memcpy(text + key + value, option->origin, origin);
    return copy;
}

struct ferry__settings *ferry__settings_create(const struct ferry__section *section)
{
    struct ferry__settings *settings = calloc(1, sizeof(*settings));
    const struct ferry__option *option;

    if (!settings)
        return NULL;
    settings->pool_limit = UINT64_MAX;
    if (!section)
        return settings;
    settings->pool_limit = ferry__conf_size(&section->pool_limit, UINT64_MAX);
    settings->budget = ferry__conf_size(&section->budget, 0);
    for (option = section->options; option; option = option->next) {
        struct ferry__option *copy = copy_option(option);

        if (!copy) {
            ferry__settings_destroy(settings);
            return NULL;
        }
        copy->next = (struct ferry__option *)settings->options;
        settings->options = copy;
    }
    return settings;
}

/* ---- the plugin's table --------------------------------------------------------------------- */

bool ferry__options_at(const struct ferry__plugin *plugin, uint32_t index,
                       ferry_plugin_option *out)
{
    const ferry_plugin_ops *ops = &plugin->ops;
    size_t size = ops->option_size < sizeof(*out) ? ops->option_size : sizeof(*out);

    if (!ops->options || index >= ops->option_count || size == 0)
        return false;
    memset(out, 0, sizeof(*out));
    memcpy(out, (const char *)ops->options + (size_t)index * ops->option_size, size);
    return out->name != NULL;
}

/* "on|off|auto": whether the value is one of the words. */
static bool is_word_of(const char *value, const char *words)
{
    size_t length = strlen(value);

    while (words && *words) {
        size_t word = strcspn(words, "|");

        if (word == length && strncmp(words, value, word) == 0)
            return true;
        words += word + (words[word] == '|');
    }
    return false;
}

static bool is_number(const char *value, bool whole)
{
    char *end;

    errno = 0;
    if (whole)
        strtoll(value, &end, 0);
    else
        strtod(value, &end);
    return errno == 0 && end != value && *end == '\0';
}

/* What the value ought to be and is not; NULL if all is well. */
static const char *complaint(const ferry_plugin_option *option, const char *value)
{
    uint64_t size;
    bool is;

    switch (option->type) {
    case FERRY_OPTION_INT:
        return is_number(value, true) ? NULL : "a whole number";
    case FERRY_OPTION_REAL:
        return is_number(value, false) ? NULL : "a number";
    case FERRY_OPTION_BOOL:
        return ferry__text_bool(value, &is) ? NULL : "yes or no";
    case FERRY_OPTION_SIZE:
        return ferry__text_size(value, &size) ? NULL : "a size (as in 4096, 512MiB, 4GiB)";
    case FERRY_OPTION_ENUM:
        return is_word_of(value, option->values) ? NULL : option->values;
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

static void check_option(const struct ferry__plugin *plugin, const struct ferry__option *given)
{
    ferry_plugin_option option;

    for (uint32_t i = 0; ferry__options_at(plugin, i, &option); i++) {
        const char *wanted;

        if (strcmp(option.name, given->key) != 0)
            continue;
        wanted = complaint(&option, given->value);
        if (wanted)
            ferry__log(FERRY_LOG_WARN, "%s: %s: option %s = %s: not %s", given->origin,
                       plugin->name, given->key, given->value, wanted);
        return;
    }
    warn_unknown(plugin, given);
}

void ferry__options_check(const struct ferry__plugin *plugin)
{
    const struct ferry__option *given;

    for (given = plugin->options; given; given = given->next)
        check_option(plugin, given);
}
