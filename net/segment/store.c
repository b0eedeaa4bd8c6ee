/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L /* open, fdopen */
#include "net/segment/store.h"

#include "common/hash.h"

#include <ferry/io_file.h>
#include <ferry/status.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A file consists of this header, the compatibility string, the plugin's bytes, and their hash,
 * so that a plugin sees no byte that was damaged. Numbers have the machine's byte order, which the
 * plugin's string identifies.
 */
struct head {
    char magic[8];
    uint64_t key, compatibility_bytes;
};

static const char magic[8] = "FRYSEG2";

/* ---- the key --------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t key, uint64_t word)
{
    key = (key ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return key ^ (key >> 29);
}

static uint64_t mix_bytes(uint64_t key, const void *data, uint64_t bytes)
{
    const unsigned char *at = data;
    uint64_t word;

    for (; bytes >= sizeof word; bytes -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        key = mix(key, word);
    }
    for (word = 0; bytes > 0; bytes--)
        word = word << 8 | *at++;
    return mix(key, word);
}

static uint64_t mix_operand(uint64_t key, const ferry_operand *o)
{
    uint32_t i;

    key = mix(mix(key, o->dtype), o->rank);
    for (i = 0; i < o->rank; i++)
        key = mix(mix(key, (uint64_t)o->shape[i]), (uint64_t)o->stride[i]);
    return key;
}

static uint64_t mix_node(uint64_t key, const struct ferry__node *n)
{
    uint32_t i;

    key = mix(mix(mix(key, n->op.kind), n->op.pass), n->op.math);
    key = mix_bytes(key, &n->op.params, sizeof n->op.params);
    for (i = 0; i < n->op.n_in; i++)
        key = mix(mix(mix_operand(key, &n->op.in[i]), n->told.in[i].edge), n->told.in[i].start);
    for (i = 0; i < n->op.n_out; i++)
        key = mix(mix(mix_operand(key, &n->op.out[i]), n->told.out[i].edge), n->told.out[i].start);
    for (i = 0; i < n->op.n_epilogue; i++) {
        const ferry_op_step *step = &n->op.epilogue[i];
        double numbers[3] = { step->a, step->b, step->c };

        key = mix(mix(mix(key, step->step), step->function), step->operand);
        key = mix_bytes(key, numbers, sizeof numbers);
    }
    return key;
}

static uint64_t key_of(const struct ferry__graph_of *g, const void *const *constants)
{
    uint64_t key = mix(g->told.n_nodes, g->told.n_edges);
    uint32_t i;

    for (i = 0; i < g->told.n_nodes; i++)
        key = mix_node(key, &g->nodes[i]);
    for (i = 0; i < g->told.n_edges; i++) {
        const struct ferry__edge *e = &g->edges[i];

        key = mix(mix_operand(key, &e->told.operand), e->told.flags);
        if (constants[i])
            key = mix_bytes(key, constants[i],
                            (uint64_t)ferry_blob_element_count(e->blob) *
                                ferry_dtype_size((ferry_dtype)e->told.operand.dtype));
    }
    return key;
}

/* ---- the plugin ------------------------------------------------------------------------------ */

struct asking {
    const struct ferry__grapher *by;
    const struct ferry__graph_of *graph;
    char *compatibility;
    uint64_t size;
    const void *data;
    void *prepared;
    uint64_t workspace_bytes;
    ferry_io_file *file;
    uint64_t sum; /* the hash of the bytes written so far */
};

static int call_compatibility(void *ctx, void *arg)
{
    const struct asking *a = arg;

    return a->by->table->compatibility(ctx, a->compatibility, a->size);
}

static int call_load(void *ctx, void *arg)
{
    struct asking *a = arg;

    return a->by->table->load(ctx, &a->graph->told, a->data, a->size, &a->prepared,
                              &a->workspace_bytes);
}

static int write_part(void *arg, const void *data, uint64_t bytes)
{
    struct asking *a = arg;

    a->sum = ferry__hash(a->sum, data, bytes);
    return ferry_io_file_write(a->file, data, bytes);
}

static int call_save(void *ctx, void *arg)
{
    const struct asking *a = arg;

    return a->by->table->save(ctx, a->prepared, write_part, arg);
}

int ferry__store_find(const ferry_net *net, const struct ferry__grapher *by,
                      const struct ferry__graph_of *graph, const void *const *constants,
                      struct ferry__stored *out)
{
    struct asking a = { .by = by, .compatibility = out->compatibility };
    int err;

