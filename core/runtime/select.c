/* SPDX-License-Identifier: BSD-2-Clause */
/* From names to devices: the plugins that are opened, their order, and the error if none works. */
#include "config.h"

#include "core/runtime/runtime.h"
#include "core/device/device_open.h"
#include "core/base/log.h"
#include "core/plugin/options.h"
#include "core/plugin/registry.h"
#include "core/base/status.h"
#include "core/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMES 64 /* the maximum length of the list of plugins in a message about an unknown
                      * one */

/* set by configure: the default order, and the plugins that are used only if named */
static const char default_order[] = FERRY_DEFAULT_ORDER;
static const char only_by_name[] = FERRY_ONLY_BY_NAME;

/* ---- one plugin ----------------------------------------------------------------------------- */

static int open_and_report(ferry_runtime *rt, struct ferry__candidate *candidate,
                           struct ferry__settings *settings, const struct ferry__plugin **out)
{
    const struct ferry__plugin *plugin = NULL;
    struct ferry__refusal refusal = { 0 };
    const char *stage = FERRY__STAGE_DLOPEN;
    int err = ferry__registry_open(candidate, settings, &plugin, &stage, &refusal);

    ferry__runtime_lock(rt);
    if (err) {
        ferry__loader_report(rt->search, candidate, stage, err, refusal.reason, refusal.hint);
        candidate->retry = true;
        ferry__runtime_refused(candidate);
        if (err == FERRY_ENOMEM)
            candidate->code = 0; /* a lack of memory is not a property of the plugin: the next call
                                  * tries again */
    } else {
        ferry__loader_report(rt->search, candidate, stage, 0, "", candidate->line.hint);
        candidate->plugin = plugin;
        *out = plugin;
    }
    ferry__runtime_unlock(rt);
    return err;
}

int ferry__runtime_open_plugin(ferry_runtime *rt, struct ferry__candidate *candidate,
                               const struct ferry__plugin **out)
{
    struct ferry__settings *settings = NULL;
    int err = 0;

    ferry__runtime_lock(rt);
    if (candidate->code) {
        err = ferry__runtime_refused(candidate);
    } else if (candidate->plugin) {
        *out = candidate->plugin;
    } else {
        settings = ferry__settings_create(rt->conf, candidate->line.name);
        if (!settings)
            err = ferry__error(FERRY_ENOMEM, "%s: no memory for its options", candidate->line.name);
    }
    ferry__runtime_unlock(rt);
    return settings ? open_and_report(rt, candidate, settings, out) : err;
}

/* ---- one device ----------------------------------------------------------------------------- */

/* Takes over one reference. A runtime holds each device once. */
static int hold(ferry_runtime *rt, ferry_device *dev)
{
    struct ferry__held *fresh = calloc(1, sizeof(*fresh));
    struct ferry__held *held;

    ferry__runtime_lock(rt);
    for (held = rt->devices; held && held->dev != dev; held = held->next)
        ;
    if (fresh && !held) {
        *fresh = (struct ferry__held){ rt->devices, dev };
        rt->devices = fresh;
    }
    ferry__runtime_unlock(rt);
    if (fresh && !held)
        return 0;
    free(fresh);
    if (!held)
        ferry__error(FERRY_ENOMEM, "%s: no memory to lend it out", ferry_device_name(dev));
    ferry__device_release(dev);
    return held ? 0 : FERRY_ENOMEM;
}

static int get_device(ferry_runtime *rt, const struct ferry__plugin *plugin, uint32_t index,
                      ferry_device **out)
{
    uint32_t count = ferry__registry_count(plugin);
    ferry_device *dev;
    int err;

    if (index >= count)
        return ferry__error(FERRY_ENODEV, "%s:%" PRIu32 ": no such device: %s has %" PRIu32,
                            plugin->name, index, plugin->name, count);
    err = ferry__device_get(plugin, index, rt->strict, &dev);
    if (!err)
        err = hold(rt, dev);
    if (!err)
        *out = dev;
    return err;
}

