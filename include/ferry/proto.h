/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file proto.h
 * Caffe's messages (libferrynet): prototxt files, and the binary form of the same.
 *
 * A file becomes a tree of messages, whose fields are asked for by the names that caffe.proto gives
 * them. What it has is known to ferry: kinds, numbers, defaults, and which field repeats. A field
 * that a text does not mention has its default, and a message that it does not mention is one
 * without fields, so that a layer may ask for ferry_proto_integer(convolution, "group", 0) without
 * asking first whether there is a group.
 *
 * Errors about a text name its file, line and column, both from 1: "lenet.prototxt:12:5: …".
 *
 * Threads: a tree may be read from many threads at once; opening, upgrading and closing need it for
 * themselves. What getters return belongs to the tree and lives until it is closed.
 */
#ifndef FERRY_PROTO_H
#define FERRY_PROTO_H

#include <ferry/status.h>

FERRY_BEGIN_DECLS

/** A message of a tree, such as a LayerParameter. Opaque; borrowed, but for the root. */
typedef struct ferry_proto ferry_proto;

/** Where something stands in a text. */
typedef struct ferry_proto_location {
    const char *file; /* the path as it was given; "" where it came from no file */
    int line;         /* from 1; 0: it stands in no text (a binary file, or made by an upgrade) */
    int column;       /* from 1, in characters */
} ferry_proto_location;

/** What ferry_proto_open may be told. Zero the structure, then set struct_size. */
typedef struct ferry_proto_options {
    size_t struct_size; /* sizeof(ferry_proto_options) of the caller */
    const char *text;   /* the text itself in place of the file; the path then only names it */
    size_t text_size;   /* bytes; with text only */
    /**
     * Whether some layer claims the field `name` of a LayerParameter, "acme_param": whatever is in
     * it is then accepted without a word. Called on the opening thread. May be NULL: none is.
     */
    int (*claims)(void *arg, const char *name);
    void *arg; /* for claims */
} ferry_proto_options;

/* ---- trees ---------------------------------------------------------------------------------- */

/**
 * Reads a file that holds one message of the named type, "NetParameter" or "SolverParameter": as
 * text, or, where its bytes say so, as protobuf's binary form (the values of blobs are then left in
 * the file). `options` may be NULL. The caller closes *out.
 *
 * The text is read as protobuf reads it: a field that does not repeat given twice is an error, never
 * overruled. A field that nobody knows is an error where its name is within two edits of a known
 * one, and else a note (ferry_proto_note_at). Errors: FERRY_EIO, FERRY_EFORMAT with the place,
 * FERRY_EUNSUPPORTED for extensions and for a text of more than 64 MiB, FERRY_EINVAL for an unknown
 * type, FERRY_ENOMEM; *out is then untouched.
 */
FERRY_API int ferry_proto_open(const char *path, const char *type,
                               const ferry_proto_options *options, ferry_proto **out);

/** Closes a tree by its root; every message of it becomes invalid. NULL is accepted. */
FERRY_API void ferry_proto_close(ferry_proto *root);

/**
 * Brings a NetParameter or SolverParameter of an older Caffe to today's form, as Caffe does before
 * it uses one, and in its order: nested V0 layers with their padding layers, transformations of
 * data layers, V1 layers, inputs that are fields of the net, BatchNorm's three params, a solver's
 * type as a number. What was done is noted in Caffe's words. A net of today stays as it is.
 *
 * FERRY_EFORMAT for what cannot be brought over (both `layer` and `layers`, say), FERRY_EINVAL for
 * another message, FERRY_ENOMEM. After a failure the tree can only be closed.
 */
FERRY_API int ferry_proto_upgrade(ferry_proto *root);

/** How many notes there are about what opening and upgrading found; 0 for NULL. */
FERRY_API int ferry_proto_note_count(const ferry_proto *root);

/**
 * Note `index`, 0 … ferry_proto_note_count − 1, in the order in which things were found: its level,
 * FERRY_LOG_INFO, _WARN or _ERROR (may be NULL), and its line. Lines are Caffe's own, word for word,
 * where Caffe says the same, and begin with "ferry: " where it does not. FERRY_EINVAL outside.
 */
FERRY_API int ferry_proto_note_at(const ferry_proto *root, int index, int *out_level,
                                  const char **out_line);

/**
 * Writes a message in protobuf's text form, as protobuf prints it, into `buf`, with a NUL behind
 * it; *out_size is its length without the NUL. With a NULL buf only that is found out. Blobs that
 * were left in a binary file are left out. FERRY_EOVERFLOW if `capacity` is too small.
 */
FERRY_API int ferry_proto_print(const ferry_proto *p, char *buf, size_t capacity, size_t *out_size);

/**
 * The same in protobuf's binary form, without a NUL. A field that has no number (see
 * ferry_proto_has_number) is left out; FERRY_EUNSUPPORTED where blobs were left in a file.
 */
FERRY_API int ferry_proto_serialize(const ferry_proto *p, void *buf, size_t capacity,
                                    size_t *out_size);

/* ---- fields --------------------------------------------------------------------------------- */

/** The message's type, "ConvolutionParameter"; "" for one that ferry does not know. */
FERRY_API const char *ferry_proto_type(const ferry_proto *p);

