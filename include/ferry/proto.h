/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file proto.h
 * Caffe's messages: prototxt files and their binary form, as a tree of messages. Part of
 * libferrynet.
 *
 * Fields are accessed by their names in caffe.proto. ferry knows the kind, number and default of
 * each field, and whether it repeats. A field that is not set has its default. A sub-message that
 * is not set is an empty message, so ferry_proto_integer(convolution, "group", 0) needs no check
 * before it.
 *
 * Errors about a text begin with its file, line and column, both from 1: "lenet.prototxt:12:5: …".
 * FERRY_EINVAL for NULL, except where a comment permits it. Functions that read fields accept a
 * NULL message as one without fields: counts are 0, values 0 and "", ferry_proto_get_… leave *out.
 *
 * Threads: several threads may read one tree; opening, upgrading and closing need exclusive access.
 * Getters return borrowed values, valid until the tree is closed.
 */
#ifndef FERRY_PROTO_H
#define FERRY_PROTO_H

#include <ferry/status.h>

FERRY_BEGIN_DECLS

/** A message of a tree, such as a LayerParameter. Opaque; borrowed, except the root. */
typedef struct ferry_proto ferry_proto;

/** The position of a field or a message in a text. */
typedef struct ferry_proto_location {
    const char *file; /* the path as passed; "" without a file */
    int line;         /* from 1; 0: not from a text, but from a binary file or an upgrade */
    int column;       /* from 1, in characters */
} ferry_proto_location;

/** The form of a file of one message. Values never change. */
typedef enum ferry_proto_form {
    FERRY_PROTO_TEXT = 0,  /* prototxt */
    FERRY_PROTO_BINARY = 1 /* protobuf's binary form, as in a caffemodel */
} ferry_proto_form;

/** Options of ferry_proto_open. Zero the structure, then set struct_size. */
typedef struct ferry_proto_options {
    size_t struct_size; /* sizeof(ferry_proto_options) of the caller */
    const char *text;   /* the text instead of the file; the path is then only a name */
    size_t text_size;   /* bytes; with text only */
    /**
     * Returns nonzero if a layer type defines the field `name` of LayerParameter ("acme_param");
     * ferry then accepts any content of that field. Called on the opening thread. May be NULL: no
     * such field.
     */
    int (*claims)(void *arg, const char *name);
    void *arg; /* for claims */
    /**
     * Keeps the comments of a text: ferry_proto_print and ferry_proto_write then write each one
     * beside the value that follows it, or that precedes it in its line. A removed value takes its
     * comments along. FERRY_EUNSUPPORTED for more than 1,000,000 comments.
     */
    bool comments;
} ferry_proto_options;

/* ---- trees ---------------------------------------------------------------------------------- */

/**
 * Reads a file with one message of type "NetParameter" or "SolverParameter", as text or, detected
 * by content, in protobuf's binary form; the values of blobs in a binary file are not read.
 * `options` may be NULL. The caller closes *out. (Caffe: ReadProtoFromTextFile,
 * ReadProtoFromBinaryFile.)
 *
 * Text is parsed as protobuf parses it: a second value for a field that does not repeat is an
 * error. An unknown field is an error if its name is within two edits of a known one, and otherwise
 * a note (ferry_proto_note_at). FERRY_EIO, FERRY_EFORMAT with the position, FERRY_EUNSUPPORTED for
 * extensions and for a text of more than 64 MiB, FERRY_EINVAL for an unknown type, FERRY_ENOMEM;
 * *out is then unchanged.
 */
FERRY_API int ferry_proto_open(const char *path, const char *type,
                               const ferry_proto_options *options, ferry_proto **out);

/** Closes a tree by its root. All its messages become invalid. NULL is accepted. */
FERRY_API void ferry_proto_close(ferry_proto *root);

/**
 * Upgrades a NetParameter or SolverParameter of an older Caffe to the current form, with Caffe's
 * steps in Caffe's order: nested V0 layers with their padding layers, transformations of data
 * layers, V1 layers, inputs as fields of the net, the three params of BatchNorm, numeric solver
 * types. Each step adds a note in Caffe's words. A current net is unchanged. (Caffe:
 * UpgradeNetAsNeeded.)
 *
 * FERRY_EFORMAT for a message that cannot be upgraded, such as one with `layer` and `layers`;
 * FERRY_EINVAL for another message type, FERRY_ENOMEM. After a failure the tree can only be closed.
 */
FERRY_API int ferry_proto_upgrade(ferry_proto *root);