static void append(char *text, size_t size, const char *separator, const char *more)
{
    size_t used = strlen(text);
    int length = snprintf(NULL, 0, "%s%s", used ? separator : "", more);

    if (length > 0 && (size_t)length < size - used)
        snprintf(text + used, size - used, "%s%s", used ? separator : "", more);
}

/* Appends the folders that could not be searched, since a missing plugin may be in one of them. */
static void append_folders(const ferry_runtime *rt, char *text, size_t size)
{
    const struct ferry__candidate *candidate;

    for (candidate = rt->search->first; candidate; candidate = candidate->next) {
        const ferry_runtime_candidate_info *line = &candidate->line;

        if (line->name[0])
            continue;
        append(text, size, "; ", line->path);
        append(text, size, ": ", line->reason);
    }
}

int ferry__runtime_unknown(const ferry_runtime *rt, const char *name)
{
    const struct ferry__candidate *candidate;
    const char *names[MAX_NAMES];
    const char *nearest;
    char text[512];
    size_t n = 0;

    for (candidate = rt->search->first; candidate && n < MAX_NAMES; candidate = candidate->next)
        if (candidate->claims)
            names[n++] = candidate->line.name;
    nearest = ferry__text_nearest(name, names, n);
    snprintf(text, sizeof(text), "no such plugin in %s", rt->search->folders);
    if (nearest) {
        append(text, sizeof(text), "; did you mean ", nearest);
        append(text, sizeof(text), "", "?");
    }
    append_folders(rt, text, sizeof(text));
    return ferry__error(FERRY_ENODEV, "%s: %s (see `ferry plugins`)", name, text);
}

/* Reports a device that cannot be opened. Its plugin is not refused. */
static void report_device(ferry_runtime *rt, struct ferry__candidate *candidate, int err)
{
    ferry__runtime_lock(rt);
    ferry__loader_report(rt->search, candidate, FERRY__STAGE_DEVICES, 0,
                         err ? ferry_last_error() : "", candidate->line.hint);
    candidate->line.ok = err == 0;
    ferry__runtime_unlock(rt);
}

/* Opens only this plugin and this device. */
static int open_item(ferry_runtime *rt, const struct ferry__choice_item *item, ferry_device **out)
{
    struct ferry__candidate *candidate = ferry__loader_find(rt->search, item->name);
    const struct ferry__plugin *plugin;
    ferry_device *dev;
    int err;

    if (!candidate)
        return ferry__runtime_unknown(rt, item->name);
    err = ferry__runtime_open_plugin(rt, candidate, &plugin);
    if (err)
        return err;
    err = get_device(rt, plugin, item->index == FERRY__ANY_INDEX ? 0 : item->index, &dev);
    if (!err) {
        err = ferry__device_open(dev);
        report_device(rt, candidate, err);
    }
    if (!err)
        *out = dev;
    return err;
}

/* ---- the order ------------------------------------------------------------------------------ */

/* The plugins to try, or to list, in the order of preference. */
struct order {
    struct ferry__choice_item *items;
    size_t count, room;
};

static bool has_item(const struct order *order, const struct ferry__choice_item *item)
{
    for (size_t i = 0; i < order->count; i++)
        if (strcmp(order->items[i].name, item->name) == 0 && order->items[i].index == item->index)
            return true;
    return false;
}

static void add_item(struct order *order, const struct ferry__choice_item *item)
{
    if (order->count < order->room && !has_item(order, item))
        order->items[order->count++] = *item;
}

static void add_name(struct order *order, const char *name)
{
    struct ferry__choice_item item = { .index = FERRY__ANY_INDEX };

    snprintf(item.name, sizeof(item.name), "%s", name);
    add_item(order, &item);
}

/* Whether `name` is in a list separated by commas. */
static bool is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);

    while (*list) {
        size_t word = strcspn(list, ",");

        if (word == length && strncmp(list, name, word) == 0)
            return true;
        list += word + (list[word] == ',');
    }
    return false;
}

