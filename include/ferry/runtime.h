/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file runtime.h
 * The runtime: reads the configuration, finds and opens plugins and devices, and reports the result
 * for each plugin.
 *
 * An option set by the API overrides the environment, which overrides plugins.conf, which overrides
 * the built-in default. See plugins.conf(5) for files, keys and variables.
 */
#ifndef FERRY_RUNTIME_H
#define FERRY_RUNTIME_H

#include <ferry/status.h>

FERRY_BEGIN_DECLS

/**
 * The plugins that the configuration allows, and the devices of those that are open. Opaque; safe
 * from any thread.
 */
typedef struct ferry_runtime ferry_runtime;

/** A device of a plugin, such as cuda:1. Opaque; see device.h. */
typedef struct ferry_device ferry_device;

/**
 * Values of ferry_runtime_options.strict: whether arithmetic that a plugin does not offer is an
 * error instead of being computed on the host. UNSET is 0: FERRY_STRICT decides, or else the files;
 * by default it is off.
 */
#define FERRY_STRICT_UNSET 0
#define FERRY_STRICT_ON    1
#define FERRY_STRICT_OFF   (-1)

/** Options of ferry_runtime_open. Zero the structure, then set struct_size. */
typedef struct ferry_runtime_options {
    size_t struct_size; /* sizeof(ferry_runtime_options) of the caller */
    /* path of the one configuration file to read; NULL: FERRY_CONF, or the two usual files */
    const char *conf;
    /* as FERRY_BACKEND: "cuda", "opencl:1", "cuda,cpu", "^cuda"; NULL: environment, then files */
    const char *backend;
    int strict; /* FERRY_STRICT_…; anything else is FERRY_EINVAL */
    /* folders with plugins to search after the installed ones: absolute paths with colons between
     * them; of two plugins of one name the installed one is used; NULL: FERRY_PLUGIN_PATH_LAST */
    const char *plugin_path_last;
} ferry_runtime_options;

/** One line of the load report. Strings belong to the runtime and live as long as it does. */
typedef struct ferry_runtime_candidate_info {
    size_t struct_size; /* sizeof(ferry_runtime_candidate_info) of the library */
    const char *name;   /* of the plugin; from its file's name where its note could not be read */
    const char *path;   /* of the file, as looked for */
    const char *origin; /* its source: "plugins.conf:12", "FERRY_PLUGIN_PATH", "plugindir" … */
    /** The last stage reached: found, permissions, ELF, ABI, dlopen, open, devices. */
    const char *stage;
    const char *reason; /* why it went no further, or "" */
    const char *hint;   /* how to correct it, or "" */
    bool ok;            /* no objection up to this stage */
} ferry_runtime_candidate_info;

/** One option of a plugin. Strings live as long as the process; unknown: "". */
typedef struct ferry_runtime_option_info {
    size_t struct_size;        /* sizeof(ferry_runtime_option_info) of the caller */
    const char *name;          /* "devices", as for ferry_runtime_set_option */
    const char *type;          /* string, integer, real, boolean, size, enum */
    const char *values;        /* of an enum: "on|off|auto" */
    const char *default_value; /* as it would be written */
    const char *description;   /* one line */
    const char *value;         /* in force */
    const char *origin;        /* of the value: "plugins.conf:7", "API"; "" if it is the default */
    bool core;                 /* true: a key of ferry's own, such as pool_limit */
} ferry_runtime_option_info;

/**
 * Reads configuration and environment, searches for plugins, and opens none of them yet.
 *
 * `options` may be NULL. On success *out is a runtime, to be closed with ferry_runtime_close;
 * opened plugins are shared by all runtimes of the process. Errors: FERRY_ECONF for a configuration
 * that cannot be parsed (file and line in the message), FERRY_EINVAL, FERRY_ENOMEM; *out is then
 * unchanged. A folder or a plugin that cannot be used is not an error here but a line of the load
 * report. Any thread; it reads the environment, which must not change meanwhile.
 */
FERRY_API int ferry_runtime_open(const ferry_runtime_options *options, ferry_runtime **out);

/**
 * Closes the runtime. NULL is accepted. Memories, blobs, queues and events that still exist keep
 * their devices open, so that any order of destruction is safe; other borrowed device pointers
 * become invalid.
 */
FERRY_API void ferry_runtime_close(ferry_runtime *rt);

/**
 * Sets an option of a plugin ("sim", "devices", "2"), as `option.devices = 2` in its section of
 * plugins.conf would; a core key of any plugin (pool_limit, budget) likewise. Copies its strings;
 * the last call for a key wins. Errors: FERRY_EBUSY once that plugin is open in this process,
 * FERRY_EINVAL for NULL or empty names, FERRY_ENOMEM.
 */
FERRY_API int ferry_runtime_set_option(ferry_runtime *rt, const char *plugin, const char *key,
                                       const char *value);

/**
 * The device of that name ("cuda:1"; "cuda" is cuda:0), or with NULL the selected one, opened if it
 * was not yet.
 *
 * *out is borrowed from the runtime. Choosing by name opens that plugin and no other; NULL follows
 * the order of FERRY_BACKEND or plugins.conf and stops at the first that works. Errors:
 * FERRY_ENODEV with the load report's reasons, the plugin's own error if exactly one plugin was
 * requested; *out is then untouched. Callable from any thread.
 */
