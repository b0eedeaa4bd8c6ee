/* SPDX-License-Identifier: BSD-2-Clause */
/* Enumerates the devices. No context is created here. */
#define _GNU_SOURCE
#include "opencl.h"

#include <clblast_c.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Constants of extensions, which headers may lack. */
#define INFO_UUID_KHR      0x106A
#define INFO_PCI_KHR       0x410F
#define INFO_PCI_BUS_NV    0x4008
#define INFO_PCI_SLOT_NV   0x4009

struct pci {
    cl_uint domain, bus, device, function;
};

static struct {
    pthread_mutex_t lock;
    bool found, watched;
    struct ocl_unit *at;
    uint32_t count;
} units = { .lock = PTHREAD_MUTEX_INITIALIZER };

void ocl_device_string(cl_device_id id, cl_device_info what, char *out, size_t size)
{
    size_t need = 0;
    char *text = NULL;

    if (!clGetDeviceInfo(id, what, 0, NULL, &need) && need)
        text = calloc(1, need + 1);
    if (!text || clGetDeviceInfo(id, what, need, text, NULL))
        *out = '\0';
    else
        snprintf(out, size, "%s", text + strspn(text, " "));
    free(text);
}

void ocl_platform_string(cl_platform_id id, cl_platform_info what, char *out, size_t size)
{
    size_t need = 0;
    char *text = NULL;

    if (!clGetPlatformInfo(id, what, 0, NULL, &need) && need)
        text = calloc(1, need + 1);
    if (!text || clGetPlatformInfo(id, what, need, text, NULL))
        *out = '\0';
    else
        snprintf(out, size, "%s", text);
    free(text);
}

bool ocl_is_called(cl_device_id id, const char *name)
{
    char text[64];

    ocl_device_string(id, CL_DEVICE_NAME, text, sizeof(text));
    return strncmp(text, name, strlen(name)) == 0;
}