static void add_defaults(const ferry_runtime *rt, struct order *order)
{
    const char *rest = default_order;

    while (*rest) {
        char name[32];
        size_t word = strcspn(rest, ",");

        snprintf(name, sizeof(name), "%.*s", (int)word, rest);
        if (ferry__choice_allows(&rt->choice, name) && ferry__loader_find(rt->search, name))
            add_name(order, name);
        rest += word + (rest[word] == ',');
    }
}

static int bytewise(const void *a, const void *b)
{
    const struct ferry__choice_item *x = a, *y = b;

    return strcmp(x->name, y->name);
}

/* All other plugins, sorted by name. */
static void add_others(const ferry_runtime *rt, struct order *order, bool by_name_only)
{
    const struct ferry__candidate *candidate;
    size_t before = order->count;

    for (candidate = rt->search->first; candidate; candidate = candidate->next) {
        const char *name = candidate->line.name;

        if (name[0] && strlen(name) < sizeof(order->items->name) &&
            ferry__choice_allows(&rt->choice, name) &&
            is_listed(only_by_name, name) == by_name_only)
            add_name(order, name);
    }
    qsort(order->items + before, order->count - before, sizeof(*order->items), bytewise);
}

/*
 * Makes the order. `listing`: includes plugins that are used only if named. The caller frees
 * out->items.
 */
static int make_order(const ferry_runtime *rt, bool listing, struct order *out)
{
    const struct ferry__choice *choice = &rt->choice;
    const struct ferry__candidate *candidate;

    *out = (struct order){ .room = FERRY__CHOICE_MAX + sizeof(default_order) };
    for (candidate = rt->search->first; candidate; candidate = candidate->next)
        out->room++;
    out->items = calloc(out->room, sizeof(*out->items));
    if (!out->items)
        return ferry__error(FERRY_ENOMEM, "no memory for the order of backends");
    for (size_t i = 0; i < choice->count && !choice->all_but; i++)
        add_item(out, &choice->items[i]);
    if (!choice->all_but)
        return 0;
    add_defaults(rt, out);
    add_others(rt, out, false);
    if (listing)
        add_others(rt, out, true);
    return 0;
}

/* ---- the selected device -------------------------------------------------------------------- */

/* Appends the plugins that were found but not tried, because they were not requested. */
static void append_others(const ferry_runtime *rt, char *text, size_t size)
{
    const struct ferry__candidate *candidate;

    for (candidate = rt->search->first; candidate; candidate = candidate->next) {
        const char *name = candidate->line.name;

        if (!name[0])
            continue;
        append(text, size, "; ", name);
        if (ferry__choice_allows(&rt->choice, name)) {
            append(text, size, " ", "is there, but is used only if asked for by name");
        } else {
            append(text, size, " ", "is excluded by ");
            append(text, size, "", rt->choice_origin);
        }
    }
}

static int fail_none(const ferry_runtime *rt, char *reasons, size_t size)
{
    if (!reasons[0]) {
        append(reasons, size, "", "nothing to choose from in ");
        append(reasons, size, "", rt->search->folders);
        append_others(rt, reasons, size);
        append_folders(rt, reasons, size);
    }
    return ferry__error(FERRY_ENODEV, "no device works (see `ferry plugins`): %s", reasons);
}

/*
 * Whether the plugin's first device computes on the host's processors without working in the host's
 * memory: a program that has not named it should not wait for its kernels to be compiled.
 */
static bool is_last_resort(ferry_runtime *rt, const struct ferry__choice_item *item)
{
    struct ferry__candidate *candidate = ferry__loader_find(rt->search, item->name);
    const ferry_device_properties *p;
    const struct ferry__plugin *plugin;
    ferry_device *dev;

    if (!rt->choice.all_but || !candidate ||
        ferry__runtime_open_plugin(rt, candidate, &plugin) != 0 ||
        get_device(rt, plugin, 0, &dev) != 0)
        return false;
    p = ferry_device_get_properties(dev);
    return p->host_processors && !p->host_memory;
}

