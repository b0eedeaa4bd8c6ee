/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens files that contain one message. */
#include "net/proto/file.h"
#include "net/proto/parse.h"
#include "net/proto/wire.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST_TEXT (64u << 20)
#define GUESS        1024 /* a binary file has a control character within this many bytes */

/* ---- detecting text ------------------------------------------------------------------------- */

static bool has_control_character(const struct ferry__proto_file *source)
{
    for (size_t i = 0; i < source->size && i < GUESS; i++) {
        unsigned char c = (unsigned char)source->bytes[i];

        if (c < ' ' && !(c >= '\t' && c <= '\r'))
            return true;
    }
    return false;
}

/*
 * Whether the bytes are blanks, or begin with a line of a comment, or have the colon or the bracket
 * of a text's field, or a comment, after the first two, which may be the tag and the length of a
 * name.
 */
static bool has_text(const struct ferry__proto_file *source)
{
    size_t i = 0;

    while (i < source->size &&
           (source->bytes[i] == ' ' || (source->bytes[i] >= '\t' && source->bytes[i] <= '\r')))
        i++;
    if (i == source->size ||
        (source->bytes[i] == '#' && memchr(source->bytes + i, '\n', source->size - i)))
        return true;
    for (const char *mark = ":{<#"; *mark && source->size > 2; mark++)
        if (memchr(source->bytes + 2, *mark, source->size - 2))
            return true;
    return false;
}

/*
 * A binary file has a control character near its beginning; the first bytes of a caffemodel may
 * have none, and end within its first field.
 */
static bool is_binary(const struct ferry__proto_file *source,
                      const struct ferry__proto_message *type)
{
    bool whole = false;

    return ferry__proto_is_wire(type, source->bytes, source->size, &whole) &&
           ((whole && has_control_character(source)) || !has_text(source));
}

static int parse_text(const struct ferry__proto_file *source, const ferry_proto_options *options,
                      ferry_proto *root)
{
    char *text;
    int err;

    if (source->size > LONGEST_TEXT)
        return ferry_error_set(FERRY_EUNSUPPORTED, "%.400s: a text of %zu bytes; the limit is %u",
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

static int read_source(const struct ferry__proto_file *source,
                       const struct ferry__proto_message *type, const ferry_proto_options *options,
                       ferry_proto **out)
{
    ferry_proto *root;
    int err = ferry__proto_create(type, source->path, &root);

    if (err)
        return err;
    if (is_binary(source, type)) {
        root->document->form = FERRY_PROTO_BINARY;
        root->document->mapped_size = source->mapping ? source->size : 0;
        err = ferry__proto_from_wire(root, source->bytes, source->size);
    } else {
        err = parse_text(source, options, root);
    }
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
    struct ferry__proto_file source = { .path = path ? path : "" };
    int err = FERRY_OK;

    if (!out || (!path && !(options && options->text)))
        return ferry_error_set(FERRY_EINVAL, "ferry_proto_open: %s is NULL", out ? "path" : "out");
    if (!message)
        return ferry_error_set(FERRY_EINVAL, "ferry_proto_open: there is no message type %.100s",
                               type ? type : "NULL");
    if (options && options->struct_size < sizeof(options->struct_size))
        return ferry_error_set(FERRY_EINVAL, "ferry_proto_open: struct_size is not set");
    if (options)
        memcpy(&known, options,
               options->struct_size < sizeof(known) ? options->struct_size : sizeof(known));
    source.bytes = known.text;
    source.size = known.text_size;
    if (!known.text)
        err = ferry__proto_file_map(&source);
    if (!err)
        err = read_source(&source, message, &known, out);
    ferry__proto_file_unmap(&source);
    return err;
}