/** How many values the field has: 0 where it is not given, else 1 or, if it repeats, more. */
FERRY_API int64_t ferry_proto_value_count(const ferry_proto *p, const char *field);

/** How many fields are given, each counted once; 0 for NULL. */
FERRY_API int64_t ferry_proto_field_count(const ferry_proto *p);

/** The name of the field at 0 … ferry_proto_field_count − 1 of those; FERRY_EINVAL outside. */
FERRY_API int ferry_proto_field_at(const ferry_proto *p, int64_t index, const char **out_name);

/** 1 if a binary file can hold the field, 0 if it has no number or is not known. */
FERRY_API bool ferry_proto_has_number(const ferry_proto *p, const char *field);

/**
 * Value `index` of an integer, of an enum (its number) or of a boolean; the default where it is not
 * given; 0 where there is neither, or the field is of another kind. For the fields of caffe.proto,
 * whose kinds opening has checked; others are better read with ferry_proto_get_integer.
 */
FERRY_API int64_t ferry_proto_integer(const ferry_proto *p, const char *field, int64_t index);

/** The same for a real number or an integer. */
FERRY_API double ferry_proto_real(const ferry_proto *p, const char *field, int64_t index);

/** The same for a boolean: 0 or 1. */
FERRY_API int ferry_proto_boolean(const ferry_proto *p, const char *field, int64_t index);

/** The name of an enum's value, "AVE"; "" where it is none. */
FERRY_API const char *ferry_proto_enum(const ferry_proto *p, const char *field, int64_t index);

/**
 * A string, or the name of an enum's value, with a NUL behind it; *out_size is its length (may be
 * NULL), for bytes that have a NUL inside. "" where there is neither value nor default.
 */
FERRY_API const char *ferry_proto_string(const ferry_proto *p, const char *field, int64_t index,
                                         size_t *out_size);

/**
 * A message. One that is not given has no fields, and all defaults; never NULL for a field of
 * caffe.proto. NULL for another field that is not given, or no message.
 */
FERRY_API const ferry_proto *ferry_proto_message(const ferry_proto *p, const char *field,
                                                 int64_t index);

/**
 * Value `index` of any message, also one that a text holds and ferry does not know: the default
 * where it is not given, and *out as it was where there is none. FERRY_EFORMAT, with the place,
 * where the value is of another kind; *out is then untouched.
 */
FERRY_API int ferry_proto_get_integer(const ferry_proto *p, const char *field, int64_t index,
                                      int64_t *out);

/** The same for a real number; an integer is one too. */
FERRY_API int ferry_proto_get_real(const ferry_proto *p, const char *field, int64_t index,
                                   double *out);

/** The same for a boolean, 0 or 1; in a message that ferry does not know, true and false. */
FERRY_API int ferry_proto_get_boolean(const ferry_proto *p, const char *field, int64_t index,
                                      int *out);

/** The same for a string or a word; *out lives as long as the tree. */
FERRY_API int ferry_proto_get_string(const ferry_proto *p, const char *field, int64_t index,
                                     const char **out);

/** Where value `index` of a field stands, or with a NULL field the message itself. */
FERRY_API ferry_proto_location ferry_proto_get_location(const ferry_proto *p, const char *field,
                                                        int64_t index);

/**
 * Records "file:line:column: message" as this thread's latest failure, the place being that of
 * ferry_proto_get_location, and returns `code`. For layers, about their parameters.
 */
FERRY_API int ferry_proto_error(const ferry_proto *p, const char *field, int64_t index, int code,
                                const char *fmt, ...) FERRY_PRINTF(5, 6);

/* ---- what there may be ---------------------------------------------------------------------- */

/** A field that a message of caffe.proto or of its forks may have. Strings live as long as the library. */
typedef struct ferry_proto_field {
    size_t struct_size; /* sizeof(ferry_proto_field) of the caller */
    const char *name;   /* "kernel_size" */
    const char *kind;   /* "uint32", "float", "bool", "string" …; a message's or an enum's name */
    bool repeats;       /* there may be many */
    uint32_t number;    /* in a binary file; 0: it cannot be there */
    double number_default;    /* of numbers and booleans */
    const char *text_default; /* of strings, and of enums the name; "" */
    const char *fork;         /* whose it is, if not Caffe's own; "" */
    bool required;            /* a message without it is not whole */
    bool packed;              /* many numbers are one run of them in a binary file */
    int64_t choice_count;     /* of an enum: its values (ferry_proto_schema_choice_at); else 0 */
} ferry_proto_field;

/** How many fields the named message, "PoolingParameter", may have; 0 for one that ferry does not know. */
FERRY_API int64_t ferry_proto_schema_field_count(const char *type);

/** Field `index` of those. FERRY_EINVAL outside, and for a structure without its size. */
FERRY_API int ferry_proto_schema_field_at(const char *type, int64_t index, ferry_proto_field *out);

/**
 * Value `choice`, 0 … choice_count − 1, of the enum that field `index` is: its name, for as long as the library
 * lives, and its number. FERRY_EINVAL outside, and for a field that is none.
 */
FERRY_API int ferry_proto_schema_choice_at(const char *type, int64_t index, int64_t choice,
                                           const char **out_name, int *out_number);

FERRY_END_DECLS

#endif
