/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TOOL_QUANTIZE_H
#define FERRY_TOOL_QUANTIZE_H

#include "net.h"
#include "paths.h"
#include "progress.h"

/* Declarations shared by the files of `ferry quantize`. */

/* ---- quantize_range.c ---- */

#define QUANTIZE_BINS 2048

enum quantize_method { QUANTIZE_MINMAX, QUANTIZE_PERCENTILE, QUANTIZE_KL, QUANTIZE_MSE };

/*
 * The distribution of a blob's contents. Values that are not finite are counted and otherwise
 * ignored.
 */
struct quantize_range {
    float min, max; /* of all values so far */
    uint64_t finite, zeros, odd;
    uint64_t *bins;      /* QUANTIZE_BINS counts; zeros are in no bin; NULL: nothing is counted */
    double low, width;   /* the lower end of the first bin, and the width of a bin */
    float least, most;   /* the chosen range */
    double power, noise; /* sums of squares: of the values, and of their errors when they are
                          * quantized in that range */
};

/* Adds values to min, max and the counts. */
void range_note(struct quantize_range *r, const float *values, int64_t n);

/* Allocates the bins over min … max, or for KL over absolute values. Returns an exit status. */
int range_begin_bins(struct quantize_range *r, enum quantize_method method);
void range_count(struct quantize_range *r, enum quantize_method method, const float *values,
                 int64_t n);

/* Chooses the range; `percentile`, 50 … 100, is for QUANTIZE_PERCENTILE. */
void range_choose(struct quantize_range *r, enum quantize_method method, double percentile);

/*
 * Adds values, and their errors when they are rounded to the levels of the range for readers with
 * padding (net_ranges.h), to `power` and `noise`.
 */
void range_measure(struct quantize_range *r, const float *values, int64_t n);

/*
 * The nearest multiple of the step between the levels of a range for readers with padding
 * (net_ranges.h), also outside the range.
 */
double range_round(float least, float most, double x);

/* A ratio of powers in decibels; infinity without noise. */
double range_decibels(double power, double noise);

/* ---- quantize_feed.c ---- */

/* The inputs for calibration: pictures, or arrays whose axis 0 counts items. */
struct quantize_feed {
    const char *spec; /* the value of --calibrate */
    int64_t items, per;
    int64_t stride; /* quantize_each uses every stride-th batch */
    struct net_pictures pictures;
    struct paths paths;
    char *input; /* the name of the input for pictures */
    struct quantize_array {
        char *name;
        ferry_blob *values;
    } * arrays;
    int n_arrays;
};

/*
 * Reads the arrays, or lists the pictures. With `per` 0, batches are those of the net's text.
 * Returns an exit status.
 */
int feed_begin(const struct tool_command *self, struct quantize_feed *f, ferry_net *net);
void feed_end(struct quantize_feed *f);

/* Puts items at … at + n − 1 into a net's inputs. Returns an exit status. */
int feed_put(const struct quantize_feed *f, ferry_net *net, int64_t at, int64_t n);

/* ---- the command ---- */

struct quantize_blob {
    ferry_blob *blob;
    int same; /* the index of an earlier blob with the same contents; −1: none */
    struct quantize_range range;
};

/* A convolution or an inner product. */
struct quantize_layer {
    const ferry_layer *layer;
    int input;                           /* the index of its bottom */
    double weight_power, weight_noise;   /* of the weights when they are quantized to 127 levels on
                                        * each side of 0, per channel */
    bool has_mean, is_corrected;         /* of --correct-bias: the next two are known, and a bias
                                        * was changed */
    double output_power, mean_noise;     /* of an output item in F32, by channel, and of the mean
                                        * errors of its channels */
    bool is_alone;                       /* by --max-loss: the next one is known */
    double alone;                        /* the least ratio of the outputs in decibels with no
                                          * other layer in 8 bits */
    bool is_adapted;                     /* by --adaptive-rounding: the next three are known */
    double power;                        /* of the outputs of samples in F32, without the bias */
    double nearest_noise, adapted_noise; /* of their errors, with weights rounded to nearest, and
                                          * with these */
};

struct quantize_output {
    const char *name;
    double power, noise; /* of the F32 net's output, and of the quantized net's differences from
                          * it */
};

struct quantize {
    const struct tool_command *self;
    struct net_request request;
    const char *path, *text, *method_name, *percentile_text, *migration_text, *kept, *loss_text,
        *batch, *table, *from_table;
    bool report, json, quiet;      /* json: prints the report as JSON */
    bool integers;                 /* --integers */
    bool equalize, correct, adapt; /* --equalize, --correct-bias, --adaptive-rounding */
    bool is_judged;                /* the errors of the blobs are measured */
    bool has_integers;             /* the device computes layers with integers */
    int equalized;                 /* the number of sets of channels whose factor is not 1 */
    enum quantize_method method;
    double percentile, migration;
    double loss; /* the value of --max-loss; 0 if it is not given */
    struct quantize_feed feed;
    ferry_net *net, *quantized; /* the net in F32 with all blobs kept, and the quantized net */
    ferry_net *reference;       /* the net in F32 before --correct-bias or
                                 * --adaptive-rounding; NULL: `net` */
    struct quantize_blob *blobs;
    int n_blobs;
    struct quantize_layer *layers;
    int n_layers;
    struct quantize_output *outputs;
    int n_outputs;
};

