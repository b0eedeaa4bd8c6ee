/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The schema of caffe.proto as tables: messages, their fields, the names of enums. Source of names,
 * numbers and defaults: BVLC Caffe of 2020; of the forks' fields, OpenCV's caffe.proto.
 */
#ifndef FERRY_NET_PROTO_SCHEMA_H
#define FERRY_NET_PROTO_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kind of a value. The last two are for fields that are in no table. */
enum ferry__proto_kind {
    FERRY__PROTO_INT32,
    FERRY__PROTO_INT64,
    FERRY__PROTO_UINT32,
    FERRY__PROTO_BOOL,
    FERRY__PROTO_FLOAT,
    FERRY__PROTO_DOUBLE,
    FERRY__PROTO_STRING,
    FERRY__PROTO_BYTES,
    FERRY__PROTO_ENUM,
    FERRY__PROTO_MESSAGE,
    FERRY__PROTO_WORD,   /* true, inf, MAX: an identifier of unknown meaning */
    FERRY__PROTO_NUMBER, /* a number for a field of unknown kind; integers are held as an int64_t */
};

enum ferry__proto_label {
    FERRY__PROTO_ONE,
    FERRY__PROTO_REQUIRED,
    FERRY__PROTO_MANY,
    FERRY__PROTO_PACKED, /* repeated; written in packed form */
};

struct ferry__proto_name {
    const char *name;
    int32_t number;
};

struct ferry__proto_enum {
    const char *name;
    const struct ferry__proto_name *values;
    size_t count;
};

struct ferry__proto_message;

struct ferry__proto_field {
    const char *name;
    uint32_t number; /* 0: the field has no binary form */
    uint8_t kind, label;
    double number_default;    /* for numbers, booleans and enums */
    const char *text_default; /* for strings; NULL: "" */
    const struct ferry__proto_message *message;
    const struct ferry__proto_enum *choices;
    const char *fork; /* the fork that the field belongs to; NULL: Caffe */
};

struct ferry__proto_message {
    const char *name;
    const struct ferry__proto_field *fields;
    size_t count;
};

static inline bool ferry__proto_repeats(const struct ferry__proto_field *field)
{
    return field->label == FERRY__PROTO_MANY || field->label == FERRY__PROTO_PACKED;
}

/* The message type of that name; NULL if the name is unknown. */
const struct ferry__proto_message *ferry__proto_message_of(const char *name);

/* Message type `index`, for iteration; NULL after the last. */
const struct ferry__proto_message *ferry__proto_message_at(size_t index);

/*
 * The field with the name, which is `size` bytes long; NULL if `type` lacks it. `type` may be NULL.
 */
const struct ferry__proto_field *ferry__proto_field_of(const struct ferry__proto_message *type,
                                                       const char *name, size_t size);

/*
 * The field with that number in binary files; NULL if the number is unknown. Forks use one number
 * for different fields of a LayerParameter; `layer_type` decides (may be "").
 */
const struct ferry__proto_field *
ferry__proto_field_numbered(const struct ferry__proto_message *type, uint32_t number,
                            const char *layer_type);

/*
 * A known field's name at an edit distance of at most two, and less than the length of `name`; NULL
 * if no name is that near.
 */
const char *ferry__proto_nearest(const struct ferry__proto_message *type, const char *name,
                                 size_t size);

/* The name of an enum's number, and the number of a name; NULL if the enum lacks it. */
const struct ferry__proto_name *ferry__proto_enum_numbered(const struct ferry__proto_enum *choices,
                                                           int64_t number);
const struct ferry__proto_name *ferry__proto_enum_named(const struct ferry__proto_enum *choices,
                                                        const char *name, size_t size);

/* The field numbers of layers' messages in binary files of forks; the last entry has number 0. */
struct ferry__proto_alias {
    uint32_t number;
    const char *layer_type, *field;
};

extern const struct ferry__proto_alias ferry__proto_aliases[];

/* All message types; the table of each is in one of schema_*.c. */
#define FERRY__PROTO_MESSAGES(X)      \
    X(NetParameter)                   \
    X(LayerParameter)                 \
    X(BlobShape)                      \
    X(BlobProto)                      \
    X(BlobProtoVector)                \
    X(Datum)                          \
    X(FillerParameter)                \
    X(NetState)                       \
    X(NetStateRule)                   \
    X(ParamSpec)                      \
    X(SolverParameter)                \
    X(SolverState)                    \
    X(V1LayerParameter)               \
    X(V0LayerParameter)               \
    X(TransformationParameter)        \
    X(DataParameter)                  \
    X(DummyDataParameter)             \
    X(HDF5DataParameter)              \
    X(HDF5OutputParameter)            \
    X(ImageDataParameter)             \
    X(InputParameter)                 \
    X(MemoryDataParameter)            \
    X(WindowDataParameter)            \
    X(PythonParameter)                \
    X(ParameterParameter)             \
    X(AccuracyParameter)              \
    X(ArgMaxParameter)                \
    X(BatchNormParameter)             \
    X(BiasParameter)                  \
    X(ClipParameter)                  \
    X(ConcatParameter)                \
    X(ContrastiveLossParameter)       \
    X(ConvolutionParameter)           \
    X(CropParameter)                  \
    X(DropoutParameter)               \
    X(ELUParameter)                   \
    X(EltwiseParameter)               \
    X(EmbedParameter)                 \
    X(ExpParameter)                   \
    X(FlattenParameter)               \
    X(HingeLossParameter)             \
    X(InfogainLossParameter)          \
    X(InnerProductParameter)          \
    X(LRNParameter)                   \
    X(LogParameter)                   \
    X(LossParameter)                  \
    X(MVNParameter)                   \
    X(PReLUParameter)                 \
    X(PoolingParameter)               \
    X(PowerParameter)                 \
    X(ReLUParameter)                  \
    X(RecurrentParameter)             \
    X(ReductionParameter)             \
    X(ReshapeParameter)               \
    X(SPPParameter)                   \
    X(ScaleParameter)                 \
    X(SigmoidParameter)               \
    X(SliceParameter)                 \
    X(SoftmaxParameter)               \
    X(SwishParameter)                 \
    X(TanHParameter)                  \
    X(ThresholdParameter)             \
    X(TileParameter)                  \
    X(BNParameter)                    \
    X(DetectionOutputParameter)       \
    X(InterpParameter)                \
    X(LayerQuantizationParameter)     \
    X(NonMaximumSuppressionParameter) \
    X(NormalizeBBoxParameter)         \
    X(NormalizedBBox)                 \
    X(PSROIPoolingParameter)          \
    X(PermuteParameter)               \
    X(PriorBoxParameter)              \
    X(ProposalParameter)              \
    X(ROIPoolingParameter)            \
    X(SaveOutputParameter)            \
    X(ShuffleChannelParameter)        \
    X(UpsampleParameter)              \
    X(BinaryParameter)                \
    X(LayerNormParameter)             \
    X(PadParameter)                   \
    X(ReduceParameter)                \
    X(ResizeParameter)                \
    X(StridedSliceParameter)          \
    X(BlobRange)                      \
    X(QuantizationParameter)

#define FERRY__PROTO_DECLARE(name) extern const struct ferry__proto_message ferry__proto_##name;
FERRY__PROTO_MESSAGES(FERRY__PROTO_DECLARE)
#undef FERRY__PROTO_DECLARE

#endif