static int try_item(ferry_runtime *rt, const struct ferry__choice_item *item, char *reasons,
                    size_t size, ferry_device **out)
{
    int err = open_item(rt, item, out);

    if (err) {
        ferry__log(FERRY_LOG_INFO, "not selected: %s", ferry_last_error());
        append(reasons, size, "; ", ferry_last_error());
    }
    return err;
}

static int try_order(ferry_runtime *rt, const struct order *order, ferry_device **out)
{
    struct ferry__choice_item *late = order->items; /* the skipped plugins, in their order */
    char reasons[1024] = "";
    size_t passed = 0;

    for (size_t i = 0; i < order->count; i++) {
        if (is_last_resort(rt, &order->items[i])) {
            ferry__log(FERRY_LOG_INFO, "%s:0 computes on the host's processors: others go first",
                       order->items[i].name);
            late[passed++] = order->items[i];
        } else if (!try_item(rt, &order->items[i], reasons, sizeof(reasons), out)) {
            return 0;
        }
    }
    for (size_t i = 0; i < passed; i++)
        if (!try_item(rt, &late[i], reasons, sizeof(reasons), out))
            return 0;
    return fail_none(rt, reasons, sizeof(reasons));
}

static int open_selected(ferry_runtime *rt, ferry_device **out)
{
    struct order order;
    int err;

    if (!rt->choice.all_but && rt->choice.count == 1)
        return open_item(rt, &rt->choice.items[0], out);
    err = make_order(rt, false, &order);
    if (!err)
        err = try_order(rt, &order, out);
    free(order.items);
    return err;
}

static int get_selected(ferry_runtime *rt, ferry_device **out)
{
    ferry_device *dev;
    int err;

    ferry__runtime_lock(rt);
    dev = rt->selected;
    ferry__runtime_unlock(rt);
    if (!dev) {
        err = open_selected(rt, &dev);
        if (err)
            return err;
        ferry__runtime_lock(rt);
        if (rt->selected)
            dev = rt->selected; /* another thread has selected a device meanwhile */
        else
            ferry__log(FERRY_LOG_INFO, "selected: %s", ferry_device_name(dev));
        rt->selected = dev;
        ferry__runtime_unlock(rt);
    }
    *out = dev;
    return 0;
}

int ferry_runtime_get_device(ferry_runtime *rt, const char *name, ferry_device **out)
{
    struct ferry__choice_item item;
    char why[128];

    if (!rt || !out)
        return ferry__error(FERRY_EINVAL, "ferry_runtime_get_device: %s is NULL",
                            rt ? "out" : "rt");
    if (!name)
        return get_selected(rt, out);
    if (ferry__choice_parse_item(name, strlen(name), &item, why))
        return ferry__error(FERRY_EINVAL, "ferry_runtime_get_device: %s", why);
    return open_item(rt, &item, out);
}

int ferry_device_sibling(ferry_device *dev, const char *name, ferry_device **out)
{
    ferry_runtime *rt;
    int err;

    if (!dev || !name || !out)
        return ferry__error(FERRY_EINVAL, "ferry_device_sibling: %s is NULL",
                            !dev    ? "dev"
                            : !name ? "name"
                                    : "out");
    rt = ferry__runtime_of(dev);
    if (!rt)
        return ferry__error(FERRY_EINVAL, "%s: %s is to come from its runtime, which is closed",
                            ferry_device_name(dev), name);
    err = ferry_runtime_get_device(rt, name, out);
    ferry__runtime_drop(rt);
    return err;
}

/* ---- all devices ---------------------------------------------------------------------------- */

struct listing {
    ferry_device **devices;
    size_t count, room;
};

static int list_device(struct listing *listing, ferry_device *dev)
{
    for (size_t i = 0; i < listing->count; i++)
        if (listing->devices[i] == dev)
            return 0;
    if (listing->count == listing->room) {
        size_t room = listing->room ? 2 * listing->room : 8;
        ferry_device **longer = realloc(listing->devices, room * sizeof(ferry_device *));

        if (!longer)
            return ferry__error(FERRY_ENOMEM, "no memory for the list of devices");
        listing->devices = longer;
        listing->room = room;
    }
    listing->devices[listing->count++] = dev;
    return 0;
}

