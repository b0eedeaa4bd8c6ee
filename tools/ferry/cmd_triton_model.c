/* SPDX-License-Identifier: BSD-2-Clause */
#define _XOPEN_SOURCE 700
#include "net.h"

#include "triton/describe.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * `ferry triton-model`: makes a model folder for the Triton server. A version is written beside its
 * final folder and renamed, so that a server that polls the repository only sees complete versions.
 */

struct folder {
    const char *path; /* REPOSITORY/NAME */
    const char *name; /* the last component of `path` */
    const char *net, *weights, *device;
    const char *threads; /* a number as text, or NULL */
    char written[PATH_MAX], version[PATH_MAX]; /* the version's folder before and after the
                                                * renaming */
    int64_t max_batch, instances;
    bool created; /* this run has created `path` */
};

/* ---- files ----------------------------------------------------------------------------------- */

static int fail(const char *path)
{
    return tool_error(TOOL_FAILURE, "%s: %s", path, strerror(errno));
}

static int copy_stream(FILE *in, FILE *out)
{
    char piece[65536];
    size_t n;

    while ((n = fread(piece, 1, sizeof(piece), in)) > 0)
        if (fwrite(piece, 1, n, out) != n)
            return -1;
    return ferror(in) ? -1 : 0;
}

static int copy_file(const char *from, const char *folder, const char *name)
{
    char path[PATH_MAX + 64];
    FILE *in = fopen(from, "rb"), *out;
    int bad;

    if (!in)
        return fail(from);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    out = fopen(path, "wb");
    bad = out ? copy_stream(in, out) : -1;
    if (out && fclose(out) != 0)
        bad = -1;
    fclose(in);
    return bad ? fail(path) : TOOL_OK;
}

static const char *suffix_of(const char *path)
{
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');

    return dot && (!slash || dot > slash) ? dot : "";
}

/*
 * The name of the definition: net.prototxt; or net and the file's suffix if the file contains the
 * weights too.
 */
static const char *name_of_net(const struct folder *f)
{
    const char *suffix = suffix_of(f->net);

    return strcmp(suffix, ".onnx") == 0         ? "net.onnx"
           : strcmp(suffix, ".caffemodel") == 0 ? "net.caffemodel"
                                                : "net.prototxt";
}

/* Copies the definition and the weights; weights keep their suffix. */
static int copy_files(const struct folder *f)
{
    char weights[NAME_MAX + 1];
    int status = copy_file(f->net, f->written, name_of_net(f));

    if (status != TOOL_OK || !f->weights)
        return status;
    snprintf(weights, sizeof(weights), "weights%.200s", suffix_of(f->weights));
    return copy_file(f->weights, f->written, weights);
}

/* ---- config.pbtxt ---------------------------------------------------------------------------- */

static void put_string(FILE *to, const char *text)
{
    fputc('"', to);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', to);
        fputc(*text, to);
    }
    fputc('"', to);
}

static void put_tensors(FILE *to, const char *kind, const struct triton_tensor *tensors, size_t n,
                        bool batched)
{
    for (size_t i = 0; i < n; i++) {
        const struct triton_tensor *t = &tensors[i];

        fprintf(to, "%s {\n  name: ", kind);
        put_string(to, t->name);
        fprintf(to, "\n  data_type: %s\n  dims: [", triton_dtype_name(t->dtype));
        for (int axis = batched; axis < t->rank; axis++)
            fprintf(to, "%s %" PRId64, axis > batched ? "," : "", t->dims[axis]);
        fputs(" ]\n}\n", to);
    }
}

static void put_parameter(FILE *to, const char *key, const char *value)
{
    if (!value)
        return;
    fprintf(to, "parameters { key: \"%s\" value { string_value: ", key);
    put_string(to, value);
    fputs(" } }\n", to);
}

static void put_config(FILE *to, const struct folder *f, const struct triton_interface *about)
{
    bool batched = f->max_batch > 0;

    fputs("name: ", to);
    put_string(to, f->name);
    fprintf(to, "\nbackend: \"ferry\"\nmax_batch_size: %" PRId64 "\n", f->max_batch);
    put_tensors(to, "input", about->inputs, about->input_count, batched);
    put_tensors(to, "output", about->outputs, about->output_count, batched);
    if (f->max_batch > 1)
        fputs("dynamic_batching { }\n", to);
    if (f->instances > 1)
        fprintf(to, "instance_group [ { kind: KIND_CPU count: %" PRId64 " } ]\n", f->instances);
    put_parameter(to, "device", f->device);
    put_parameter(to, "threads", f->threads);
}

/*
 * Writes a configuration. An existing one is kept because it belongs to the earlier versions too.
 */
static int write_config(const struct folder *f, const struct triton_interface *about)
{
    char path[PATH_MAX];
    FILE *to;
    bool bad;

    snprintf(path, sizeof(path), "%s/config.pbtxt", f->path);
    to = fopen(path, "wx");
    if (!to && errno == EEXIST) {
        (void)tool_error(TOOL_OK, "note: %s exists and is kept", path);
        return TOOL_OK;
    }
    if (!to)
        return fail(path);
    put_config(to, f, about);
    bad = ferror(to);
    if (fclose(to) == 0 && !bad)
        return TOOL_OK;
    fail(path);
    unlink(path);
    return TOOL_FAILURE;
}

/* ---- the folder ------------------------------------------------------------------------------ */

