/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * classify-caffe NET WEIGHTS PICTURE [gpu]: the classes that a net finds in a picture, with Caffe's
 * class names. A program that was written for Caffe's headers compiles in the same way, with
 * ferry's include path instead of Caffe's.
 */
#include <caffe/caffe.hpp>
#include <ferry/image.h>

#include <algorithm>
#include <cstdio>

using caffe::Blob;
using caffe::Caffe;
using caffe::Net;
using std::string;
using std::vector;

class Classifier
{
  public:
    Classifier(const string &prototxt, const string &weights) : net_(prototxt, caffe::TEST)
    {
        net_.CopyTrainedLayersFrom(weights);
        CHECK_EQ(net_.num_inputs(), 1) << "a net with one input picture";
        CHECK_EQ(net_.num_outputs(), 1) << "a net with one output";
        CHECK_EQ(net_.input_blobs()[0]->num_axes(), 4) << "N x C x H x W";
    }

    /* The probability of each class. */
    vector<float> Predict(const string &picture)
    {
        Blob<float> *in = net_.input_blobs()[0];

        in->Reshape(1, in->channels(), in->height(), in->width());
        net_.Reshape();
        read(picture, in);
        net_.Forward();

        const Blob<float> *out = net_.output_blobs()[0];
        return vector<float>(out->cpu_data(), out->cpu_data() + out->count());
    }

  private:
    /*
     * Reads the picture with ferry, where a program of Caffe would use OpenCV: values from 0 to 1.
     */
    static void read(const string &path, Blob<float> *in)
    {
        ferry_image_transform_options options = ferry_image_transform_options();
        Blob<float> picture;

        options.struct_size = sizeof options;
        options.scale = 1 / 256.0;
        options.height = in->height();
        options.width = in->width();
        if (ferry_image_read(path.c_str(), in->channels(), picture.blob()) < 0 ||
            ferry_image_transform(picture.blob(), &options, in->blob(), -1) < 0)
            throw caffe::Error(ferry_last_error_code(), ferry_last_error());
    }

    Net<float> net_;
};

int main(int argc, char **argv)
try {
    ::google::InitGoogleLogging(argv[0]);
    CHECK_GE(argc, 4) << "NET WEIGHTS PICTURE [gpu]";
    Caffe::set_mode(argc > 4 ? Caffe::GPU : Caffe::CPU);

    const vector<float> p = Classifier(argv[1], argv[2]).Predict(argv[3]);
    const vector<float>::const_iterator best = std::max_element(p.begin(), p.end());
    std::printf("class %ld, %.3f\n", static_cast<long>(best - p.begin()),
                static_cast<double>(*best));
    return 0;
} catch (const std::exception &e) {
    std::fprintf(stderr, "classify-caffe: %s\n", e.what());
    return 1;
}