/*
 * Lists a plugin's devices. A plugin that fails has a line in the report; only a lack of memory
 * ends the listing.
 */
static int list_plugin(ferry_runtime *rt, const struct ferry__choice_item *item,
                       struct listing *listing)
{
    struct ferry__candidate *candidate = ferry__loader_find(rt->search, item->name);
    bool all = item->index == FERRY__ANY_INDEX;
    const struct ferry__plugin *plugin;
    uint32_t end;
    int err = 0;

    if (!candidate || ferry__runtime_open_plugin(rt, candidate, &plugin) != 0)
        return 0;
    end = all ? ferry__registry_count(plugin) : item->index + 1;
    for (uint32_t i = all ? 0 : item->index; i < end && !err; i++) {
        ferry_device *dev;

        if (get_device(rt, plugin, i, &dev) == 0)
            err = list_device(listing, dev);
        else
            ferry__log(FERRY_LOG_WARN, "%s", ferry_last_error());
    }
    return err;
}

int ferry_runtime_enumerate(ferry_runtime *rt, int *out_count)
{
    struct listing listing = { 0 };
    struct order order;
    int err;

    if (!rt || !out_count)
        return ferry__error(FERRY_EINVAL, "ferry_runtime_enumerate: %s is NULL",
                            rt ? "out_count" : "rt");
    err = make_order(rt, true, &order);
    for (size_t i = 0; !err && i < order.count; i++)
        err = list_plugin(rt, &order.items[i], &listing);
    free(order.items);
    if (err) {
        free(listing.devices);
        return err;
    }
    ferry__runtime_lock(rt);
    free(rt->listed);
    rt->listed = listing.devices;
    rt->listed_count = (int)listing.count;
    ferry__runtime_unlock(rt);
    *out_count = (int)listing.count;
    return 0;
}

int ferry_runtime_device_count(ferry_runtime *rt)
{
    int count;

    if (!rt)
        return 0;
    ferry__runtime_lock(rt);
    count = rt->listed_count;
    ferry__runtime_unlock(rt);
    return count;
}

int ferry_runtime_device_at(ferry_runtime *rt, int index, ferry_device **out)
{
    ferry_device *dev = NULL;
    int count;

    if (!rt || !out)
        return ferry__error(FERRY_EINVAL, "ferry_runtime_device_at: %s is NULL", rt ? "out" : "rt");
    ferry__runtime_lock(rt);
    count = rt->listed_count;
    if (index >= 0 && index < count)
        dev = rt->listed[index];
    ferry__runtime_unlock(rt);
    if (!dev)
        return ferry__error(FERRY_EINVAL, "ferry_runtime_device_at: index %d of %d devices", index,
                            count);
    *out = dev;
    return 0;
}

/* ---- the program's own objects -------------------------------------------------------------- */

int ferry_device_adopt(ferry_runtime *rt, const char *plugin, const ferry_native_object *items,
                       size_t n, ferry_device **out)
{
    struct ferry__candidate *candidate;
    const struct ferry__plugin *opened;
    ferry_device *dev;
    int err;

    if (!rt || !plugin || !out || (n && !items))
        return ferry__error(FERRY_EINVAL, "ferry_device_adopt: %s is NULL",
                            !rt       ? "rt"
                            : !plugin ? "plugin"
                            : !out    ? "out"
                                      : "items");
    for (size_t i = 0; i < n; i++)
        if (!items[i].what)
            return ferry__error(FERRY_EINVAL, "ferry_device_adopt: item %zu has no name", i);
    candidate = ferry__loader_find(rt->search, plugin);
    if (!candidate)
        return ferry__runtime_unknown(rt, plugin);
    err = ferry__runtime_open_plugin(rt, candidate, &opened);
    if (!err)
        err = ferry__device_adopt(opened, items, n, rt->strict, &dev);
    if (!err)
        err = hold(rt, dev);
    if (!err)
        *out = dev;
    return err;
}
