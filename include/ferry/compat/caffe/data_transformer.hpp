/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/data_transformer.hpp
 * Crop, mirror, mean and scale of pictures. See ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_DATA_TRANSFORMER_HPP
#define FERRY_COMPAT_CAFFE_DATA_TRANSFORMER_HPP

#include <ferry/compat/caffe/blob.hpp>
#include <ferry/compat/caffe/util/io.hpp>
#include <ferry/compat/caffe/util/math_functions.hpp>

namespace caffe
{

/**
 * Applies a TransformationParameter: (value − mean) · scale of a crop, mirrored at random in TRAIN
 * and TEST.
 */
template <typename Dtype> class DataTransformer
{
  public:
    explicit DataTransformer(const TransformationParameter &param, Phase phase)
        : param_(param), phase_(phase)
    {
        CHECK(!param.has_mean_file() || param.mean_value_size() == 0)
            << "Cannot specify mean_file and mean_value at the same time";
        if (param.has_mean_file()) {
            BlobProto mean;

            ReadProtoFromBinaryFileOrDie(param.mean_file(), &mean);
            data_mean_.FromProto(mean);
        }
        for (int c = 0; c < param.mean_value_size(); c++)
            mean_values_.push_back(static_cast<Dtype>(param.mean_value(c)));
    }
    virtual ~DataTransformer()
    {
    }

    /** Draws a seed from the thread's random numbers, if the transformation uses random numbers. */
    void InitRand()
    {
        const bool random = param_.mirror() || (phase_ == TRAIN && param_.crop_size());

        rng_.reset(random ? new Caffe::RNG(caffe_rng_rand()) : nullptr);
    }

    /** Transforms a record into a blob of one item. */
    void Transform(const Datum &datum, Blob<Dtype> *transformed_blob)
    {
        Transform(vector<Datum>(1, datum), transformed_blob);
    }
    /** Transforms records into the items of a blob. */
    void Transform(const vector<Datum> &datum_vector, Blob<Dtype> *transformed_blob)
    {
        CHECK_GT(datum_vector.size(), 0u) << "There is no datum to add";
        CHECK_LE(static_cast<int>(datum_vector.size()), transformed_blob->num())
            << "The size of datum_vector must be no greater than transformed_blob->num()";
        for (size_t i = 0; i < datum_vector.size(); i++)
            transform_datum(datum_vector[i], transformed_blob, static_cast<int>(i));
    }
#ifdef USE_OPENCV
    void Transform(const cv::Mat &cv_img, Blob<Dtype> *transformed_blob)
    {
        transform_mat(cv_img, transformed_blob, 0);
    }
    void Transform(const vector<cv::Mat> &mat_vector, Blob<Dtype> *transformed_blob)
    {
        CHECK_GT(mat_vector.size(), 0u) << "There is no MAT to add";
        CHECK_EQ(static_cast<int>(mat_vector.size()), transformed_blob->num())
            << "The size of mat_vector must be equals to transformed_blob->num()";
        for (size_t i = 0; i < mat_vector.size(); i++)
            transform_mat(mat_vector[i], transformed_blob, static_cast<int>(i));
    }
    vector<int> InferBlobShape(const cv::Mat &cv_img)
    {
        return shape_of(1, cv_img.channels(), cv_img.rows, cv_img.cols);
    }
    vector<int> InferBlobShape(const vector<cv::Mat> &mat_vector)
    {
        CHECK_GT(mat_vector.size(), 0u) << "There is no cv_img to in the vector";
        vector<int> shape = InferBlobShape(mat_vector[0]);

        shape[0] = static_cast<int>(mat_vector.size());
        return shape;
    }
#endif
    /** Transforms all items of a blob with the same crop, mirrored together or not. */
    void Transform(Blob<Dtype> *input_blob, Blob<Dtype> *transformed_blob)
    {
        const Cut cut = chosen(input_blob->height(), input_blob->width());
        const Dtype *const from = input_blob->cpu_data();
        const int channels = input_blob->channels(), height = input_blob->height(),
                  width = input_blob->width();

        if (transformed_blob->count() == 0)
            transformed_blob->Reshape(input_blob->num(), channels, cut.height, cut.width);
        CHECK_LE(input_blob->num(), transformed_blob->num());
        for (int n = 0; n < input_blob->num(); n++) {
            const Dtype *const item = from + static_cast<ptrdiff_t>(n) * channels * height * width;

            write(channels, height, width, cut, transformed_blob, n,
                  [=](int c, int h, int w) { return item[(c * height + h) * width + w]; });
        }
    }

    /** The shape of a blob for such records after the transformation. */
    vector<int> InferBlobShape(const Datum &datum)
    {
        if (!datum.encoded())
            return shape_of(1, datum.channels(), datum.height(), datum.width());
        Datum plain(datum);

        decode(&plain);
        return shape_of(1, plain.channels(), plain.height(), plain.width());
    }
    vector<int> InferBlobShape(const vector<Datum> &datum_vector)
    {
        CHECK_GT(datum_vector.size(), 0u) << "There is no datum to in the vector";
        vector<int> shape = InferBlobShape(datum_vector[0]);

        shape[0] = static_cast<int>(datum_vector.size());
        return shape;
    }

  protected:
    /** A random number below n. */
    virtual int Rand(int n)
    {
        CHECK(rng_);
        CHECK_GT(n, 0);
        return static_cast<int>((*static_cast<rng_t *>(rng_->generator()))() %
                                static_cast<unsigned>(n));
    }

    TransformationParameter param_;
    shared_ptr<Caffe::RNG> rng_;
    Phase phase_;
    Blob<Dtype> data_mean_;
    vector<Dtype> mean_values_;

  private:
    /** The crop of a picture, and whether it is mirrored. */
    struct Cut {
        int top, left, height, width;
        bool mirror;
    };

    vector<int> shape_of(int num, int channels, int height, int width) const
    {
        const int crop = static_cast<int>(param_.crop_size());
        const int dims[] = { num, channels, crop ? crop : height, crop ? crop : width };

        CHECK_GT(channels, 0);
        CHECK_GE(height, crop);
        CHECK_GE(width, crop);
        return vector<int>(dims, dims + 4);
    }
    Cut chosen(int height, int width)
    {
        const int crop = static_cast<int>(param_.crop_size());
        Cut cut = { 0, 0, crop ? crop : height, crop ? crop : width, false };

        CHECK_GE(height, cut.height);
        CHECK_GE(width, cut.width);
        cut.mirror = param_.mirror() && Rand(2) != 0;
        if (crop && phase_ == TRAIN) {
            cut.top = Rand(height - crop + 1);
            cut.left = Rand(width - crop + 1);
        } else {
            cut.top = (height - cut.height) / 2;
            cut.left = (width - cut.width) / 2;
        }
        return cut;
    }
    /** Decodes an encoded picture to bytes: in colour, in gray, or unchanged. */
    void decode(Datum *datum) const
    {
        CHECK(!(param_.force_color() && param_.force_gray()))
            << "cannot set both force_color and force_gray";
        if (param_.force_color() || param_.force_gray())
            DecodeDatum(datum, param_.force_color());
        else
            DecodeDatumNative(datum);
    }
    void transform_datum(const Datum &datum, Blob<Dtype> *out, int item)
    {
        if (datum.encoded()) {
            Datum plain(datum);

            decode(&plain);
            return transform_datum(plain, out, item);
        }
        const int height = datum.height(), width = datum.width();
        const Cut cut = chosen(height, width);
        const string &bytes = datum.data();

        if (!bytes.empty())
            write(datum.channels(), height, width, cut, out, item, [&](int c, int h, int w) {
                return static_cast<Dtype>(
                    static_cast<uint8_t>(bytes[static_cast<size_t>((c * height + h) * width + w)]));
            });
        else
            write(datum.channels(), height, width, cut, out, item, [&](int c, int h, int w) {
                return static_cast<Dtype>(datum.float_data((c * height + h) * width + w));
            });
    }
#ifdef USE_OPENCV
    void transform_mat(const cv::Mat &image, Blob<Dtype> *out, int item)
    {
        const int channels = image.channels();

        CHECK(image.depth() == CV_8U) << "Image data type must be unsigned byte";
        write(channels, image.rows, image.cols, chosen(image.rows, image.cols), out, item,
              [&](int c, int h, int w) {
                  return static_cast<Dtype>(image.ptr<uchar>(h)[w * channels + c]);
              });
    }
#endif
    /**
     * Fills item `item` of a blob; `at` returns the value at a channel, row and column of the
     * picture.
     */
    template <typename At>
    void write(int channels, int height, int width, const Cut &cut, Blob<Dtype> *out, int item,
               At at)
    {
        const Dtype scale = static_cast<Dtype>(param_.scale());
        const Dtype *const means = mean_of(channels, height, width);
        Dtype *to = out->mutable_cpu_data() + out->offset(item);

        CHECK_EQ(channels, out->channels());
        CHECK_EQ(cut.height, out->height());
        CHECK_EQ(cut.width, out->width());
        for (int c = 0; c < channels; c++)
            for (int h = 0; h < cut.height; h++)
                for (int w = 0; w < cut.width; w++) {
                    const int y = cut.top + h, x = cut.left + w;
                    Dtype value = at(c, y, x);

                    if (means)
                        value -= means[(c * height + y) * width + x];
                    else if (!mean_values_.empty())
                        value -=
                            mean_values_[mean_values_.size() == 1 ? 0 : static_cast<size_t>(c)];
                    to[(c * cut.height + h) * cut.width + (cut.mirror ? cut.width - 1 - w : w)] =
                        value * scale;
                }
    }
    /** The mean picture, NULL without one; checks the shape and the number of means. */
    const Dtype *mean_of(int channels, int height, int width) const
    {
        CHECK(mean_values_.size() <= 1 || static_cast<int>(mean_values_.size()) == channels)
            << "Specify either 1 mean_value or as many as channels: " << channels;
        if (!param_.has_mean_file())
            return nullptr;
        CHECK_EQ(channels, data_mean_.channels());
        CHECK_EQ(height, data_mean_.height());
        CHECK_EQ(width, data_mean_.width());
        return data_mean_.cpu_data();
    }
};

} // namespace caffe

#endif