/* Removes the files and folders that this run made. */
static void unmake(const struct folder *f)
{
    char path[PATH_MAX + NAME_MAX + 2];

    snprintf(path, sizeof(path), "%s/%s", f->written, name_of_net(f));
    unlink(path);
    if (f->weights) {
        snprintf(path, sizeof(path), "%s/weights%s", f->written, suffix_of(f->weights));
        unlink(path);
    }
    rmdir(f->written);
    if (f->created)
        rmdir(f->path);
}

static int make_folders(struct folder *f)
{
    f->created = mkdir(f->path, 0777) == 0;
    if (!f->created && errno != EEXIST)
        return fail(f->path);
    if (access(f->version, F_OK) == 0)
        return tool_error(TOOL_FAILURE, "%s exists; --version sets another number", f->version);
    if (mkdir(f->written, 0777) == 0)
        return TOOL_OK;
    fail(f->written);
    if (f->created)
        rmdir(f->path);
    return TOOL_FAILURE;
}

static int write_folder(struct folder *f, const struct triton_interface *about)
{
    int status = make_folders(f);

    if (status != TOOL_OK)
        return status;
    status = copy_files(f);
    if (status == TOOL_OK)
        status = write_config(f, about);
    if (status == TOOL_OK && rename(f->written, f->version) != 0)
        status = fail(f->version);
    if (status == TOOL_OK)
        tool_printf("%s: %s, batches of up to %" PRId64 "\n", f->version, f->name, f->max_batch);
    else
        unmake(f);
    return status;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int describe(const struct folder *f, const struct net_request *r, bool variable,
                    ferry_runtime **out_rt, ferry_net **out_net, struct triton_interface *out)
{
    int status = net_open(r, out_rt, out_net);

    if (status == TOOL_OK && triton_describe(*out_net, NULL, 0, variable, out))
        status = tool_ferry_error();
    if (status == TOOL_OK && f->max_batch > 0 && !out->batches)
        status =
            tool_error(TOOL_FAILURE,
                       "--max-batch %" PRId64 ": axis 0 of the inputs and outputs of %s is not a "
                       "batch; only 0 is possible",
                       f->max_batch, f->net);
    return status;
}

static int set_paths(const struct tool_command *self, struct folder *f, int64_t version)
{
    const char *slash = strrchr(f->path, '/');
    int n;

    f->name = slash ? slash + 1 : f->path;
    if (!*f->name || strcmp(f->name, ".") == 0 || strcmp(f->name, "..") == 0)
        return tool_error(TOOL_USAGE, "%s: \"%s\" does not end in a valid model name", self->name,
                          f->path);
    n = snprintf(f->version, sizeof(f->version), "%s/%" PRId64, f->path, version);
    if (n < 0 || n >= PATH_MAX - 16)
        return tool_error(TOOL_USAGE, "%s: the path is too long", self->name);
    snprintf(f->written, sizeof(f->written), "%.*s/.%" PRId64 ".part", PATH_MAX - 64, f->path,
             version);
    return TOOL_OK;
}

static int make(struct folder *f, const struct net_request *r, bool variable)
{
    struct triton_interface about = { 0 };
    ferry_runtime *rt = NULL;
    ferry_net *net = NULL;
    int status = describe(f, r, variable, &rt, &net, &about);

    if (status == TOOL_OK && f->max_batch < 0)
        f->max_batch = about.batches ? 8 : 0;
    if (status == TOOL_OK)
        status = write_folder(f, &about);
    triton_interface_free(&about);
    ferry_net_close(net);
    ferry_runtime_close(rt);
    return status;
}

int cmd_triton_model(const struct tool_command *self, int argc, char **argv)
{
    const char *version_text = NULL, *batch = NULL, *instances = NULL;
    struct folder f = { .max_batch = -1, .instances = 1 };
    struct net_request r = { .self = self };
    bool variable = false;
    int64_t version = 1, threads = 0;
    const struct tool_option options[] = { { "--version", NULL, NULL, &version_text },
                                           { "--max-batch", NULL, NULL, &batch },
                                           { "--instances", NULL, NULL, &instances },
                                           { "--threads", NULL, NULL, &f.threads },
                                           { "--device", NULL, NULL, &f.device },
                                           { "--layers", NULL, NULL, &r.layers },
                                           { "--variable", NULL, &variable, NULL },
                                           { NULL, NULL, NULL, NULL } };
    int n = tool_parse(self, argc, argv, options, 3), status;

    if (n < 0)
        return tool_parse_status(n);
    if (n < 2)
        return tool_error(TOOL_USAGE, "%s: expected NET, WEIGHTS and REPOSITORY/NAME", self->name);
    r.prototxt = f.net = argv[0];
    r.weights = f.weights = n > 2 ? argv[1] : NULL;
    f.path = argv[n - 1];
    r.phase = "TEST";
    status = tool_parse_number(self, "--version", version_text, 1, INT32_MAX, &version);
    if (status == TOOL_OK)
        status = tool_parse_number(self, "--max-batch", batch, 0, INT32_MAX, &f.max_batch);
    if (status == TOOL_OK)
        status = tool_parse_number(self, "--instances", instances, 1, 4096, &f.instances);
    if (status == TOOL_OK)
        status = tool_parse_number(self, "--threads", f.threads, 1, 1024, &threads);
    if (status == TOOL_OK)
        status = set_paths(self, &f, version);
    return status == TOOL_OK ? make(&f, &r, variable) : status;
}