    memset(out, 0, sizeof *out);
    if (!net->segments || !by->saves)
        return 0;
    a.size = sizeof out->compatibility;
    err = ferry_device_call(by->device, "compatibility of segments", call_compatibility, &a);
    if (err)
        return err;
    out->compatibility[sizeof out->compatibility - 1] = '\0';
    out->key = key_of(graph, constants);
    if (snprintf(out->path, sizeof out->path, "%s/%016" PRIx64 ".segment", net->segments,
                 out->key) >= (int)sizeof out->path)
        out->path[0] = '\0';
    return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Whether the file has this key and string; `f` is then positioned at its bytes. */
static bool is_for(FILE *f, const struct ferry__stored *file)
{
    char string[sizeof file->compatibility];
    size_t length = strlen(file->compatibility);
    struct head h;

    return fread(&h, sizeof h, 1, f) == 1 && !memcmp(h.magic, magic, sizeof magic) &&
           h.key == file->key && h.compatibility_bytes == length &&
           fread(string, 1, length, f) == length && !memcmp(string, file->compatibility, length);
}

/*
 * Reads the plugin's bytes; NULL if the file cannot be read or is damaged. The caller frees them.
 */
static void *read_bytes(FILE *f, uint64_t *out_bytes)
{
    long at = ftell(f), end;
    uint64_t sum;
    size_t bytes;
    char *data;

    if (at < 0 || fseek(f, 0, SEEK_END) || (end = ftell(f)) - at <= (long)sizeof sum ||
        fseek(f, at, SEEK_SET))
        return NULL;
    bytes = (size_t)(end - at) - sizeof sum;
    data = malloc(bytes);
    if (data && fread(data, 1, bytes, f) == bytes && fread(&sum, sizeof sum, 1, f) == 1 &&
        sum == ferry__hash(FERRY__HASH, data, bytes)) {
        *out_bytes = bytes;
        return data;
    }
    free(data);
    return NULL;
}

/* Opens a regular file; opening another kind of file could wait for ever. */
static FILE *open_regular(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    FILE *f = NULL;

    if (fd < 0)
        return NULL;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode))
        f = fdopen(fd, "rb");
    if (!f)
        close(fd);
    return f;
}

static int load(const struct ferry__stored *file, struct asking *a)
{
    FILE *f = open_regular(file->path);
    void *data = NULL;
    int err = 0;

    if (!f)
        return 0;
    if (!is_for(f, file))
        ferry_log_write(FERRY_LOG_INFO, "%s: saved by another version or device; compiled again",
                        file->path);
    else if (!(data = read_bytes(f, &a->size)))
        ferry_log_write(FERRY_LOG_WARN, "%s: damaged; compiled again", file->path);
    fclose(f);
    a->data = data;
    if (data)
        err = ferry_device_call(a->by->device, "load of a segment", call_load, a);
    free(data);
    return err;
}

int ferry__store_load(const struct ferry__stored *file, const struct ferry__grapher *by,
                      const struct ferry__graph_of *graph, void **out,
                      uint64_t *out_workspace_bytes)
{
    struct asking a = { .by = by, .graph = graph };
    int err = load(file, &a);

    if (err == FERRY_ENOMEM || err == FERRY_ELOST || err == FERRY_EDEVICE)
        return err;
    if (err)
        ferry_log_write(FERRY_LOG_WARN, "%s: %s; compiled again", file->path, ferry_last_error());
    if (err || !a.prepared)
        return 0;
    *out = a.prepared;
    *out_workspace_bytes = a.workspace_bytes;
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int save(const struct ferry__stored *file, struct asking *a)
{
    struct head h = { .key = file->key, .compatibility_bytes = strlen(file->compatibility) };
    int err = ferry_io_file_create(file->path, &a->file);

    if (err)
        return err;
    a->sum = FERRY__HASH;
    memcpy(h.magic, magic, sizeof magic);
    err = ferry_io_file_write(a->file, &h, sizeof h);
    if (!err)
        err = ferry_io_file_write(a->file, file->compatibility, h.compatibility_bytes);
    if (!err)
        err = ferry_device_call(a->by->device, "save of a segment", call_save, a);
    if (!err)
        err = ferry_io_file_write(a->file, &a->sum, sizeof a->sum);
    if (!err)
        return ferry_io_file_commit(a->file);
    ferry_io_file_abort(a->file);
    return err;
}

void ferry__store_save(const struct ferry__stored *file, const struct ferry__grapher *by,
                       void *prepared)
{
    struct asking a = { .by = by, .prepared = prepared };

    if (save(file, &a))
        ferry_log_write(FERRY_LOG_WARN, "segment not saved: %s", ferry_last_error());
}
