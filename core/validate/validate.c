/* SPDX-License-Identifier: BSD-2-Clause */
/* The entries that open devices and return tables, and the wrapping of a plugin's table. */
#include "config.h"

#include "core/validate/track.h"

#include "core/base/log.h"
#include "core/base/status.h"

#include <stdlib.h>
#include <string.h>

/* A wrapped plugin; its wrapped table has a pointer to it in `plugin`. */
struct wrapped {
    const char *name;
    ferry_plugin_ops ops; /* the plugin's own table */
    bool synchronous;
};

static int device_count(void *plugin, uint32_t *out)
{
    struct wrapped *w = plugin;

    return w->ops.device_count(w->ops.plugin, out);
}

static int properties(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out)
{
    struct wrapped *w = plugin;

    return w->ops.properties(w->ops.plugin, index, dev, out);
}

/* Creates the record of a device that was opened or adopted. */
static int watch(struct wrapped *w, uint32_t index, void *dev)
{
    ferry_plugin_properties p = { .struct_size = sizeof p };
    struct ferry__tracked_device *d;
    int err;

    if (!dev || ferry__tracked(dev)) {
        ferry__log(FERRY_LOG_ERROR, "validate: %s: rule 19: device_open: %s", w->name,
                   dev ? "returned the handle of a device that is open" : "succeeded with NULL");
        return FERRY_EPLUGIN;
    }
    err = ferry__track_device(dev, w->name, &w->ops, &d);
    if (err)
        return err;
    d->index = index;
    d->synchronous = w->synchronous;
    if (!w->ops.properties(w->ops.plugin, index, dev, &p))
        d->flags = p.flags;
    return 0;
}

static int device_open(void *plugin, uint32_t index, void **out_dev)
{
    struct wrapped *w = plugin;
    void *dev = NULL;
    int err = w->ops.device_open(w->ops.plugin, index, &dev);

    if (err)
        return err;
    err = watch(w, index, dev);
    if (err && dev && err == FERRY_ENOMEM)
        w->ops.device_close(dev);
    if (!err)
        *out_dev = dev;
    return err;
}

static int adopt(void *plugin, const char *const *names, void *const *values, uint64_t n,
                 void **out_dev, uint32_t *out_index)
{
    struct wrapped *w = plugin;
    void *dev = NULL;
    int err = w->ops.adopt(w->ops.plugin, names, values, n, &dev, out_index);

    if (err)
        return err;
    err = watch(w, *out_index == UINT32_MAX ? 0 : *out_index, dev);
    if (err && dev && err == FERRY_ENOMEM)
        w->ops.device_close(dev);
    if (!err)
        *out_dev = dev;
    return err;
}

static void device_close(void *dev)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    const ferry_plugin_ops *ops = d->ops;

    ferry__untrack_device(d);
    ops->device_close(dev);
}

/* Wraps a table; one that lacks an entry is passed on unchanged, and its user refuses it. */
static const void *wrap_profile(struct ferry__tracked_device *d, const ferry_profile_table *t)
{
    if (t->struct_size < ferry__validate_profile.struct_size || !t->clock || !t->start ||
        !t->stop || !t->begin || !t->end || !t->read || !t->destroy) {
        ferry__broken(d, 69, "extension", "\"" FERRY_PROFILE_EXTENSION "\" lacks an entry");
        return t;
    }
    d->profile = t;
    return &ferry__validate_profile;
}

/* Tables of other names are passed on as they are, and not checked. */
static int extension(void *dev, const char *name, const void **out_table)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    const ferry_op_table *t;
    const void *table = NULL;
    int err = d->ops->extension(dev, name, &table);

    if (err)
        return err;
    if (!table || *(const uint32_t *)table < sizeof(uint32_t))
        ferry__broken(d, 55, "extension", "a table whose size is 0, for \"%s\"", name);
    t = table;
    if (table && !strcmp(name, FERRY_OP_EXTENSION) &&
        t->struct_size >= ferry__validate_operations[0].struct_size && t->query && t->create &&
        t->prepare && t->run && t->destroy) {
        d->operations = t;
        table = &ferry__validate_operations[t->flags & FERRY__OP_FLAGS];
    }
    if (table && !strcmp(name, FERRY_PROFILE_EXTENSION))
        table = wrap_profile(d, table);
    *out_table = table;
    return 0;
}

int ferry__validate_wrap(const char *name, bool synchronous, ferry_plugin_ops *ops)
{
    struct wrapped *w = calloc(1, sizeof *w);

    if (!w)
        return ferry__error(FERRY_ENOMEM, "plugin %s: no memory to validate it", name);
    w->name = name;
    w->ops = *ops;
    w->synchronous = synchronous;
    ops->plugin = w;
    ops->device_count = device_count;
    ops->device_open = device_open;
    ops->device_close = device_close;
    ops->properties = properties;
    ops->adopt = adopt;
    ops->extension = extension;
    ferry__wrap_work(ops);
    ferry__wrap_arithmetic(ops);
    ferry__log(FERRY_LOG_INFO, "validate: the rules of plugins are checked for %s", name);
    return 0;
}
