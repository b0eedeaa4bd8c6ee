/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TEST_HOST_OPTIONS_H
#define FERRY_TEST_HOST_OPTIONS_H

#include <ferry/plugin.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/*
 * The typed options of ferry_host, for hosts other than ferry: those of the tests and of the
 * conformance suite. In a file that has an option(key) and an error(code, fmt, …),
 * HOST_OPTIONS(option, error) defines them, and HOST_OPTIONS_ENTRIES is used in its table.
 */

/* FERRY_TEST_CACHE; without it there is no folder. */
static inline bool host_options_folder(char *out, uint64_t size)
{
    const char *folder = getenv("FERRY_TEST_CACHE");

    if (!folder || strlen(folder) >= size)
        return false;
    memcpy(out, folder, strlen(folder) + 1);
    return true;
}

static inline bool host_options_boolean(const char *text, uint32_t *out)
{
    static const char *const words[] = { "no", "yes", "off", "on", "false", "true", "0", "1" };

    for (uint32_t i = 0; i < 8; i++)
        if (strcasecmp(text, words[i]) == 0) {
            *out = i % 2;
            return true;
        }
    return false;
}

static inline bool host_options_size(const char *text, uint64_t *out)
{
    static const char *const units[] = { "", "KiB", "MiB", "GiB", "TiB" };
    char *end;
    double value = strtod(text, &end);

    end += strspn(end, " ");
    for (unsigned i = 0; i < 5 && end != text && value >= 0 && value < 1e15; i++)
        if (strcasecmp(end, units[i]) == 0) {
            *out = (uint64_t)ldexp(value, (int)(10 * i));
            return true;
        }
    return false;
}

static inline bool host_options_word(const char *text, const char *words, uint32_t *out)
{
    for (uint32_t i = 0; *words; i++) {
        size_t length = strcspn(words, "|");

        if (strlen(text) == length && strncmp(text, words, length) == 0) {
            *out = i;
            return true;
        }
        words += length + (words[length] == '|');
    }
    return false;
}

#define HOST_OPTIONS(option, error)                                                                \
    static int host_integer(const char *key, int64_t least, int64_t most, int64_t *out)            \
    {                                                                                              \
        const char *text = option(key);                                                            \
        char *end;                                                                                 \
        int64_t value = text ? (int64_t)strtoll(text, &end, 10) : 0;                               \
                                                                                                   \
        if (text && (end == text || *end || value < least || value > most))                        \
            return error(FERRY_ECONF, "option.%s = %s: not a whole number from %lld to %lld", key, \
                         text, (long long)least, (long long)most);                                 \
        *out = text ? value : *out;                                                                \
        return 0;                                                                                  \
    }                                                                                              \
    static int host_real(const char *key, double least, double most, double *out)                  \
    {                                                                                              \
        const char *text = option(key);                                                            \
        char *end;                                                                                 \
        double value = text ? strtod(text, &end) : 0;                                              \
                                                                                                   \
        if (text && (end == text || *end || !(value >= least && value <= most)))                   \
            return error(FERRY_ECONF, "option.%s = %s: not a number from %g to %g", key, text,     \
                         least, most);                                                             \
        *out = text ? value : *out;                                                                \
        return 0;                                                                                  \
    }                                                                                              \
    static int host_boolean(const char *key, uint32_t *out)                                        \
    {                                                                                              \
        const char *text = option(key);                                                            \
                                                                                                   \
        if (text && !host_options_boolean(text, out))                                              \
            return error(FERRY_ECONF, "option.%s = %s: not yes or no", key, text);                 \
        return 0;                                                                                  \
    }                                                                                              \
    static int host_size(const char *key, uint64_t least, uint64_t most, uint64_t *out)            \
    {                                                                                              \
        const char *text = option(key);                                                            \
        uint64_t value = 0;                                                                        \
                                                                                                   \
        if (text && (!host_options_size(text, &value) || value < least || value > most))           \
            return error(FERRY_ECONF, "option.%s = %s: not a size", key, text);                    \
        *out = text ? value : *out;                                                                \
        return 0;                                                                                  \
    }                                                                                              \
    static int host_enum(const char *key, const char *words, uint32_t *out)                        \
    {                                                                                              \
        const char *text = option(key);                                                            \
                                                                                                   \
        if (text && !host_options_word(text, words, out))                                          \
            return error(FERRY_ECONF, "option.%s = %s: not one of %s", key, text, words);          \
        return 0;                                                                                  \
    }                                                                                              \
    static int host_cache_folder(char *out, uint64_t size)                                         \
    {                                                                                              \
        return host_options_folder(out, size) ? 0 : FERRY_EUNSUPPORTED;                            \
    }

#define HOST_OPTIONS_ENTRIES                                                                  \
    .option_integer = host_integer, .option_real = host_real, .option_boolean = host_boolean, \
    .option_size = host_size, .option_enum = host_enum, .cache_folder = host_cache_folder

#endif
