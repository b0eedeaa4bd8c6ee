/* SPDX-License-Identifier: BSD-2-Clause */
#include "tool.h"

#include <stdio.h>
#include <string.h>

/* `ferry devices`: lists the devices, and the selected one. */

static const char *kind(const ferry_device_properties *p)
{
    if (p->host_memory)
        return "host memory";
    if (p->host_processors)
        return p->unified ? "unified, on the CPU" : "discrete, on the CPU";
    return p->unified ? "unified" : "discrete";
}

/* The free memory of the device if it is open; a query would open another device. */
static bool memory_free(ferry_device *dev, const ferry_device *selected, uint64_t *out)
{
    return dev == selected && ferry_device_memory_available(dev, out) == FERRY_OK;
}

static json_t *json_device(ferry_device *dev, const ferry_device *selected)
{
    const ferry_device_properties *p = ferry_device_get_properties(dev);
    uint64_t bytes = 0;
    bool known = memory_free(dev, selected, &bytes);

    return json_pack(
        "{s:o, s:o, s:o, s:I, s:o, s:b, s:b, s:b, s:b, s:I, s:I, s:o, s:o}", "name",
        tool_json_string(p->name), "plugin", tool_json_string(p->plugin), "description",
        tool_json_string(p->description), "memory_total", (json_int_t)p->memory_total,
        "memory_free", known ? json_integer((json_int_t)bytes) : json_null(), "unified",
        p->unified != 0, "host_memory", p->host_memory != 0, "discrete", p->discrete != 0,
        "host_processors", p->host_processors != 0, "offset_alignment",
        (json_int_t)p->offset_alignment, "max_binding", (json_int_t)p->max_binding, "uuid",
        tool_json_string(p->uuid), "pci", tool_json_string(p->pci));
}

/*
 * Whether the plugin was opened: the configuration allows it and its file is valid, so that the
 * recorded reason is out of date.
 */
static bool was_opened(const ferry_runtime_candidate_info *c)
{
    return strcmp(c->stage, "dlopen") == 0 || strcmp(c->stage, "open") == 0 ||
           strcmp(c->stage, "devices") == 0;
}

/* The next plugin without a device, from candidate *index on; NULL at the end. */
static const ferry_runtime_candidate_info *next_without_devices(ferry_runtime *rt, int *index)
{
    const ferry_runtime_candidate_info *c;

    while (*index < ferry_runtime_candidate_count(rt))
        if (ferry_runtime_candidate_at(rt, (*index)++, &c) == FERRY_OK && !c->ok && c->name[0] &&
            was_opened(c))
            return c;
    return NULL;
}

static json_t *json_missing(ferry_runtime *rt)
{
    json_t *missing = json_array();
    const ferry_runtime_candidate_info *c;
    int i = 0;

    while ((c = next_without_devices(rt, &i)))
        json_array_append_new(missing, json_pack("{s:o, s:o}", "plugin", tool_json_string(c->name),
                                                 "reason", tool_json_string(c->reason)));
    return missing;
}

static int print_json(ferry_runtime *rt, int count, const ferry_device *selected)
{
    json_t *devices = json_array();

    for (int i = 0; i < count; i++) {
        ferry_device *dev;

        if (ferry_runtime_device_at(rt, i, &dev)) {
            json_decref(devices);
            return tool_ferry_error();
        }
        if (json_array_append_new(devices, json_device(dev, selected)) != 0) {
            json_decref(devices);
            return tool_error(TOOL_FAILURE, "out of memory");
        }
    }
    return tool_json_print(
        json_pack("{s:o, s:o, s:o}", "selected",
                  selected ? tool_json_string(ferry_device_name(selected)) : json_null(), "devices",
                  devices, "missing", json_missing(rt)));
}

static bool add_row(struct tool_table *t, ferry_device *dev, const ferry_device *selected)
{
    const ferry_device_properties *p = ferry_device_get_properties(dev);
    char total[32], available[32];
    uint64_t bytes = 0;
    const char *cells[6] = { dev == selected ? "*" : "",
                             p->name,
                             tool_bytes(p->memory_total, total, sizeof(total)),
                             "-",
                             kind(p),
                             p->description };

    if (memory_free(dev, selected, &bytes))
        cells[3] = tool_bytes(bytes, available, sizeof(available));
    return tool_table_add(t, cells);
}

static int print_table(ferry_runtime *rt, int count, const ferry_device *selected)
{
    static const char *const headings[] = {
        "", "DEVICE", ">MEMORY", ">FREE", "KIND", "DESCRIPTION"
    };
    struct tool_table *t = tool_table_create(headings, 6);
    const ferry_runtime_candidate_info *c;
    int status = TOOL_OK;

    for (int i = 0; i < count && status == TOOL_OK; i++) {
        ferry_device *dev;

        if (ferry_runtime_device_at(rt, i, &dev))
            status = tool_ferry_error();
        else if (!t || !add_row(t, dev, selected))
            status = tool_error(TOOL_FAILURE, "out of memory");
    }
    if (status == TOOL_OK && count > 0)
        tool_table_print(t, tool_width());
    tool_table_destroy(t);
    for (int i = 0; status == TOOL_OK && selected && (c = next_without_devices(rt, &i));)
        tool_printf("%s has no device: %s\n", c->name, c->reason);
    return status;
}

/* `timeout` is that of the probe, in seconds; 0 means no probe. */
static int list(ferry_runtime *rt, unsigned timeout, bool json)
{
    ferry_device *selected = NULL;
    int count = 0, status, err;

    if (timeout && ferry_runtime_probe(rt, NULL, (int)timeout * 1000, NULL))
        return tool_ferry_error();
    err = ferry_runtime_get_device(rt, NULL, &selected);
    if (err)
        tool_ferry_error();
    if (ferry_runtime_enumerate(rt, &count))
        return tool_ferry_error();
    status = json ? print_json(rt, count, selected) : print_table(rt, count, selected);
    return err ? TOOL_FAILURE : status;
}

int cmd_devices(const struct tool_command *self, int argc, char **argv)
{
    const char *timeout = "10";
    bool json = false, probe = false;
    const struct tool_option options[] = { { "--json", NULL, &json, NULL },
                                           { "--probe", NULL, &probe, NULL },
                                           { "--timeout", NULL, NULL, &timeout },
                                           { NULL, NULL, NULL, NULL } };
    int n = tool_parse(self, argc, argv, options, 0);
    ferry_runtime *rt = NULL;
    unsigned seconds;
    int status;

    if (n < 0)
        return tool_parse_status(n);
    seconds = tool_parse_timeout(self, timeout);
    if (!seconds)
        return TOOL_USAGE;
    if (ferry_runtime_open(NULL, &rt))
        return tool_ferry_error();
    status = list(rt, probe ? seconds : 0, json);
    ferry_runtime_close(rt);
    return status;
}