bool ocl_has_extension(cl_device_id id, const char *name)
{
    char text[8192];
    const char *at = text;
    size_t length = strlen(name);

    ocl_device_string(id, CL_DEVICE_EXTENSIONS, text, sizeof(text));
    while ((at = strstr(at, name))) {
        if ((at == text || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
        at += length;
    }
    return false;
}

/* ---- finding ---- */

/* Whether the device's version, a text such as "OpenCL 1.2 …", is below 1.2. */
static bool is_too_old(cl_device_id id)
{
    char text[64];
    int major = 0, minor = 0;

    ocl_device_string(id, CL_DEVICE_VERSION, text, sizeof(text));
    return sscanf(text, "OpenCL %d.%d", &major, &minor) != 2 || major * 100 + minor < 102;
}

static const char *why_not(cl_device_id id)
{
    cl_bool available = CL_FALSE, compiler = CL_FALSE;

    if (clGetDeviceInfo(id, CL_DEVICE_AVAILABLE, sizeof(available), &available, NULL) || !available)
        return "the device is not available";
    if (clGetDeviceInfo(id, CL_DEVICE_COMPILER_AVAILABLE, sizeof(compiler), &compiler, NULL) ||
        !compiler)
        return "the device has no compiler";
    return is_too_old(id) ? "its OpenCL version is below 1.2" : NULL;
}

static int add_unit(cl_platform_id platform, const char *platform_name, cl_device_id id)
{
    struct ocl_unit *grown;
    const char *why = why_not(id);
    char name[96];

    if (why) {
        ocl_device_string(id, CL_DEVICE_NAME, name, sizeof(name));
        ocl_host->log(FERRY_LOG_WARN, "%s on %s is skipped: %s", name, platform_name, why);
        return 0;
    }
    grown = realloc(units.at, (units.count + 1) * sizeof(*grown));
    if (!grown)
        return ocl_host->error(FERRY_ENOMEM, "out of memory for the list of devices");
    units.at = grown;
    memset(&grown[units.count], 0, sizeof(*grown));
    grown[units.count].platform = platform;
    grown[units.count].id = id;
    (void)clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof(cl_device_type), &grown[units.count].type,
                          NULL);
    snprintf(grown[units.count].platform_name, sizeof(grown->platform_name), "%s", platform_name);
    units.count++;
    return 0;
}

/* Adds a platform's devices; a platform that fails is logged and skipped. */
static int add_platform(cl_platform_id platform, const struct ocl_settings *set)
{
    cl_uint count = 0;
    cl_device_id *ids;
    char name[64];
    int err = 0, error;

    ocl_platform_string(platform, CL_PLATFORM_NAME, name, sizeof(name));
    if (*set->platform && !strcasestr(name, set->platform))
        return 0;
    error = clGetDeviceIDs(platform, set->type, 0, NULL, &count);
    if (error == CL_DEVICE_NOT_FOUND || (!error && !count))
        return 0;
    ids = error ? NULL : calloc(count, sizeof(*ids));
    if (ids)
        error = clGetDeviceIDs(platform, set->type, count, ids, NULL);
    if (error || !ids)
        ocl_host->log(FERRY_LOG_WARN, "platform %s is skipped: clGetDeviceIDs: %s", name,
                      ocl_error_name(error ? error : CL_OUT_OF_HOST_MEMORY));
    for (cl_uint i = 0; ids && i < count && !error && !err; i++)
        err = add_unit(platform, name, ids[i]);
    free(ids);
    return err;
}

static int rank(cl_device_type type)
{
    return type & CL_DEVICE_TYPE_GPU ? 0 : type & CL_DEVICE_TYPE_ACCELERATOR ? 1 : 2;
}

static bool is_before(const struct ocl_unit *a, const struct ocl_unit *b)
{
    int order = rank(a->type) - rank(b->type);

    return order < 0 || (order == 0 && strcmp(a->platform_name, b->platform_name) < 0);
}

/*
 * Sorts the devices, because the loader's order is the undefined order of files in a folder: GPUs
 * first, then the platforms by name; a platform's devices keep their order.
 */
static void sort_units(void)
{
    for (uint32_t i = 1; i < units.count; i++) {
        struct ocl_unit unit = units.at[i];
        uint32_t to = i;

        for (; to > 0 && is_before(&unit, &units.at[to - 1]); to--)
            units.at[to] = units.at[to - 1];
        units.at[to] = unit;
    }
}

static int no_platform(int error)
{
    char broken[512];

    if (error != OCL_PLATFORM_NOT_FOUND && error)
        return ocl_fail("clGetPlatformIDs", error);
    if (ocl_icd_check(broken, sizeof(broken)))
        return ocl_host->error(FERRY_ENODEV, "no OpenCL driver works: %s", broken);
    return ocl_host->error(FERRY_ENODEV, "clGetPlatformIDs: CL_PLATFORM_NOT_FOUND_KHR: no OpenCL "
                                         "driver is installed (an ICD, such as pocl-opencl-icd)");
}

/* Reports that there are platforms but no usable device. */
static int no_unit(const cl_platform_id *platforms, cl_uint count, const struct ocl_settings *set)
{
    char first[64];
    bool asked = *set->platform || set->type != CL_DEVICE_TYPE_ALL;

    ocl_platform_string(platforms[0], CL_PLATFORM_NAME, first, sizeof(first));
    if (!asked)
        return ocl_host->error(FERRY_ENODEV, "no device on %u platform%s (%s%s) can be used", count,
                               count > 1 ? "s" : "", first, count > 1 ? ", …" : "");
    return ocl_host->error(FERRY_ENODEV,
                           "no device on %u platform%s (%s%s) matches option.platform = %.64s and "
                           "option.type = %s",
                           count, count > 1 ? "s" : "", first, count > 1 ? ", …" : "",
                           *set->platform ? set->platform : "(any)", set->type_name);
}

static int find_locked(void)
{
    struct ocl_settings set;
    cl_uint count = 0;
    cl_platform_id *platforms;
    char broken[512];
    int err = ocl_settings_read(&set), error;

    if (err)
        return err;
    error = clGetPlatformIDs(0, NULL, &count);
    if (error || !count)
        return no_platform(error);
    platforms = calloc(count, sizeof(*platforms));
    if (!platforms)
        return ocl_host->error(FERRY_ENOMEM, "out of memory for the list of platforms");
    error = clGetPlatformIDs(count, platforms, NULL);
    if (error)
        err = ocl_fail("clGetPlatformIDs", error);
    for (cl_uint i = 0; i < count && !err; i++)
        err = add_platform(platforms[i], &set);
    (void)ocl_icd_check(broken, sizeof(broken));
    if (!err && !units.count)
        err = no_unit(platforms, count, &set);
    free(platforms);
    if (err) {
        units.count = 0;
        return err;
    }
    sort_units();
    units.found = true;
    return 0;
}

/*
 * Releases CLBlast's programs at exit. The exit handlers of drivers that are loaded now run before
 * those of CLBlast, which was loaded earlier and would release its programs too late.
 */
static void forget_programs(void)
{
    (void)CLBlastClearCache();
}

int ocl_units_find(void)
{
    int err;

    pthread_mutex_lock(&units.lock);
    err = units.found ? 0 : find_locked();
    if (!err && !units.watched)
        units.watched = atexit(forget_programs) == 0;
    pthread_mutex_unlock(&units.lock);
    return err;
}

const struct ocl_unit *ocl_unit_at(uint32_t index)
{
    return units.found && index < units.count ? &units.at[index] : NULL;
}

uint32_t ocl_unit_index(cl_device_id id)
{
    for (uint32_t i = 0; units.found && i < units.count; i++)
        if (units.at[i].id == id)
            return i;
    return UINT32_MAX;
}

int ocl_device_count(void *plugin, uint32_t *out)
{
    int err = ocl_units_find();

    (void)plugin;
    if (!err)
        *out = units.count;
    return err;
}

/* ---- description ---- */

static void set_uuid(cl_device_id id, ferry_plugin_properties *out)
{
    unsigned char bytes[16];
    size_t at = 0;

    if (!ocl_has_extension(id, "cl_khr_device_uuid") ||
        clGetDeviceInfo(id, INFO_UUID_KHR, sizeof(bytes), bytes, NULL))
        return;
    for (unsigned i = 0; i < 16; i++)
        at += (size_t)snprintf(out->uuid + at, sizeof(out->uuid) - at, "%s%02x",
                               i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
}

static void set_pci(cl_device_id id, ferry_plugin_properties *out)
{
    struct pci p = { 0, 0, 0, 0 };
    cl_uint slot = 0;

    if (ocl_has_extension(id, "cl_khr_pci_bus_info") &&
        !clGetDeviceInfo(id, INFO_PCI_KHR, sizeof(p), &p, NULL)) {
        /* the device has all four */
    } else if (ocl_has_extension(id, "cl_nv_device_attribute_query") &&
               !clGetDeviceInfo(id, INFO_PCI_BUS_NV, sizeof(p.bus), &p.bus, NULL) &&
               !clGetDeviceInfo(id, INFO_PCI_SLOT_NV, sizeof(slot), &slot, NULL)) {
        p.device = slot >> 3;
        p.function = slot & 7;
    } else {
        return;
    }
    snprintf(out->pci, sizeof(out->pci), "%04x:%02x:%02x.%x", p.domain, p.bus, p.device,
             p.function);
}

bool ocl_is_processor(cl_device_id id)
{
    cl_device_type type = 0;

    (void)clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
    return (type & CL_DEVICE_TYPE_CPU) && !(type & CL_DEVICE_TYPE_GPU);
}

bool ocl_is_unified(cl_device_id id, cl_device_type type, enum ocl_switch zero_copy)
{
    cl_bool unified = CL_FALSE;

    (void)clGetDeviceInfo(id, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(unified), &unified, NULL);
    return zero_copy == OCL_ON ||
           (zero_copy == OCL_AUTO && (unified || (type & CL_DEVICE_TYPE_CPU)));
}

static void describe(cl_device_id id, cl_platform_id platform, ferry_plugin_properties *out)
{
    char device[96], name[64];
    cl_ulong memory = 0, largest = 0;

    ocl_device_string(id, CL_DEVICE_NAME, device, sizeof(device));
    ocl_platform_string(platform, CL_PLATFORM_NAME, name, sizeof(name));
    snprintf(out->description, sizeof(out->description), "%.80s (%.40s)", device, name);
    (void)clGetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(memory), &memory, NULL);
    (void)clGetDeviceInfo(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(largest), &largest, NULL);
    out->memory_total = memory;
    out->max_alloc = largest;
    set_uuid(id, out);
    set_pci(id, out);
}

int ocl_properties(void *plugin, uint32_t index, void *device, ferry_plugin_properties *out)
{
    const struct ocl_device *dev = device;
    const struct ocl_unit *unit = dev ? NULL : ocl_unit_at(index);
    struct ocl_settings set;
    ferry_plugin_properties p = { 0 };
    size_t size = out->struct_size < sizeof(p) ? out->struct_size : sizeof(p);
    bool unified;
    int err;

    (void)plugin;
    if (!dev && !unit)
        return ocl_host->error(FERRY_EINVAL, "no device has the index %" PRIu32, index);
    if (unit) {
        err = ocl_settings_read(&set);
        if (err)
            return err;
    }
    describe(dev ? dev->id : unit->id, dev ? dev->platform : unit->platform, &p);
    unified = dev ? dev->zero_copy : ocl_is_unified(unit->id, unit->type, set.zero_copy);
    p.struct_size = out->struct_size;
    p.flags = unified ? FERRY_DEVICE_UNIFIED : 0;
    if (ocl_is_processor(dev ? dev->id : unit->id))
        p.flags |= FERRY_DEVICE_HOST_PROCESSORS;
    else
        p.flags |= FERRY_DEVICE_MAP_MAY_COPY;
    p.sync_domain = dev ? (uint64_t)(uintptr_t)dev->context->context : 0;
    memcpy(out, &p, size);
    return 0;
}
