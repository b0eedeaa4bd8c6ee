/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "net/model/place.h"

#include <ferry/device.h>
#include <ferry/memory.h>
#include <ferry/status.h>

#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    char *pattern;
    bool type; /* compared with the layer's type instead of its name */
    bool used;
    ferry_device *device;
    ferry_memory *keeper; /* a memory of 0 bytes that retains the device */
};

struct ferry__place {
    char *text; /* split into patterns */
    struct entry *entries;
    size_t count;
};

static char *trimmed(char *s)
{
    char *end;

    s += strspn(s, " \t");
    end = s + strlen(s);
    while (end > s && strchr(" \t", end[-1]))
        *--end = 0;
    return s;
}

static int read_entry(ferry_device *dev, char *text, struct entry *out)
{
    char *equals = strrchr(text, '='), *device;
    int err;

    text = trimmed(text);
    if (!equals)
        return ferry_error_set(FERRY_EINVAL, "place: \"%s\" is not PATTERN=DEVICE", text);
    *equals = 0;
    device = trimmed(equals + 1);
    text = trimmed(text);
    out->type = !strncmp(text, "type:", 5);
    out->pattern = out->type ? trimmed(text + 5) : text;
    if (!*out->pattern || !*device)
        return ferry_error_set(FERRY_EINVAL, "place: \"%s=%s\" is not PATTERN=DEVICE", text,
                               device);
    err = ferry_device_sibling(dev, device, &out->device);
    return err ? err : ferry_memory_create(out->device, 0, &out->keeper);
}

int ferry__place_open(ferry_device *dev, const char *text, struct ferry__place **out)
{
    struct ferry__place *place = calloc(1, sizeof *place);
    size_t commas = 1, i;
    char *rest, *part;
    int err = 0;

    for (i = 0; text[i]; i++)
        commas += text[i] == ',';
    if (place) {
        place->text = strdup(text);
        place->entries = calloc(commas, sizeof *place->entries);
    }
    if (!place || !place->text || !place->entries) {
        ferry__place_close(place);
        return ferry_error_set(FERRY_ENOMEM, "place: no memory");
    }
    rest = place->text;
    while (!err && (part = strtok_r(rest, ",", &rest)))
        err = read_entry(dev, part, &place->entries[place->count++]);
    if (err) {
        ferry__place_close(place);
        return err;
    }
    *out = place;
    return 0;
}

void ferry__place_close(struct ferry__place *place)
{
    size_t i;

    if (!place)
        return;
    for (i = 0; i < place->count; i++)
        ferry_memory_release(place->entries[i].keeper);
    free(place->entries);
    free(place->text);
    free(place);
}

ferry_device *ferry__place_of(const struct ferry__place *place, const char *name, const char *type)
{
    size_t i;

    for (i = 0; place && i < place->count; i++) {
        struct entry *e = &place->entries[i];

        if (!fnmatch(e->pattern, e->type ? type : name, 0)) {
            e->used = true;
            return e->device;
        }
    }
    return NULL;
}

void ferry__place_warn(const struct ferry__place *place)
{
    size_t i;

    for (i = 0; place && i < place->count; i++)
        if (!place->entries[i].used)
            ferry_log_write(FERRY_LOG_WARN,
                            "ferry: place: \"%s%s\" is not the first match of any layer",
                            place->entries[i].type ? "type:" : "", place->entries[i].pattern);
}