/** The steps of ferry_proto_upgrade, in its order. Each skips a message that does not need it. */
typedef enum ferry_proto_step {
    FERRY_UPGRADE_PADDING = 0,   /* V0: padding layers go into the layers that take their tops */
    FERRY_UPGRADE_V0 = 1,        /* V0 to V1, padding layers included */
    FERRY_UPGRADE_DATA = 2,      /* transformations of V1 data layers go into transform_param */
    FERRY_UPGRADE_V1 = 3,        /* V1 to the current form */
    FERRY_UPGRADE_INPUTS = 4,    /* input fields of the net become an Input layer */
    FERRY_UPGRADE_BATCH_NORM = 5 /* the three params of BatchNorm get multipliers of 0 */
} ferry_proto_step;

/**
 * Runs one step of ferry_proto_upgrade on a NetParameter. Errors and the state after them as of
 * ferry_proto_upgrade; FERRY_EINVAL for another value of `step`. [UpgradeV0PaddingLayers,
 * UpgradeV0Net, UpgradeNetDataTransformation, UpgradeV1Net, UpgradeNetInput, UpgradeNetBatchNorm]
 */
FERRY_API int ferry_proto_upgrade_step(ferry_proto *root, ferry_proto_step step);

/** The number of notes from opening and upgrading; 0 for NULL. */
FERRY_API int ferry_proto_note_count(const ferry_proto *root);

/**
 * Note `index`, 0 … ferry_proto_note_count − 1, in order of occurrence: its level, FERRY_LOG_INFO,
 * _WARN or _ERROR (may be NULL), and its line. A line has Caffe's exact words; a line that Caffe
 * does not have begins with "ferry: ". FERRY_EINVAL for an index out of range.
 */
FERRY_API int ferry_proto_note_at(const ferry_proto *root, int index, int *out_level,
                                  const char **out_line);

/**
 * Writes a message in protobuf's text form to `buf`, with a terminating NUL. *out_size is the
 * length without the NUL; with a NULL buf only the length is computed. Blobs whose values were not
 * read from a binary file are omitted. FERRY_EOVERFLOW if `capacity` is too small.
 */
FERRY_API int ferry_proto_print(const ferry_proto *p, char *buf, size_t capacity, size_t *out_size);

/**
 * The same in protobuf's binary form, without a NUL. A field without a number
 * (ferry_proto_has_number) is omitted; FERRY_EUNSUPPORTED for blobs whose values were not read.
 */
FERRY_API int ferry_proto_serialize(const ferry_proto *p, void *buf, size_t capacity,
                                    size_t *out_size);

/**
 * A function that ferry_proto_write calls with the next `size` bytes, at least one. Returns 0, or
 * an error that ends the writing.
 */
typedef int (*ferry_proto_write_fn)(void *arg, const void *bytes, size_t size);

/** The form of the file that the tree was read from; FERRY_PROTO_TEXT for NULL. */
FERRY_API ferry_proto_form ferry_proto_get_form(const ferry_proto *p);

/**
 * Passes a message in the given form to `write`, piece by piece. As text it is what
 * ferry_proto_print prints. In binary form it is what ferry_proto_serialize makes, with the blobs
 * whose values were not read: their bytes are copied from the file that the tree was opened from,
 * which must still be there, unchanged.
 *
 * FERRY_EIO if that file cannot be read or has another size; FERRY_EUNSUPPORTED for such blobs in a
 * tree that was opened from memory; FERRY_EINVAL, FERRY_ENOMEM; else the error of `write`.
 */
FERRY_API int ferry_proto_write(const ferry_proto *p, ferry_proto_form form,
                                ferry_proto_write_fn write, void *arg);

/* ---- fields --------------------------------------------------------------------------------- */

/** The type of a message, "ConvolutionParameter"; "" for a type that ferry does not know. */
FERRY_API const char *ferry_proto_type(const ferry_proto *p);

/** The number of values of a field: 0 if it is not set, else 1, or more if it repeats. */
FERRY_API int64_t ferry_proto_value_count(const ferry_proto *p, const char *field);

/** The number of fields that are set; a repeated field counts once. 0 for NULL. */
FERRY_API int64_t ferry_proto_field_count(const ferry_proto *p);

/**
 * The name of set field `index`, 0 … ferry_proto_field_count − 1. FERRY_EINVAL for an index out of
 * range.
 */
FERRY_API int ferry_proto_field_at(const ferry_proto *p, int64_t index, const char **out_name);

/**
 * Whether the field has a number, so that a binary file can contain it. False for an unknown field.
 */
FERRY_API bool ferry_proto_has_number(const ferry_proto *p, const char *field);

/**
 * Value `index` of an integer, of an enum (its number) or of a boolean; the default if it is not
 * set; 0 without a default or for a field of another kind. For fields of caffe.proto, whose kinds
 * are checked when the tree is opened; for other fields use ferry_proto_get_integer.
 */