/* A function for each batch, after the net ran on it. Returns an exit status. */
typedef int (*quantize_fn)(struct quantize *q, void *arg);

/* ---- quantize_measure.c ---- */

/*
 * Runs the net on all inputs, and also the quantized net if there is one. Returns an exit status.
 */
int quantize_each(struct quantize *q, const char *what, quantize_fn each, void *arg);

/* Lists the blobs; those that share contents are known after a pass. Returns an exit status. */
int quantize_list_blobs(struct quantize *q);
/* Chooses a range for each F32 blob, and gives the ranges to the net. */
int quantize_measure(struct quantize *q);
/* Measures the errors of the blobs in their ranges. */
int quantize_measure_noise(struct quantize *q);
/* The index of a blob; and the index of the blob that owns its contents. */
int quantize_find(const struct quantize *q, const ferry_blob *b);
void quantize_measure_end(struct quantize *q);

/* ---- quantize_weights.c ---- */

/* The weights of a layer by output channel. */
struct quantize_channels {
    const float *values;   /* NULL: the weights cannot be read */
    int64_t count, each;   /* the number of channels, and of weights of each */
    int64_t stride, apart; /* distances: from a weight to the next of its channel, and from a
                            * channel to the next */
};

struct quantize_channels quantize_channels_of(const struct quantize_layer *l);
/* Whether two parameters have the same memory, as those that layers share by a name. */
bool quantize_is_same(const ferry_blob *a, const ferry_blob *b);
/* Whether a layer has that parameter, and no other layer has it too. */
bool quantize_owns_param(const struct quantize *q, const ferry_layer *layer, int index);
/* The largest absolute weight of a channel. */
double quantize_channel_most(const struct quantize_channels *c, int64_t channel);

/* Lists the layers with weights and measures the weights' errors. Returns an exit status. */
int quantize_list_layers(struct quantize *q);
/* The signal-to-noise ratios in decibels of a layer's weights, of its input, and of both. */
double quantize_of_weights(const struct quantize_layer *l);
double quantize_of_input(const struct quantize *q, const struct quantize_layer *l);
double quantize_of_both(const struct quantize *q, const struct quantize_layer *l);
/* The number of multiplications of a layer in the latest pass; at least 1. */
double quantize_multiplications(const struct quantize_layer *l);

/* ---- quantize_equalize.c ---- */

/*
 * Moves factors of channels between layers, so that the channels of a blob have more equal ranges;
 * the net in F32 computes the same function. Returns an exit status.
 */
int quantize_equalize(struct quantize *q);
/* A convolution with its channels along axis 1, or an inner product of all axes from 1 on. */
bool quantize_is_product(const ferry_layer *layer);

/* ---- quantize_bias.c ---- */

/*
 * Subtracts the mean errors of the outputs of quantized layers from their biases. Layers without a
 * bias, and those that the device computes in F32 while others have integers, are not changed.
 * Returns an exit status.
 */
int quantize_correct_biases(struct quantize *q);

/* ---- quantize_adapt.c ---- */

/*
 * Rounds the weights of quantized layers by the errors of their outputs. Layers of other kinds,
 * with shared weights, or with more than ADAPT_INPUTS weights for an output are not changed.
 * Returns an exit status.
 */
int quantize_adapt(struct quantize *q);

/* ---- quantize_loss.c ---- */

/* Opens the quantized net, and finds out whether the device has integers. */
int quantize_begin_integers(struct quantize *q);
/*
 * Whether a layer's weights are rounded. If the device has integers, those of the layers that it
 * computes with them; otherwise the results are for another device.
 */
bool quantize_is_rounded(const struct quantize *q, const ferry_layer *layer);

/* Opens the quantized net in addition to the net, once. Returns an exit status. */
int quantize_open_beside(struct quantize *q);
/* Opens a net with the present parameters as q->reference, once. */
int quantize_open_reference(struct quantize *q);
/* Compares the outputs of both nets. */
int quantize_compare(struct quantize *q);
/*
 * Leaves layers in F32, those with the most noise for their multiplications first, until the
 * outputs are as good as --max-loss. Returns an exit status.
 */
int quantize_limit_loss(struct quantize *q);

/* ---- quantize_table.c ---- */

/* Writes the table of --table. */
int quantize_write_table(const struct quantize *q);
/* Gives the net the ranges of --from-table. */
int quantize_read_table(struct quantize *q);

/* ---- quantize_show.c ---- */

int quantize_show(const struct quantize *q);

#endif
