/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/filler.hpp
 * Caffe's fillers: they fill a blob's data according to a FillerParameter, with random numbers of
 * the thread's generator. Blobs are filled on the host. Random doubles are rounded to floats, so
 * that layers, which compute in float, use them unchanged. See ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_FILLER_HPP
#define FERRY_COMPAT_CAFFE_FILLER_HPP

#include <ferry/compat/caffe/blob.hpp>
#include <ferry/compat/caffe/util/math_functions.hpp>

namespace caffe
{

/** The base class of fillers. */
template <typename Dtype> class Filler
{
  public:
    explicit Filler(const FillerParameter &param) : filler_param_(param)
    {
    }
    virtual ~Filler()
    {
    }
    virtual void Fill(Blob<Dtype> *blob) = 0;

  protected:
    void RefuseSparse() const
    {
        CHECK_EQ(filler_param_.sparse(), -1) << "Sparsity not supported by this Filler.";
    }
    /** The divisor of a variance: fan_in, fan_out or their mean, selected by variance_norm. */
    Dtype Fan(const Blob<Dtype> &blob) const
    {
        const int first = blob.num_axes() > 0 ? blob.shape(0) : 1;
        const int second = blob.num_axes() > 1 ? blob.shape(1) : 1;
        const Dtype in = static_cast<Dtype>(blob.count()) / static_cast<Dtype>(first);
        const Dtype out = static_cast<Dtype>(blob.count()) / static_cast<Dtype>(second);

        if (filler_param_.variance_norm() == FillerParameter_VarianceNorm_AVERAGE)
            return (in + out) / 2;
        return filler_param_.variance_norm() == FillerParameter_VarianceNorm_FAN_OUT ? out : in;
    }

    /** Rounds random doubles to the nearest floats. */
    static void Round(Blob<Dtype> *blob)
    {
        Dtype *const data = blob->mutable_cpu_data();

        for (int i = 0; i < blob->count(); i++)
            data[i] = static_cast<Dtype>(static_cast<float>(data[i]));
    }

    FillerParameter filler_param_;
};

/** Sets all elements to `value`. */
template <typename Dtype> class ConstantFiller : public Filler<Dtype>
{
  public:
    explicit ConstantFiller(const FillerParameter &param) : Filler<Dtype>(param)
    {
    }
    virtual void Fill(Blob<Dtype> *blob)
    {
        CHECK(blob->count());
        this->RefuseSparse();
        caffe_set(blob->count(), static_cast<Dtype>(this->filler_param_.value()),
                  blob->mutable_cpu_data());
    }
};

/** Uniform between `min` and `max`. */
template <typename Dtype> class UniformFiller : public Filler<Dtype>
{
  public:
    explicit UniformFiller(const FillerParameter &param) : Filler<Dtype>(param)
    {
    }
    virtual void Fill(Blob<Dtype> *blob)
    {
        CHECK(blob->count());
        this->RefuseSparse();
        caffe_rng_uniform(blob->count(), static_cast<Dtype>(this->filler_param_.min()),
                          static_cast<Dtype>(this->filler_param_.max()), blob->mutable_cpu_data());
        this->Round(blob);
    }
};

/**
 * Normal with `mean` and `std`; with `sparse`, on average that many weights of each output are not
 * 0.
 */
template <typename Dtype> class GaussianFiller : public Filler<Dtype>
{
  public:
    explicit GaussianFiller(const FillerParameter &param) : Filler<Dtype>(param)
    {
    }
    virtual void Fill(Blob<Dtype> *blob)
    {
        const int sparse = this->filler_param_.sparse();
        Dtype *data = blob->mutable_cpu_data();

        CHECK(blob->count());
        caffe_rng_gaussian(blob->count(), static_cast<Dtype>(this->filler_param_.mean()),
                           static_cast<Dtype>(this->filler_param_.std()), data);
        this->Round(blob);
        CHECK_GE(sparse, -1);
        if (sparse < 0)
            return;
        CHECK_GE(blob->num_axes(), 1);
        vector<int> kept(static_cast<size_t>(blob->count()));
        caffe_rng_bernoulli(blob->count(),
                            static_cast<Dtype>(sparse) / static_cast<Dtype>(blob->shape(0)),
                            kept.data());
        for (int i = 0; i < blob->count(); i++)
            data[i] *= static_cast<Dtype>(kept[static_cast<size_t>(i)]);
    }
};

/** Uniform between 0 and 1, then divided so that the elements of each first index sum up to 1. */
template <typename Dtype> class PositiveUnitballFiller : public Filler<Dtype>
{
  public:
    explicit PositiveUnitballFiller(const FillerParameter &param) : Filler<Dtype>(param)
    {
    }
    virtual void Fill(Blob<Dtype> *blob)
    {
        Dtype *data = blob->mutable_cpu_data();

        CHECK(blob->count());
        this->RefuseSparse();
        caffe_rng_uniform(blob->count(), Dtype(0), Dtype(1), data);
        const int size = blob->count() / blob->shape(0);
        CHECK(size);
        for (int i = 0; i < blob->shape(0); i++, data += size)
            caffe_scal(size, Dtype(1) / caffe_cpu_asum(size, data), data);
    }
};

/** Uniform between ±√(3 / fan): a variance of 1 / fan. (Glorot and Bengio.) */
template <typename Dtype> class XavierFiller : public Filler<Dtype>
{
  public:
    explicit XavierFiller(const FillerParameter &param) : Filler<Dtype>(param)
    {
    }
    virtual void Fill(Blob<Dtype> *blob)
    {
        CHECK(blob->count());
        this->RefuseSparse();
        const Dtype bound = std::sqrt(Dtype(3) / this->Fan(*blob));
        caffe_rng_uniform(blob->count(), -bound, bound, blob->mutable_cpu_data());
        this->Round(blob);
    }
};

/** Normal with a variance of 2 / fan. (He, Zhang, Ren and Sun.) */
template <typename Dtype> class MSRAFiller : public Filler<Dtype>
{
  public:
    explicit MSRAFiller(const FillerParameter &param) : Filler<Dtype>(param)
    {
    }
    virtual void Fill(Blob<Dtype> *blob)
    {
        CHECK(blob->count());
        this->RefuseSparse();
        caffe_rng_gaussian(blob->count(), Dtype(0), std::sqrt(Dtype(2) / this->Fan(*blob)),
                           blob->mutable_cpu_data());
        this->Round(blob);
    }
};

/** The kernel of a deconvolution that interpolates bilinearly: four axes, the last two equal. */
template <typename Dtype> class BilinearFiller : public Filler<Dtype>
{
  public:
    explicit BilinearFiller(const FillerParameter &param) : Filler<Dtype>(param)
    {
    }
    virtual void Fill(Blob<Dtype> *blob)
    {
        CHECK_EQ(blob->num_axes(), 4) << "Blob must be 4 dim.";
        CHECK_EQ(blob->width(), blob->height()) << "Filter must be square";
        this->RefuseSparse();
        const int side = blob->width(), factor = (side + 1) / 2;
        const Dtype centre = static_cast<Dtype>(side - 1) / static_cast<Dtype>(2 * factor);
        Dtype *data = blob->mutable_cpu_data();

        for (int i = 0; i < blob->count(); i++) {
            const Dtype x = static_cast<Dtype>(i % side) / static_cast<Dtype>(factor);
            const Dtype y = static_cast<Dtype>(i / side % side) / static_cast<Dtype>(factor);

            data[i] = (1 - std::fabs(x - centre)) * (1 - std::fabs(y - centre));
        }
    }
};

/** Creates a filler of the message's type; the caller deletes it. FATAL for an unknown type. */
template <typename Dtype> Filler<Dtype> *GetFiller(const FillerParameter &param)
{
    const string &type = param.type();

    if (type == "constant")
        return new ConstantFiller<Dtype>(param);
    if (type == "gaussian")
        return new GaussianFiller<Dtype>(param);
    if (type == "positive_unitball")
        return new PositiveUnitballFiller<Dtype>(param);
    if (type == "uniform")
        return new UniformFiller<Dtype>(param);
    if (type == "xavier")
        return new XavierFiller<Dtype>(param);
    if (type == "msra")
        return new MSRAFiller<Dtype>(param);
    if (type == "bilinear")
        return new BilinearFiller<Dtype>(param);
    LOG(FATAL) << "Unknown filler name: " << type;
    return nullptr;
}

} // namespace caffe

#endif