FERRY_API int64_t ferry_proto_integer(const ferry_proto *p, const char *field, int64_t index);

/** As ferry_proto_integer, for a real number or an integer. */
FERRY_API double ferry_proto_real(const ferry_proto *p, const char *field, int64_t index);

/** As ferry_proto_integer, for a boolean: 0 or 1. */
FERRY_API int ferry_proto_boolean(const ferry_proto *p, const char *field, int64_t index);

/** The name of an enum value, "AVE"; "" for a field that is not an enum. */
FERRY_API const char *ferry_proto_enum(const ferry_proto *p, const char *field, int64_t index);

/**
 * A string, or the name of an enum value, with a terminating NUL. *out_size (may be NULL) is its
 * length, for strings that contain NULs. "" without a value and a default.
 */
FERRY_API const char *ferry_proto_string(const ferry_proto *p, const char *field, int64_t index,
                                         size_t *out_size);

/**
 * A sub-message. For a field of caffe.proto that is not set, an empty message with all defaults;
 * never NULL. NULL for any other field that is not set or not a message.
 */
FERRY_API const ferry_proto *ferry_proto_message(const ferry_proto *p, const char *field,
                                                 int64_t index);

/**
 * Value `index` of a field of any message, also of a message type that ferry does not know. If the
 * field is not set, *out gets the default, or is unchanged without one. FERRY_EFORMAT, with the
 * position, for a value of another kind; *out is then unchanged.
 */
FERRY_API int ferry_proto_get_integer(const ferry_proto *p, const char *field, int64_t index,
                                      int64_t *out);

/** As ferry_proto_get_integer, for a real number; integers are accepted. */
FERRY_API int ferry_proto_get_real(const ferry_proto *p, const char *field, int64_t index,
                                   double *out);

/**
 * As ferry_proto_get_integer, for a boolean, 0 or 1; in a message type that ferry does not know,
 * true and false.
 */
FERRY_API int ferry_proto_get_boolean(const ferry_proto *p, const char *field, int64_t index,
                                      int *out);

/**
 * As ferry_proto_get_integer, for a string or an identifier; *out is valid until the tree is
 * closed.
 */
FERRY_API int ferry_proto_get_string(const ferry_proto *p, const char *field, int64_t index,
                                     const char **out);

/** The position of value `index` of a field or, with a NULL field, of the message. */
FERRY_API ferry_proto_location ferry_proto_get_location(const ferry_proto *p, const char *field,
                                                        int64_t index);

/**
 * Records "file:line:column: message" as this thread's latest failure, with the position of
 * ferry_proto_get_location, and returns `code`. For layers that report errors in their parameters.
 */
FERRY_API int ferry_proto_error(const ferry_proto *p, const char *field, int64_t index, int code,
                                const char *fmt, ...) FERRY_PRINTF(5, 6);

/* ---- schema --------------------------------------------------------------------------------- */

/** A field of a message type of caffe.proto or of a fork. Strings live as long as the library. */
typedef struct ferry_proto_field {
    size_t struct_size; /* sizeof(ferry_proto_field) of the caller */
    const char *name;   /* "kernel_size" */
    const char *kind;   /* "uint32", "float", "bool", "string" …; a message's or an enum's name */
    bool repeats;       /* the field is repeated */
    uint32_t number;    /* field number in a binary file; 0: none */
    double number_default;    /* of numbers and booleans */
    const char *text_default; /* of strings; of enums the name; "" */
    const char *fork;         /* the fork that adds it; "" for Caffe */
    bool required;            /* protobuf's `required` */
    bool packed;              /* repeated numbers are packed in a binary file */
    int64_t choice_count; /* number of an enum's values (ferry_proto_schema_choice_at); else 0 */
} ferry_proto_field;

/** The number of fields of the message type `type`, "PoolingParameter"; 0 for an unknown type. */
FERRY_API int64_t ferry_proto_schema_field_count(const char *type);

/**
 * Field `index` of a message type. The caller sets struct_size. FERRY_EINVAL for an index out of
 * range and if struct_size is not set.
 */
FERRY_API int ferry_proto_schema_field_at(const char *type, int64_t index, ferry_proto_field *out);

/**
 * Value `choice`, 0 … choice_count − 1, of enum field `index`: its name, valid for the life of the
 * library, and its number. FERRY_EINVAL for an index out of range and for a field that is not an
 * enum.
 */
FERRY_API int ferry_proto_schema_choice_at(const char *type, int64_t index, int64_t choice,
                                           const char **out_name, int *out_number);

FERRY_END_DECLS

#endif