FERRY_API int ferry_runtime_get_device(ferry_runtime *rt, const char *name, ferry_device **out);

/**
 * Opens every plugin that the configuration allows (never one that FERRY_BACKEND rules out) and
 * counts their devices. No device is opened. A plugin that fails is a line of the report, not an
 * error; a count of 0 is success.
 */
FERRY_API int ferry_runtime_enumerate(ferry_runtime *rt, int *out_count);

/** How many devices the latest ferry_runtime_enumerate found; 0 before the first, and for NULL. */
FERRY_API int ferry_runtime_device_count(ferry_runtime *rt);

/**
 * Device `index`, 0 … ferry_runtime_device_count − 1; the order is that of preference and does not
 * change. *out is borrowed; the device is opened on its first use. FERRY_EINVAL for an index
 * outside.
 */
FERRY_API int ferry_runtime_device_at(ferry_runtime *rt, int index, ferry_device **out);

/**
 * The device that a handle belongs to: the first of the runtime's devices for which
 * ferry_device_owns returns 1, in no given order, in *out, borrowed; NULL if there is no such
 * device. Only open devices are asked, and those that are lost or cannot tell are skipped, so NULL
 * means that no device is known to own it. Errors: FERRY_EINVAL for NULL; if no device owns it, the
 * error of asking one (FERRY_EDEVICE, FERRY_EFORKED). *out is then unchanged. Callable from any
 * thread.
 */
FERRY_API int ferry_runtime_find_owner(ferry_runtime *rt, const void *handle, ferry_device **out);

/**
 * Loads a shared object other than a plugin, permanently, under the rules for plugins (owner and
 * mode, an ELF file of this machine, the note that FERRY_PLUGIN makes), and finds a symbol of it;
 * *out is valid for the life of the process. A refused file stays refused until the runtime is
 * closed. FERRY_EPERM, FERRY_EABI, FERRY_EIO if it cannot be read, and FERRY_EPLUGIN, also
 * for a file that does not exist, with the reason and a remedy; FERRY_EINVAL, FERRY_ENOMEM. Runs
 * the file's constructors. Callable from any thread.
 */
FERRY_API int ferry_runtime_load_library(ferry_runtime *rt, const char *path, const char *symbol,
                                         const void **out);

/**
 * The files that `library` under [layers] in plugins.conf names, with commas between them; "" for
 * none.
 */
FERRY_API const char *ferry_runtime_layer_libraries(const ferry_runtime *rt);

/** Lines of the load report, which does not grow; 0 for NULL. */
FERRY_API int ferry_runtime_candidate_count(const ferry_runtime *rt);

/**
 * Line `index` of the load report, 0 … ferry_runtime_candidate_count − 1, in the order of search.
 * *out is borrowed, valid until the runtime is closed; a plugin's stage moves on as it is opened.
 * FERRY_EINVAL for an index outside.
 */
FERRY_API int ferry_runtime_candidate_at(ferry_runtime *rt, int index,
                                         const ferry_runtime_candidate_info **out);

/**
 * How many options a plugin has, ferry's own keys among them; opens the plugin. Errors: as
 * ferry_runtime_get_device by name; *out_count is then untouched.
 */
FERRY_API int ferry_runtime_option_count(ferry_runtime *rt, const char *plugin, int *out_count);

/**
 * Option `index` of a plugin, 0 … ferry_runtime_option_count − 1, and the value in force, ferry's
 * own keys first; opens the plugin. The caller sets out->struct_size; only the members that fit in
 * it are written. FERRY_EINVAL for an index outside; other errors as ferry_runtime_get_device by
 * name.
 */
FERRY_API int ferry_runtime_option_at(ferry_runtime *rt, const char *plugin, int index,
                                      ferry_runtime_option_info *out);

/**
 * Probes a plugin in a child process: whether it can be loaded and opened, how many devices it
 * finds, and whether each of them opens, within `timeout_ms` (0: 10 seconds). A driver that
 * crashes, hangs or exits there does no harm here, and processes that it starts there are killed. A
 * device that fails to open is a warning in the log as long as another opens.
 *
 * The result becomes the plugin's line of the load report; after a failure this runtime refuses to
 * load the plugin, with the same reason. A plugin that is open already is not probed. On success
 * *out_count (may be NULL) is its number of devices, 1 or more. Errors: the error of opening it;
 * FERRY_EPLUGIN if it crashed or did not answer in time; FERRY_EIO if no process could be created.
 *
 * With NULL for a plugin, each plugin that ferry_runtime_enumerate would open is probed, in a child
 * of its own. A failure is then a line of the report and not an error; *out_count is the number of
 * all devices that were found.
 *
 * The child is forked: in a program with several threads it may inherit a lock that another thread
 * held, and hang until the timeout. Callable from any thread.
 */
FERRY_API int ferry_runtime_probe(ferry_runtime *rt, const char *plugin, int timeout_ms,
                                  int *out_count);

FERRY_END_DECLS

#endif
