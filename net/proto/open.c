/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of one message.
 */
#define _GNU_SOURCE
#include "net/proto/parse.h"
#include "net/proto/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONGEST_TEXT (64u << 20)
#define GUESS        1024 /* a binary file has a control character within so many bytes */

struct source {
    const char *path;
    const char *bytes;
    size_t size;
    void *mapping; /* NULL: the caller's bytes */
};

/* ---- files ---------------------------------------------------------------------------------- */

static int map_open_file(int fd, struct source *source)
{
    struct stat about;

    if (fstat(fd, &about) != 0)
        return ferry_error_set(FERRY_EIO, "%.400s: %s", source->path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return ferry_error_set(FERRY_EIO, "%.400s: %s", source->path,
                               S_ISDIR(about.st_mode) ? "is a directory" : "is no regular file");
    source->bytes = "";
    source->size = (size_t)about.st_size;
    if (source->size == 0)
        return FERRY_OK;
    source->mapping = mmap(NULL, source->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (source->mapping == MAP_FAILED) {
        source->mapping = NULL;
        return ferry_error_set(FERRY_EIO, "%.400s: mapping it: %s", source->path, strerror(errno));
    }
    source->bytes = source->mapping;
    return FERRY_OK;
}

/* O_NONBLOCK: a pipe that nobody writes to is refused, not waited for. */
static int map_file(struct source *source)
{
    int fd = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;

    if (fd < 0)
        return ferry_error_set(FERRY_EIO, "%.400s: %s", source->path, strerror(errno));
    err = map_open_file(fd, source);
    close(fd);
    return err;
}

/* ---- text or not ---------------------------------------------------------------------------- */

static bool has_control_character(const struct source *source)
{
    for (size_t i = 0; i < source->size && i < GUESS; i++) {
        unsigned char c = (unsigned char)source->bytes[i];

        if (c < ' ' && !(c >= '\t' && c <= '\r'))
            return true;
    }
    return false;
}

static int parse_text(const struct source *source, const ferry_proto_options *options,
                      ferry_proto *root)
{
    char *text;
    int err;

    if (source->size > LONGEST_TEXT)
        return ferry_error_set(FERRY_EUNSUPPORTED, "%.400s: a text of %zu bytes; the most is %u",
                               source->path, source->size, LONGEST_TEXT);
    text = malloc(source->size + 1);
    if (!text)
        return ferry__proto_no_memory(root->document);
    if (source->size > 0)
        memcpy(text, source->bytes, source->size);
    text[source->size] = '\0';
    err = ferry__proto_parse(root, text, source->size, options);
    free(text);
    return err;
}

static int read_source(const struct source *source, const struct ferry__proto_message *type,
                       const ferry_proto_options *options, ferry_proto **out)
{
    ferry_proto *root;
    int err = ferry__proto_create(type, source->path, &root);

    if (err)
        return err;
    if (has_control_character(source) && ferry__proto_is_wire(type, source->bytes, source->size))
        err = ferry__proto_from_wire(root, source->bytes, source->size);
    else
        err = parse_text(source, options, root);
    if (err)
        ferry_proto_close(root);
    else
        *out = root;
    return err;
}

int ferry_proto_open(const char *path, const char *type, const ferry_proto_options *options,
                     ferry_proto **out)
{
    const struct ferry__proto_message *message = type ? ferry__proto_message_of(type) : NULL;
    ferry_proto_options known = { .struct_size = sizeof(known) };
    struct source source = { .path = path ? path : "" };
    int err = FERRY_OK;

    if (!out || (!path && !(options && options->text)))
        return ferry_error_set(FERRY_EINVAL, "ferry_proto_open: %s is NULL", out ? "path" : "out");
    if (!message)
        return ferry_error_set(FERRY_EINVAL, "ferry_proto_open: there is no message %.100s",
                               type ? type : "NULL");
    if (options && options->struct_size < sizeof(options->struct_size))
        return ferry_error_set(FERRY_EINVAL, "ferry_proto_open: struct_size is not set");
    if (options)
        memcpy(&known, options,
               options->struct_size < sizeof(known) ? options->struct_size : sizeof(known));
    source.bytes = known.text;
    source.size = known.text_size;
    if (!known.text)
        err = map_file(&source);
    if (!err)
        err = read_source(&source, message, &known, out);
    if (source.mapping)
        munmap(source.mapping, source.size);
    return err;
}
