/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/proto/caffe.pb.h
 * The messages of caffe.proto with the accessors that protobuf would generate, without protobuf:
 * for programs that have no classes of protoc's (see compat/caffe/messages.hpp). Made by
 * net/proto/caffe-messages.py.
 */
#ifndef FERRY_COMPAT_CAFFE_PROTO_CAFFE_PB_H
#define FERRY_COMPAT_CAFFE_PROTO_CAFFE_PB_H

#include <ferry/compat/caffe/proto/fields.hpp>

namespace caffe
{

enum Phase { TRAIN = 0, TEST = 1 };

class BlobShape : public Message
{
  public:
    FERRY_MESSAGE(BlobShape)
    FERRY_MANY(Many, int64_t, dim)
};

class BlobProto : public Message
{
  public:
    FERRY_MESSAGE(BlobProto)
    FERRY_PART(BlobShape, shape)
    FERRY_MANY(Many, float, data)
    FERRY_MANY(Many, float, diff)
    FERRY_MANY(Many, double, double_data)
    FERRY_MANY(Many, double, double_diff)
    FERRY_ONE(One, int32_t, num, 0)
    FERRY_ONE(One, int32_t, channels, 0)
    FERRY_ONE(One, int32_t, height, 0)
    FERRY_ONE(One, int32_t, width, 0)
};

class BlobProtoVector : public Message
{
  public:
    FERRY_MESSAGE(BlobProtoVector)
    FERRY_PARTS(BlobProto, blobs)
};

class Datum : public Message
{
  public:
    FERRY_MESSAGE(Datum)
    FERRY_ONE(One, int32_t, channels, 0)
    FERRY_ONE(One, int32_t, height, 0)
    FERRY_ONE(One, int32_t, width, 0)
    FERRY_ONE(One, std::string, data, "")
    FERRY_ONE(One, int32_t, label, 0)
    FERRY_MANY(Many, float, float_data)
    FERRY_ONE(One, bool, encoded, false)
};

class NetState : public Message
{
  public:
    FERRY_MESSAGE(NetState)
    FERRY_ONE(Choice, Phase, phase, TEST)
    FERRY_ONE(One, int32_t, level, 0)
    FERRY_MANY(Many, std::string, stage)
};

enum ParamSpec_DimCheckMode {
    ParamSpec_DimCheckMode_STRICT = 0, ParamSpec_DimCheckMode_PERMISSIVE = 1
};

class ParamSpec : public Message
{
  public:
    FERRY_MESSAGE(ParamSpec)
    typedef ParamSpec_DimCheckMode DimCheckMode;
    static const ParamSpec_DimCheckMode STRICT = ParamSpec_DimCheckMode_STRICT;
    static const ParamSpec_DimCheckMode PERMISSIVE = ParamSpec_DimCheckMode_PERMISSIVE;
    FERRY_ONE(One, std::string, name, "")
    FERRY_ONE(Choice, ParamSpec_DimCheckMode, share_mode, ParamSpec_DimCheckMode_STRICT)
    FERRY_ONE(One, float, lr_mult, 1.0F)
    FERRY_ONE(One, float, decay_mult, 1.0F)
};

class NetStateRule : public Message
{
  public:
    FERRY_MESSAGE(NetStateRule)
    FERRY_ONE(Choice, Phase, phase, TRAIN)
    FERRY_ONE(One, int32_t, min_level, 0)
    FERRY_ONE(One, int32_t, max_level, 0)
    FERRY_MANY(Many, std::string, stage)
    FERRY_MANY(Many, std::string, not_stage)
};

class TransformationParameter : public Message
{
  public:
    FERRY_MESSAGE(TransformationParameter)
    FERRY_ONE(One, float, scale, 1.0F)
    FERRY_ONE(One, bool, mirror, false)
    FERRY_ONE(One, uint32_t, crop_size, 0u)
    FERRY_ONE(One, std::string, mean_file, "")
    FERRY_MANY(Many, float, mean_value)
    FERRY_ONE(One, bool, force_color, false)
    FERRY_ONE(One, bool, force_gray, false)
};

enum LossParameter_NormalizationMode {
    LossParameter_NormalizationMode_FULL = 0, LossParameter_NormalizationMode_VALID = 1,
    LossParameter_NormalizationMode_BATCH_SIZE = 2, LossParameter_NormalizationMode_NONE = 3
};

class LossParameter : public Message
{
  public:
    FERRY_MESSAGE(LossParameter)
    typedef LossParameter_NormalizationMode NormalizationMode;
    static const LossParameter_NormalizationMode FULL = LossParameter_NormalizationMode_FULL;
    static const LossParameter_NormalizationMode VALID = LossParameter_NormalizationMode_VALID;
    static const LossParameter_NormalizationMode BATCH_SIZE = LossParameter_NormalizationMode_BATCH_SIZE;
    static const LossParameter_NormalizationMode NONE = LossParameter_NormalizationMode_NONE;
    FERRY_ONE(One, int32_t, ignore_label, 0)
    FERRY_ONE(Choice, LossParameter_NormalizationMode, normalization, LossParameter_NormalizationMode_VALID)
    FERRY_ONE(One, bool, normalize, false)
};

class AccuracyParameter : public Message
{
  public:
    FERRY_MESSAGE(AccuracyParameter)
    FERRY_ONE(One, uint32_t, top_k, 1u)
    FERRY_ONE(One, int32_t, axis, 1)
    FERRY_ONE(One, int32_t, ignore_label, 0)
};

class ArgMaxParameter : public Message
{
  public:
    FERRY_MESSAGE(ArgMaxParameter)
    FERRY_ONE(One, bool, out_max_val, false)
    FERRY_ONE(One, uint32_t, top_k, 1u)
    FERRY_ONE(One, int32_t, axis, 0)
};

class BatchNormParameter : public Message
{
  public:
    FERRY_MESSAGE(BatchNormParameter)
    FERRY_ONE(One, bool, use_global_stats, false)
    FERRY_ONE(One, float, moving_average_fraction, 0.999000013F)
    FERRY_ONE(One, float, eps, 9.99999975e-06F)
};

enum FillerParameter_VarianceNorm {
    FillerParameter_VarianceNorm_FAN_IN = 0, FillerParameter_VarianceNorm_FAN_OUT = 1,
    FillerParameter_VarianceNorm_AVERAGE = 2
};

class FillerParameter : public Message
{
  public:
    FERRY_MESSAGE(FillerParameter)
    typedef FillerParameter_VarianceNorm VarianceNorm;
    static const FillerParameter_VarianceNorm FAN_IN = FillerParameter_VarianceNorm_FAN_IN;
    static const FillerParameter_VarianceNorm FAN_OUT = FillerParameter_VarianceNorm_FAN_OUT;
    static const FillerParameter_VarianceNorm AVERAGE = FillerParameter_VarianceNorm_AVERAGE;
    FERRY_ONE(One, std::string, type, "constant")
    FERRY_ONE(One, float, value, 0.0F)
    FERRY_ONE(One, float, min, 0.0F)
    FERRY_ONE(One, float, max, 1.0F)
    FERRY_ONE(One, float, mean, 0.0F)
    FERRY_ONE(One, float, std, 1.0F)
    FERRY_ONE(One, int32_t, sparse, -1)
    FERRY_ONE(Choice, FillerParameter_VarianceNorm, variance_norm, FillerParameter_VarianceNorm_FAN_IN)
};

class BiasParameter : public Message
{
  public:
    FERRY_MESSAGE(BiasParameter)
    FERRY_ONE(One, int32_t, axis, 1)
    FERRY_ONE(One, int32_t, num_axes, 1)
    FERRY_PART(FillerParameter, filler)
};

class ClipParameter : public Message
{
  public:
    FERRY_MESSAGE(ClipParameter)
    FERRY_ONE(One, float, min, 0.0F)
    FERRY_ONE(One, float, max, 0.0F)
};

class ConcatParameter : public Message
{
  public:
    FERRY_MESSAGE(ConcatParameter)
    FERRY_ONE(One, int32_t, axis, 1)
    FERRY_ONE(One, uint32_t, concat_dim, 1u)
};

class ContrastiveLossParameter : public Message
{
  public:
    FERRY_MESSAGE(ContrastiveLossParameter)
    FERRY_ONE(One, float, margin, 1.0F)
    FERRY_ONE(One, bool, legacy_version, false)
};

enum ConvolutionParameter_Engine {
    ConvolutionParameter_Engine_DEFAULT = 0, ConvolutionParameter_Engine_CAFFE = 1,
    ConvolutionParameter_Engine_CUDNN = 2
};

class ConvolutionParameter : public Message
{
  public:
    FERRY_MESSAGE(ConvolutionParameter)
    typedef ConvolutionParameter_Engine Engine;
    static const ConvolutionParameter_Engine DEFAULT = ConvolutionParameter_Engine_DEFAULT;
    static const ConvolutionParameter_Engine CAFFE = ConvolutionParameter_Engine_CAFFE;
    static const ConvolutionParameter_Engine CUDNN = ConvolutionParameter_Engine_CUDNN;
    FERRY_ONE(One, uint32_t, num_output, 0u)
    FERRY_ONE(One, bool, bias_term, true)
    FERRY_MANY(Many, uint32_t, pad)
    FERRY_MANY(Many, uint32_t, kernel_size)
    FERRY_MANY(Many, uint32_t, stride)
    FERRY_MANY(Many, uint32_t, dilation)
    FERRY_ONE(One, uint32_t, pad_h, 0u)
    FERRY_ONE(One, uint32_t, pad_w, 0u)
    FERRY_ONE(One, uint32_t, kernel_h, 0u)
    FERRY_ONE(One, uint32_t, kernel_w, 0u)
    FERRY_ONE(One, uint32_t, stride_h, 0u)
    FERRY_ONE(One, uint32_t, stride_w, 0u)
    FERRY_ONE(One, uint32_t, group, 1u)
    FERRY_PART(FillerParameter, weight_filler)
    FERRY_PART(FillerParameter, bias_filler)
    FERRY_ONE(Choice, ConvolutionParameter_Engine, engine, ConvolutionParameter_Engine_DEFAULT)
    FERRY_ONE(One, int32_t, axis, 1)
    FERRY_ONE(One, bool, force_nd_im2col, false)
};

class CropParameter : public Message
{
  public:
    FERRY_MESSAGE(CropParameter)
    FERRY_ONE(One, int32_t, axis, 2)
    FERRY_MANY(Many, uint32_t, offset)
};

enum DataParameter_DB {
    DataParameter_DB_LEVELDB = 0, DataParameter_DB_LMDB = 1
};

class DataParameter : public Message
{
  public:
    FERRY_MESSAGE(DataParameter)
    typedef DataParameter_DB DB;
    static const DataParameter_DB LEVELDB = DataParameter_DB_LEVELDB;
    static const DataParameter_DB LMDB = DataParameter_DB_LMDB;
    FERRY_ONE(One, std::string, source, "")
    FERRY_ONE(One, uint32_t, batch_size, 0u)
    FERRY_ONE(One, uint32_t, rand_skip, 0u)
    FERRY_ONE(Choice, DataParameter_DB, backend, DataParameter_DB_LEVELDB)
    FERRY_ONE(One, float, scale, 1.0F)
    FERRY_ONE(One, std::string, mean_file, "")
    FERRY_ONE(One, uint32_t, crop_size, 0u)
    FERRY_ONE(One, bool, mirror, false)
    FERRY_ONE(One, bool, force_encoded_color, false)
    FERRY_ONE(One, uint32_t, prefetch, 4u)
};

class DropoutParameter : public Message
{
  public:
    FERRY_MESSAGE(DropoutParameter)
    FERRY_ONE(One, float, dropout_ratio, 0.5F)
};

class DummyDataParameter : public Message
{
  public:
    FERRY_MESSAGE(DummyDataParameter)
    FERRY_PARTS(FillerParameter, data_filler)
    FERRY_PARTS(BlobShape, shape)
    FERRY_MANY(Many, uint32_t, num)
    FERRY_MANY(Many, uint32_t, channels)
    FERRY_MANY(Many, uint32_t, height)
    FERRY_MANY(Many, uint32_t, width)
};

enum EltwiseParameter_EltwiseOp {
    EltwiseParameter_EltwiseOp_PROD = 0, EltwiseParameter_EltwiseOp_SUM = 1,
    EltwiseParameter_EltwiseOp_MAX = 2
};

class EltwiseParameter : public Message
{
  public:
    FERRY_MESSAGE(EltwiseParameter)
    typedef EltwiseParameter_EltwiseOp EltwiseOp;
    static const EltwiseParameter_EltwiseOp PROD = EltwiseParameter_EltwiseOp_PROD;
    static const EltwiseParameter_EltwiseOp SUM = EltwiseParameter_EltwiseOp_SUM;
    static const EltwiseParameter_EltwiseOp MAX = EltwiseParameter_EltwiseOp_MAX;
    FERRY_ONE(Choice, EltwiseParameter_EltwiseOp, operation, EltwiseParameter_EltwiseOp_SUM)
    FERRY_MANY(Many, float, coeff)
    FERRY_ONE(One, bool, stable_prod_grad, true)
};

class ELUParameter : public Message
{
  public:
    FERRY_MESSAGE(ELUParameter)
    FERRY_ONE(One, float, alpha, 1.0F)
};

class EmbedParameter : public Message
{
  public:
    FERRY_MESSAGE(EmbedParameter)
    FERRY_ONE(One, uint32_t, num_output, 0u)
    FERRY_ONE(One, uint32_t, input_dim, 0u)
    FERRY_ONE(One, bool, bias_term, true)
    FERRY_PART(FillerParameter, weight_filler)
    FERRY_PART(FillerParameter, bias_filler)
};

class ExpParameter : public Message
{
  public:
    FERRY_MESSAGE(ExpParameter)
    FERRY_ONE(One, float, base, -1.0F)
    FERRY_ONE(One, float, scale, 1.0F)
    FERRY_ONE(One, float, shift, 0.0F)
};

class FlattenParameter : public Message
{
  public:
    FERRY_MESSAGE(FlattenParameter)
    FERRY_ONE(One, int32_t, axis, 1)
    FERRY_ONE(One, int32_t, end_axis, -1)
};

class HDF5DataParameter : public Message
{
  public:
    FERRY_MESSAGE(HDF5DataParameter)
    FERRY_ONE(One, std::string, source, "")
    FERRY_ONE(One, uint32_t, batch_size, 0u)
    FERRY_ONE(One, bool, shuffle, false)
};

class HDF5OutputParameter : public Message
{
  public:
    FERRY_MESSAGE(HDF5OutputParameter)
    FERRY_ONE(One, std::string, file_name, "")
};

enum HingeLossParameter_Norm {
    HingeLossParameter_Norm_L1 = 1, HingeLossParameter_Norm_L2 = 2
};

class HingeLossParameter : public Message
{
  public:
    FERRY_MESSAGE(HingeLossParameter)
    typedef HingeLossParameter_Norm Norm;
    static const HingeLossParameter_Norm L1 = HingeLossParameter_Norm_L1;
    static const HingeLossParameter_Norm L2 = HingeLossParameter_Norm_L2;
    FERRY_ONE(Choice, HingeLossParameter_Norm, norm, HingeLossParameter_Norm_L1)
};

class ImageDataParameter : public Message
{
  public:
    FERRY_MESSAGE(ImageDataParameter)
    FERRY_ONE(One, std::string, source, "")
    FERRY_ONE(One, uint32_t, batch_size, 1u)
    FERRY_ONE(One, uint32_t, rand_skip, 0u)
    FERRY_ONE(One, bool, shuffle, false)
    FERRY_ONE(One, uint32_t, new_height, 0u)
    FERRY_ONE(One, uint32_t, new_width, 0u)
    FERRY_ONE(One, bool, is_color, true)
    FERRY_ONE(One, float, scale, 1.0F)
    FERRY_ONE(One, std::string, mean_file, "")
    FERRY_ONE(One, uint32_t, crop_size, 0u)
    FERRY_ONE(One, bool, mirror, false)
    FERRY_ONE(One, std::string, root_folder, "")
};

class InfogainLossParameter : public Message
{
  public:
    FERRY_MESSAGE(InfogainLossParameter)
    FERRY_ONE(One, std::string, source, "")
    FERRY_ONE(One, int32_t, axis, 1)
};

class InnerProductParameter : public Message
{
  public:
    FERRY_MESSAGE(InnerProductParameter)
    FERRY_ONE(One, uint32_t, num_output, 0u)
    FERRY_ONE(One, bool, bias_term, true)
    FERRY_PART(FillerParameter, weight_filler)
    FERRY_PART(FillerParameter, bias_filler)
    FERRY_ONE(One, int32_t, axis, 1)
    FERRY_ONE(One, bool, transpose, false)
};

class InputParameter : public Message
{
  public:
    FERRY_MESSAGE(InputParameter)
    FERRY_PARTS(BlobShape, shape)
};

class LogParameter : public Message
{
  public:
    FERRY_MESSAGE(LogParameter)
    FERRY_ONE(One, float, base, -1.0F)
    FERRY_ONE(One, float, scale, 1.0F)
    FERRY_ONE(One, float, shift, 0.0F)
};

enum LRNParameter_NormRegion {
    LRNParameter_NormRegion_ACROSS_CHANNELS = 0, LRNParameter_NormRegion_WITHIN_CHANNEL = 1
};

enum LRNParameter_Engine {
    LRNParameter_Engine_DEFAULT = 0, LRNParameter_Engine_CAFFE = 1, LRNParameter_Engine_CUDNN = 2
};

class LRNParameter : public Message
{
  public:
    FERRY_MESSAGE(LRNParameter)
    typedef LRNParameter_NormRegion NormRegion;
    static const LRNParameter_NormRegion ACROSS_CHANNELS = LRNParameter_NormRegion_ACROSS_CHANNELS;
    static const LRNParameter_NormRegion WITHIN_CHANNEL = LRNParameter_NormRegion_WITHIN_CHANNEL;
    typedef LRNParameter_Engine Engine;
    static const LRNParameter_Engine DEFAULT = LRNParameter_Engine_DEFAULT;
    static const LRNParameter_Engine CAFFE = LRNParameter_Engine_CAFFE;
    static const LRNParameter_Engine CUDNN = LRNParameter_Engine_CUDNN;
    FERRY_ONE(One, uint32_t, local_size, 5u)
    FERRY_ONE(One, float, alpha, 1.0F)
    FERRY_ONE(One, float, beta, 0.75F)
    FERRY_ONE(Choice, LRNParameter_NormRegion, norm_region, LRNParameter_NormRegion_ACROSS_CHANNELS)
    FERRY_ONE(One, float, k, 1.0F)
    FERRY_ONE(Choice, LRNParameter_Engine, engine, LRNParameter_Engine_DEFAULT)
};

class MemoryDataParameter : public Message
{
  public:
    FERRY_MESSAGE(MemoryDataParameter)
    FERRY_ONE(One, uint32_t, batch_size, 0u)
    FERRY_ONE(One, uint32_t, channels, 0u)
    FERRY_ONE(One, uint32_t, height, 0u)
    FERRY_ONE(One, uint32_t, width, 0u)
};

class MVNParameter : public Message
{
  public:
    FERRY_MESSAGE(MVNParameter)
    FERRY_ONE(One, bool, normalize_variance, true)
    FERRY_ONE(One, bool, across_channels, false)
    FERRY_ONE(One, float, eps, 9.99999972e-10F)
};

class ParameterParameter : public Message
{
  public:
    FERRY_MESSAGE(ParameterParameter)
    FERRY_PART(BlobShape, shape)
};

enum PoolingParameter_PoolMethod {
    PoolingParameter_PoolMethod_MAX = 0, PoolingParameter_PoolMethod_AVE = 1,
    PoolingParameter_PoolMethod_STOCHASTIC = 2, PoolingParameter_PoolMethod_AVE_EXC_PAD = 3
};

enum PoolingParameter_Engine {
    PoolingParameter_Engine_DEFAULT = 0, PoolingParameter_Engine_CAFFE = 1,
    PoolingParameter_Engine_CUDNN = 2
};

enum PoolingParameter_RoundMode {
    PoolingParameter_RoundMode_CEIL = 0, PoolingParameter_RoundMode_FLOOR = 1
};

class PoolingParameter : public Message
{
  public:
    FERRY_MESSAGE(PoolingParameter)
    typedef PoolingParameter_PoolMethod PoolMethod;
    static const PoolingParameter_PoolMethod MAX = PoolingParameter_PoolMethod_MAX;
    static const PoolingParameter_PoolMethod AVE = PoolingParameter_PoolMethod_AVE;
    static const PoolingParameter_PoolMethod STOCHASTIC = PoolingParameter_PoolMethod_STOCHASTIC;
    static const PoolingParameter_PoolMethod AVE_EXC_PAD = PoolingParameter_PoolMethod_AVE_EXC_PAD;
    typedef PoolingParameter_Engine Engine;
    static const PoolingParameter_Engine DEFAULT = PoolingParameter_Engine_DEFAULT;
    static const PoolingParameter_Engine CAFFE = PoolingParameter_Engine_CAFFE;
    static const PoolingParameter_Engine CUDNN = PoolingParameter_Engine_CUDNN;
    typedef PoolingParameter_RoundMode RoundMode;
    static const PoolingParameter_RoundMode CEIL = PoolingParameter_RoundMode_CEIL;
    static const PoolingParameter_RoundMode FLOOR = PoolingParameter_RoundMode_FLOOR;
    FERRY_ONE(Choice, PoolingParameter_PoolMethod, pool, PoolingParameter_PoolMethod_MAX)
    FERRY_ONE(One, uint32_t, pad, 0u)
    FERRY_ONE(One, uint32_t, pad_h, 0u)
    FERRY_ONE(One, uint32_t, pad_w, 0u)
    FERRY_ONE(One, uint32_t, kernel_size, 0u)
    FERRY_ONE(One, uint32_t, kernel_h, 0u)
    FERRY_ONE(One, uint32_t, kernel_w, 0u)
    FERRY_ONE(One, uint32_t, stride, 1u)
    FERRY_ONE(One, uint32_t, stride_h, 0u)
    FERRY_ONE(One, uint32_t, stride_w, 0u)
    FERRY_ONE(Choice, PoolingParameter_Engine, engine, PoolingParameter_Engine_DEFAULT)
    FERRY_ONE(One, bool, global_pooling, false)
    FERRY_ONE(Choice, PoolingParameter_RoundMode, round_mode, PoolingParameter_RoundMode_CEIL)
};

class PowerParameter : public Message
{
  public:
    FERRY_MESSAGE(PowerParameter)
    FERRY_ONE(One, float, power, 1.0F)
    FERRY_ONE(One, float, scale, 1.0F)
    FERRY_ONE(One, float, shift, 0.0F)
};

class PReLUParameter : public Message
{
  public:
    FERRY_MESSAGE(PReLUParameter)
    FERRY_PART(FillerParameter, filler)
    FERRY_ONE(One, bool, channel_shared, false)
};

class PythonParameter : public Message
{
  public:
    FERRY_MESSAGE(PythonParameter)
    FERRY_ONE(One, std::string, module, "")
    FERRY_ONE(One, std::string, layer, "")
    FERRY_ONE(One, std::string, param_str, "")
    FERRY_ONE(One, bool, share_in_parallel, false)
};

class RecurrentParameter : public Message
{
  public:
    FERRY_MESSAGE(RecurrentParameter)
    FERRY_ONE(One, uint32_t, num_output, 0u)
    FERRY_PART(FillerParameter, weight_filler)
    FERRY_PART(FillerParameter, bias_filler)
    FERRY_ONE(One, bool, debug_info, false)
    FERRY_ONE(One, bool, expose_hidden, false)
};

enum ReductionParameter_ReductionOp {
    ReductionParameter_ReductionOp_SUM = 1, ReductionParameter_ReductionOp_ASUM = 2,
    ReductionParameter_ReductionOp_SUMSQ = 3, ReductionParameter_ReductionOp_MEAN = 4
};

class ReductionParameter : public Message
{
  public:
    FERRY_MESSAGE(ReductionParameter)
    typedef ReductionParameter_ReductionOp ReductionOp;
    static const ReductionParameter_ReductionOp SUM = ReductionParameter_ReductionOp_SUM;
    static const ReductionParameter_ReductionOp ASUM = ReductionParameter_ReductionOp_ASUM;
    static const ReductionParameter_ReductionOp SUMSQ = ReductionParameter_ReductionOp_SUMSQ;
    static const ReductionParameter_ReductionOp MEAN = ReductionParameter_ReductionOp_MEAN;
    FERRY_ONE(Choice, ReductionParameter_ReductionOp, operation, ReductionParameter_ReductionOp_SUM)
    FERRY_ONE(One, int32_t, axis, 0)
    FERRY_ONE(One, float, coeff, 1.0F)
};

enum ReLUParameter_Engine {
    ReLUParameter_Engine_DEFAULT = 0, ReLUParameter_Engine_CAFFE = 1,
    ReLUParameter_Engine_CUDNN = 2
};

class ReLUParameter : public Message
{
  public:
    FERRY_MESSAGE(ReLUParameter)
    typedef ReLUParameter_Engine Engine;
    static const ReLUParameter_Engine DEFAULT = ReLUParameter_Engine_DEFAULT;
    static const ReLUParameter_Engine CAFFE = ReLUParameter_Engine_CAFFE;
    static const ReLUParameter_Engine CUDNN = ReLUParameter_Engine_CUDNN;
    FERRY_ONE(One, float, negative_slope, 0.0F)
    FERRY_ONE(Choice, ReLUParameter_Engine, engine, ReLUParameter_Engine_DEFAULT)
};

class ReshapeParameter : public Message
{
  public:
    FERRY_MESSAGE(ReshapeParameter)
    FERRY_PART(BlobShape, shape)
    FERRY_ONE(One, int32_t, axis, 0)
    FERRY_ONE(One, int32_t, num_axes, -1)
};

class ScaleParameter : public Message
{
  public:
    FERRY_MESSAGE(ScaleParameter)
    FERRY_ONE(One, int32_t, axis, 1)
    FERRY_ONE(One, int32_t, num_axes, 1)
    FERRY_PART(FillerParameter, filler)
    FERRY_ONE(One, bool, bias_term, false)
    FERRY_PART(FillerParameter, bias_filler)
};

enum SigmoidParameter_Engine {
    SigmoidParameter_Engine_DEFAULT = 0, SigmoidParameter_Engine_CAFFE = 1,
    SigmoidParameter_Engine_CUDNN = 2
};

class SigmoidParameter : public Message
{
  public:
    FERRY_MESSAGE(SigmoidParameter)
    typedef SigmoidParameter_Engine Engine;
    static const SigmoidParameter_Engine DEFAULT = SigmoidParameter_Engine_DEFAULT;
    static const SigmoidParameter_Engine CAFFE = SigmoidParameter_Engine_CAFFE;
    static const SigmoidParameter_Engine CUDNN = SigmoidParameter_Engine_CUDNN;
    FERRY_ONE(Choice, SigmoidParameter_Engine, engine, SigmoidParameter_Engine_DEFAULT)
};

enum SoftmaxParameter_Engine {
    SoftmaxParameter_Engine_DEFAULT = 0, SoftmaxParameter_Engine_CAFFE = 1,
    SoftmaxParameter_Engine_CUDNN = 2
};

class SoftmaxParameter : public Message
{
  public:
    FERRY_MESSAGE(SoftmaxParameter)
    typedef SoftmaxParameter_Engine Engine;
    static const SoftmaxParameter_Engine DEFAULT = SoftmaxParameter_Engine_DEFAULT;
    static const SoftmaxParameter_Engine CAFFE = SoftmaxParameter_Engine_CAFFE;
    static const SoftmaxParameter_Engine CUDNN = SoftmaxParameter_Engine_CUDNN;
    FERRY_ONE(Choice, SoftmaxParameter_Engine, engine, SoftmaxParameter_Engine_DEFAULT)
    FERRY_ONE(One, int32_t, axis, 1)
};

enum SPPParameter_PoolMethod {
    SPPParameter_PoolMethod_MAX = 0, SPPParameter_PoolMethod_AVE = 1,
    SPPParameter_PoolMethod_STOCHASTIC = 2
};

enum SPPParameter_Engine {
    SPPParameter_Engine_DEFAULT = 0, SPPParameter_Engine_CAFFE = 1, SPPParameter_Engine_CUDNN = 2
};

class SPPParameter : public Message
{
  public:
    FERRY_MESSAGE(SPPParameter)
    typedef SPPParameter_PoolMethod PoolMethod;
    static const SPPParameter_PoolMethod MAX = SPPParameter_PoolMethod_MAX;
    static const SPPParameter_PoolMethod AVE = SPPParameter_PoolMethod_AVE;
    static const SPPParameter_PoolMethod STOCHASTIC = SPPParameter_PoolMethod_STOCHASTIC;
    typedef SPPParameter_Engine Engine;
    static const SPPParameter_Engine DEFAULT = SPPParameter_Engine_DEFAULT;
    static const SPPParameter_Engine CAFFE = SPPParameter_Engine_CAFFE;
    static const SPPParameter_Engine CUDNN = SPPParameter_Engine_CUDNN;
    FERRY_ONE(One, uint32_t, pyramid_height, 0u)
    FERRY_ONE(Choice, SPPParameter_PoolMethod, pool, SPPParameter_PoolMethod_MAX)
    FERRY_ONE(Choice, SPPParameter_Engine, engine, SPPParameter_Engine_DEFAULT)
};

class SliceParameter : public Message
{
  public:
    FERRY_MESSAGE(SliceParameter)
    FERRY_ONE(One, int32_t, axis, 1)
    FERRY_MANY(Many, uint32_t, slice_point)
    FERRY_ONE(One, uint32_t, slice_dim, 1u)
};

class SwishParameter : public Message
{
  public:
    FERRY_MESSAGE(SwishParameter)
    FERRY_ONE(One, float, beta, 1.0F)
};

enum TanHParameter_Engine {
    TanHParameter_Engine_DEFAULT = 0, TanHParameter_Engine_CAFFE = 1,
    TanHParameter_Engine_CUDNN = 2
};

class TanHParameter : public Message
{
  public:
    FERRY_MESSAGE(TanHParameter)
    typedef TanHParameter_Engine Engine;
    static const TanHParameter_Engine DEFAULT = TanHParameter_Engine_DEFAULT;
    static const TanHParameter_Engine CAFFE = TanHParameter_Engine_CAFFE;
    static const TanHParameter_Engine CUDNN = TanHParameter_Engine_CUDNN;
    FERRY_ONE(Choice, TanHParameter_Engine, engine, TanHParameter_Engine_DEFAULT)
};

class ThresholdParameter : public Message
{
  public:
    FERRY_MESSAGE(ThresholdParameter)
    FERRY_ONE(One, float, threshold, 0.0F)
};

class TileParameter : public Message
{
  public:
    FERRY_MESSAGE(TileParameter)
    FERRY_ONE(One, int32_t, axis, 1)
    FERRY_ONE(One, int32_t, tiles, 0)
};

class WindowDataParameter : public Message
{
  public:
    FERRY_MESSAGE(WindowDataParameter)
    FERRY_ONE(One, std::string, source, "")
    FERRY_ONE(One, float, scale, 1.0F)
    FERRY_ONE(One, std::string, mean_file, "")
    FERRY_ONE(One, uint32_t, batch_size, 0u)
    FERRY_ONE(One, uint32_t, crop_size, 0u)
    FERRY_ONE(One, bool, mirror, false)
    FERRY_ONE(One, float, fg_threshold, 0.5F)
    FERRY_ONE(One, float, bg_threshold, 0.5F)
    FERRY_ONE(One, float, fg_fraction, 0.25F)
    FERRY_ONE(One, uint32_t, context_pad, 0u)
    FERRY_ONE(One, std::string, crop_mode, "warp")
    FERRY_ONE(One, bool, cache_images, false)
    FERRY_ONE(One, std::string, root_folder, "")
};

class LayerParameter : public Message
{
  public:
    FERRY_MESSAGE(LayerParameter)
    FERRY_ONE(One, std::string, name, "")
    FERRY_ONE(One, std::string, type, "")
    FERRY_MANY(Many, std::string, bottom)
    FERRY_MANY(Many, std::string, top)
    FERRY_ONE(Choice, Phase, phase, TRAIN)
    FERRY_MANY(Many, float, loss_weight)
    FERRY_PARTS(ParamSpec, param)
    FERRY_PARTS(BlobProto, blobs)
    FERRY_MANY(Many, bool, propagate_down)
    FERRY_PARTS(NetStateRule, include)
    FERRY_PARTS(NetStateRule, exclude)
    FERRY_PART(TransformationParameter, transform_param)
    FERRY_PART(LossParameter, loss_param)
    FERRY_PART(AccuracyParameter, accuracy_param)
    FERRY_PART(ArgMaxParameter, argmax_param)
    FERRY_PART(BatchNormParameter, batch_norm_param)
    FERRY_PART(BiasParameter, bias_param)
    FERRY_PART(ClipParameter, clip_param)
    FERRY_PART(ConcatParameter, concat_param)
    FERRY_PART(ContrastiveLossParameter, contrastive_loss_param)
    FERRY_PART(ConvolutionParameter, convolution_param)
    FERRY_PART(CropParameter, crop_param)
    FERRY_PART(DataParameter, data_param)
    FERRY_PART(DropoutParameter, dropout_param)
    FERRY_PART(DummyDataParameter, dummy_data_param)
    FERRY_PART(EltwiseParameter, eltwise_param)
    FERRY_PART(ELUParameter, elu_param)
    FERRY_PART(EmbedParameter, embed_param)
    FERRY_PART(ExpParameter, exp_param)
    FERRY_PART(FlattenParameter, flatten_param)
    FERRY_PART(HDF5DataParameter, hdf5_data_param)
    FERRY_PART(HDF5OutputParameter, hdf5_output_param)
    FERRY_PART(HingeLossParameter, hinge_loss_param)
    FERRY_PART(ImageDataParameter, image_data_param)
    FERRY_PART(InfogainLossParameter, infogain_loss_param)
    FERRY_PART(InnerProductParameter, inner_product_param)
    FERRY_PART(InputParameter, input_param)
    FERRY_PART(LogParameter, log_param)
    FERRY_PART(LRNParameter, lrn_param)
    FERRY_PART(MemoryDataParameter, memory_data_param)
    FERRY_PART(MVNParameter, mvn_param)
    FERRY_PART(ParameterParameter, parameter_param)
    FERRY_PART(PoolingParameter, pooling_param)
    FERRY_PART(PowerParameter, power_param)
    FERRY_PART(PReLUParameter, prelu_param)
    FERRY_PART(PythonParameter, python_param)
    FERRY_PART(RecurrentParameter, recurrent_param)
    FERRY_PART(ReductionParameter, reduction_param)
    FERRY_PART(ReLUParameter, relu_param)
    FERRY_PART(ReshapeParameter, reshape_param)
    FERRY_PART(ScaleParameter, scale_param)
    FERRY_PART(SigmoidParameter, sigmoid_param)
    FERRY_PART(SoftmaxParameter, softmax_param)
    FERRY_PART(SPPParameter, spp_param)
    FERRY_PART(SliceParameter, slice_param)
    FERRY_PART(SwishParameter, swish_param)
    FERRY_PART(TanHParameter, tanh_param)
    FERRY_PART(ThresholdParameter, threshold_param)
    FERRY_PART(TileParameter, tile_param)
    FERRY_PART(WindowDataParameter, window_data_param)
};

enum V0LayerParameter_PoolMethod {
    V0LayerParameter_PoolMethod_MAX = 0, V0LayerParameter_PoolMethod_AVE = 1,
    V0LayerParameter_PoolMethod_STOCHASTIC = 2
};

class V0LayerParameter : public Message
{
  public:
    FERRY_MESSAGE(V0LayerParameter)
    typedef V0LayerParameter_PoolMethod PoolMethod;
    static const V0LayerParameter_PoolMethod MAX = V0LayerParameter_PoolMethod_MAX;
    static const V0LayerParameter_PoolMethod AVE = V0LayerParameter_PoolMethod_AVE;
    static const V0LayerParameter_PoolMethod STOCHASTIC = V0LayerParameter_PoolMethod_STOCHASTIC;
    FERRY_ONE(One, std::string, name, "")
    FERRY_ONE(One, std::string, type, "")
    FERRY_ONE(One, uint32_t, num_output, 0u)
    FERRY_ONE(One, bool, biasterm, true)
    FERRY_PART(FillerParameter, weight_filler)
    FERRY_PART(FillerParameter, bias_filler)
    FERRY_ONE(One, uint32_t, pad, 0u)
    FERRY_ONE(One, uint32_t, kernelsize, 0u)
    FERRY_ONE(One, uint32_t, group, 1u)
    FERRY_ONE(One, uint32_t, stride, 1u)
    FERRY_ONE(Choice, V0LayerParameter_PoolMethod, pool, V0LayerParameter_PoolMethod_MAX)
    FERRY_ONE(One, float, dropout_ratio, 0.5F)
    FERRY_ONE(One, uint32_t, local_size, 5u)
    FERRY_ONE(One, float, alpha, 1.0F)
    FERRY_ONE(One, float, beta, 0.75F)
    FERRY_ONE(One, float, k, 1.0F)
    FERRY_ONE(One, std::string, source, "")
    FERRY_ONE(One, float, scale, 1.0F)
    FERRY_ONE(One, std::string, meanfile, "")
    FERRY_ONE(One, uint32_t, batchsize, 0u)
    FERRY_ONE(One, uint32_t, cropsize, 0u)
    FERRY_ONE(One, bool, mirror, false)
    FERRY_PARTS(BlobProto, blobs)
    FERRY_MANY(Many, float, blobs_lr)
    FERRY_MANY(Many, float, weight_decay)
    FERRY_ONE(One, uint32_t, rand_skip, 0u)
    FERRY_ONE(One, float, det_fg_threshold, 0.5F)
    FERRY_ONE(One, float, det_bg_threshold, 0.5F)
    FERRY_ONE(One, float, det_fg_fraction, 0.25F)
    FERRY_ONE(One, uint32_t, det_context_pad, 0u)
    FERRY_ONE(One, std::string, det_crop_mode, "warp")
    FERRY_ONE(One, int32_t, new_num, 0)
    FERRY_ONE(One, int32_t, new_channels, 0)
    FERRY_ONE(One, int32_t, new_height, 0)
    FERRY_ONE(One, int32_t, new_width, 0)
    FERRY_ONE(One, bool, shuffle_images, false)
    FERRY_ONE(One, uint32_t, concat_dim, 1u)
    FERRY_PART(HDF5OutputParameter, hdf5_output_param)
};

enum V1LayerParameter_LayerType {
    V1LayerParameter_LayerType_NONE = 0, V1LayerParameter_LayerType_ABSVAL = 35,
    V1LayerParameter_LayerType_ACCURACY = 1, V1LayerParameter_LayerType_ARGMAX = 30,
    V1LayerParameter_LayerType_BNLL = 2, V1LayerParameter_LayerType_CONCAT = 3,
    V1LayerParameter_LayerType_CONTRASTIVE_LOSS = 37, V1LayerParameter_LayerType_CONVOLUTION = 4,
    V1LayerParameter_LayerType_DATA = 5, V1LayerParameter_LayerType_DECONVOLUTION = 39,
    V1LayerParameter_LayerType_DROPOUT = 6, V1LayerParameter_LayerType_DUMMY_DATA = 32,
    V1LayerParameter_LayerType_EUCLIDEAN_LOSS = 7, V1LayerParameter_LayerType_ELTWISE = 25,
    V1LayerParameter_LayerType_EXP = 38, V1LayerParameter_LayerType_FLATTEN = 8,
    V1LayerParameter_LayerType_HDF5_DATA = 9, V1LayerParameter_LayerType_HDF5_OUTPUT = 10,
    V1LayerParameter_LayerType_HINGE_LOSS = 28, V1LayerParameter_LayerType_IM2COL = 11,
    V1LayerParameter_LayerType_IMAGE_DATA = 12, V1LayerParameter_LayerType_INFOGAIN_LOSS = 13,
    V1LayerParameter_LayerType_INNER_PRODUCT = 14, V1LayerParameter_LayerType_LRN = 15,
    V1LayerParameter_LayerType_MEMORY_DATA = 29,
    V1LayerParameter_LayerType_MULTINOMIAL_LOGISTIC_LOSS = 16, V1LayerParameter_LayerType_MVN = 34,
    V1LayerParameter_LayerType_POOLING = 17, V1LayerParameter_LayerType_POWER = 26,
    V1LayerParameter_LayerType_RELU = 18, V1LayerParameter_LayerType_SIGMOID = 19,
    V1LayerParameter_LayerType_SIGMOID_CROSS_ENTROPY_LOSS = 27,
    V1LayerParameter_LayerType_SILENCE = 36, V1LayerParameter_LayerType_SOFTMAX = 20,
    V1LayerParameter_LayerType_SOFTMAX_LOSS = 21, V1LayerParameter_LayerType_SPLIT = 22,
    V1LayerParameter_LayerType_SLICE = 33, V1LayerParameter_LayerType_TANH = 23,
    V1LayerParameter_LayerType_WINDOW_DATA = 24, V1LayerParameter_LayerType_THRESHOLD = 31
};

enum V1LayerParameter_DimCheckMode {
    V1LayerParameter_DimCheckMode_STRICT = 0, V1LayerParameter_DimCheckMode_PERMISSIVE = 1
};

class V1LayerParameter : public Message
{
  public:
    FERRY_MESSAGE(V1LayerParameter)
    typedef V1LayerParameter_LayerType LayerType;
    static const V1LayerParameter_LayerType NONE = V1LayerParameter_LayerType_NONE;
    static const V1LayerParameter_LayerType ABSVAL = V1LayerParameter_LayerType_ABSVAL;
    static const V1LayerParameter_LayerType ACCURACY = V1LayerParameter_LayerType_ACCURACY;
    static const V1LayerParameter_LayerType ARGMAX = V1LayerParameter_LayerType_ARGMAX;
    static const V1LayerParameter_LayerType BNLL = V1LayerParameter_LayerType_BNLL;
    static const V1LayerParameter_LayerType CONCAT = V1LayerParameter_LayerType_CONCAT;
    static const V1LayerParameter_LayerType CONTRASTIVE_LOSS = V1LayerParameter_LayerType_CONTRASTIVE_LOSS;
    static const V1LayerParameter_LayerType CONVOLUTION = V1LayerParameter_LayerType_CONVOLUTION;
    static const V1LayerParameter_LayerType DATA = V1LayerParameter_LayerType_DATA;
    static const V1LayerParameter_LayerType DECONVOLUTION = V1LayerParameter_LayerType_DECONVOLUTION;
    static const V1LayerParameter_LayerType DROPOUT = V1LayerParameter_LayerType_DROPOUT;
    static const V1LayerParameter_LayerType DUMMY_DATA = V1LayerParameter_LayerType_DUMMY_DATA;
    static const V1LayerParameter_LayerType EUCLIDEAN_LOSS = V1LayerParameter_LayerType_EUCLIDEAN_LOSS;
    static const V1LayerParameter_LayerType ELTWISE = V1LayerParameter_LayerType_ELTWISE;
    static const V1LayerParameter_LayerType EXP = V1LayerParameter_LayerType_EXP;
    static const V1LayerParameter_LayerType FLATTEN = V1LayerParameter_LayerType_FLATTEN;
    static const V1LayerParameter_LayerType HDF5_DATA = V1LayerParameter_LayerType_HDF5_DATA;
    static const V1LayerParameter_LayerType HDF5_OUTPUT = V1LayerParameter_LayerType_HDF5_OUTPUT;
    static const V1LayerParameter_LayerType HINGE_LOSS = V1LayerParameter_LayerType_HINGE_LOSS;
    static const V1LayerParameter_LayerType IM2COL = V1LayerParameter_LayerType_IM2COL;
    static const V1LayerParameter_LayerType IMAGE_DATA = V1LayerParameter_LayerType_IMAGE_DATA;
    static const V1LayerParameter_LayerType INFOGAIN_LOSS = V1LayerParameter_LayerType_INFOGAIN_LOSS;
    static const V1LayerParameter_LayerType INNER_PRODUCT = V1LayerParameter_LayerType_INNER_PRODUCT;
    static const V1LayerParameter_LayerType LRN = V1LayerParameter_LayerType_LRN;
    static const V1LayerParameter_LayerType MEMORY_DATA = V1LayerParameter_LayerType_MEMORY_DATA;
    static const V1LayerParameter_LayerType MULTINOMIAL_LOGISTIC_LOSS = V1LayerParameter_LayerType_MULTINOMIAL_LOGISTIC_LOSS;
    static const V1LayerParameter_LayerType MVN = V1LayerParameter_LayerType_MVN;
    static const V1LayerParameter_LayerType POOLING = V1LayerParameter_LayerType_POOLING;
    static const V1LayerParameter_LayerType POWER = V1LayerParameter_LayerType_POWER;
    static const V1LayerParameter_LayerType RELU = V1LayerParameter_LayerType_RELU;
    static const V1LayerParameter_LayerType SIGMOID = V1LayerParameter_LayerType_SIGMOID;
    static const V1LayerParameter_LayerType SIGMOID_CROSS_ENTROPY_LOSS = V1LayerParameter_LayerType_SIGMOID_CROSS_ENTROPY_LOSS;
    static const V1LayerParameter_LayerType SILENCE = V1LayerParameter_LayerType_SILENCE;
    static const V1LayerParameter_LayerType SOFTMAX = V1LayerParameter_LayerType_SOFTMAX;
    static const V1LayerParameter_LayerType SOFTMAX_LOSS = V1LayerParameter_LayerType_SOFTMAX_LOSS;
    static const V1LayerParameter_LayerType SPLIT = V1LayerParameter_LayerType_SPLIT;
    static const V1LayerParameter_LayerType SLICE = V1LayerParameter_LayerType_SLICE;
    static const V1LayerParameter_LayerType TANH = V1LayerParameter_LayerType_TANH;
    static const V1LayerParameter_LayerType WINDOW_DATA = V1LayerParameter_LayerType_WINDOW_DATA;
    static const V1LayerParameter_LayerType THRESHOLD = V1LayerParameter_LayerType_THRESHOLD;
    typedef V1LayerParameter_DimCheckMode DimCheckMode;
    static const V1LayerParameter_DimCheckMode STRICT = V1LayerParameter_DimCheckMode_STRICT;
    static const V1LayerParameter_DimCheckMode PERMISSIVE = V1LayerParameter_DimCheckMode_PERMISSIVE;
    FERRY_MANY(Many, std::string, bottom)
    FERRY_MANY(Many, std::string, top)
    FERRY_ONE(One, std::string, name, "")
    FERRY_PARTS(NetStateRule, include)
    FERRY_PARTS(NetStateRule, exclude)
    FERRY_ONE(Choice, V1LayerParameter_LayerType, type, V1LayerParameter_LayerType_NONE)
    FERRY_PARTS(BlobProto, blobs)
    FERRY_MANY(Many, std::string, param)
    FERRY_MANY(Choices, V1LayerParameter_DimCheckMode, blob_share_mode)
    FERRY_MANY(Many, float, blobs_lr)
    FERRY_MANY(Many, float, weight_decay)
    FERRY_MANY(Many, float, loss_weight)
    FERRY_PART(AccuracyParameter, accuracy_param)
    FERRY_PART(ArgMaxParameter, argmax_param)
    FERRY_PART(ConcatParameter, concat_param)
    FERRY_PART(ContrastiveLossParameter, contrastive_loss_param)
    FERRY_PART(ConvolutionParameter, convolution_param)
    FERRY_PART(DataParameter, data_param)
    FERRY_PART(DropoutParameter, dropout_param)
    FERRY_PART(DummyDataParameter, dummy_data_param)
    FERRY_PART(EltwiseParameter, eltwise_param)
    FERRY_PART(ExpParameter, exp_param)
    FERRY_PART(HDF5DataParameter, hdf5_data_param)
    FERRY_PART(HDF5OutputParameter, hdf5_output_param)
    FERRY_PART(HingeLossParameter, hinge_loss_param)
    FERRY_PART(ImageDataParameter, image_data_param)
    FERRY_PART(InfogainLossParameter, infogain_loss_param)
    FERRY_PART(InnerProductParameter, inner_product_param)
    FERRY_PART(LRNParameter, lrn_param)
    FERRY_PART(MemoryDataParameter, memory_data_param)
    FERRY_PART(MVNParameter, mvn_param)
    FERRY_PART(PoolingParameter, pooling_param)
    FERRY_PART(PowerParameter, power_param)
    FERRY_PART(ReLUParameter, relu_param)
    FERRY_PART(SigmoidParameter, sigmoid_param)
    FERRY_PART(SoftmaxParameter, softmax_param)
    FERRY_PART(SliceParameter, slice_param)
    FERRY_PART(TanHParameter, tanh_param)
    FERRY_PART(ThresholdParameter, threshold_param)
    FERRY_PART(WindowDataParameter, window_data_param)
    FERRY_PART(TransformationParameter, transform_param)
    FERRY_PART(LossParameter, loss_param)
    FERRY_PART(V0LayerParameter, layer)
};

class NetParameter : public Message
{
  public:
    FERRY_MESSAGE(NetParameter)
    FERRY_ONE(One, std::string, name, "")
    FERRY_MANY(Many, std::string, input)
    FERRY_PARTS(BlobShape, input_shape)
    FERRY_MANY(Many, int32_t, input_dim)
    FERRY_ONE(One, bool, force_backward, false)
    FERRY_PART(NetState, state)
    FERRY_ONE(One, bool, debug_info, false)
    FERRY_PARTS(LayerParameter, layer)
    FERRY_PARTS(V1LayerParameter, layers)
};

enum SolverParameter_SnapshotFormat {
    SolverParameter_SnapshotFormat_HDF5 = 0, SolverParameter_SnapshotFormat_BINARYPROTO = 1
};

enum SolverParameter_SolverMode {
    SolverParameter_SolverMode_CPU = 0, SolverParameter_SolverMode_GPU = 1
};

enum SolverParameter_SolverType {
    SolverParameter_SolverType_SGD = 0, SolverParameter_SolverType_NESTEROV = 1,
    SolverParameter_SolverType_ADAGRAD = 2, SolverParameter_SolverType_RMSPROP = 3,
    SolverParameter_SolverType_ADADELTA = 4, SolverParameter_SolverType_ADAM = 5
};

class SolverParameter : public Message
{
  public:
    FERRY_MESSAGE(SolverParameter)
    typedef SolverParameter_SnapshotFormat SnapshotFormat;
    static const SolverParameter_SnapshotFormat HDF5 = SolverParameter_SnapshotFormat_HDF5;
    static const SolverParameter_SnapshotFormat BINARYPROTO = SolverParameter_SnapshotFormat_BINARYPROTO;
    typedef SolverParameter_SolverMode SolverMode;
    static const SolverParameter_SolverMode CPU = SolverParameter_SolverMode_CPU;
    static const SolverParameter_SolverMode GPU = SolverParameter_SolverMode_GPU;
    typedef SolverParameter_SolverType SolverType;
    static const SolverParameter_SolverType SGD = SolverParameter_SolverType_SGD;
    static const SolverParameter_SolverType NESTEROV = SolverParameter_SolverType_NESTEROV;
    static const SolverParameter_SolverType ADAGRAD = SolverParameter_SolverType_ADAGRAD;
    static const SolverParameter_SolverType RMSPROP = SolverParameter_SolverType_RMSPROP;
    static const SolverParameter_SolverType ADADELTA = SolverParameter_SolverType_ADADELTA;
    static const SolverParameter_SolverType ADAM = SolverParameter_SolverType_ADAM;
    FERRY_ONE(One, std::string, net, "")
    FERRY_PART(NetParameter, net_param)
    FERRY_ONE(One, std::string, train_net, "")
    FERRY_MANY(Many, std::string, test_net)
    FERRY_PART(NetParameter, train_net_param)
    FERRY_PARTS(NetParameter, test_net_param)
    FERRY_PART(NetState, train_state)
    FERRY_PARTS(NetState, test_state)
    FERRY_MANY(Many, int32_t, test_iter)
    FERRY_ONE(One, int32_t, test_interval, 0)
    FERRY_ONE(One, bool, test_compute_loss, false)
    FERRY_ONE(One, bool, test_initialization, true)
    FERRY_ONE(One, float, base_lr, 0.0F)
    FERRY_ONE(One, int32_t, display, 0)
    FERRY_ONE(One, int32_t, average_loss, 1)
    FERRY_ONE(One, int32_t, max_iter, 0)
    FERRY_ONE(One, int32_t, iter_size, 1)
    FERRY_ONE(One, std::string, lr_policy, "")
    FERRY_ONE(One, float, gamma, 0.0F)
    FERRY_ONE(One, float, power, 0.0F)
    FERRY_ONE(One, float, momentum, 0.0F)
    FERRY_ONE(One, float, weight_decay, 0.0F)
    FERRY_ONE(One, std::string, regularization_type, "L2")
    FERRY_ONE(One, int32_t, stepsize, 0)
    FERRY_MANY(Many, int32_t, stepvalue)
    FERRY_ONE(One, float, clip_gradients, -1.0F)
    FERRY_ONE(One, int32_t, snapshot, 0)
    FERRY_ONE(One, std::string, snapshot_prefix, "")
    FERRY_ONE(One, bool, snapshot_diff, false)
    FERRY_ONE(Choice, SolverParameter_SnapshotFormat, snapshot_format, SolverParameter_SnapshotFormat_BINARYPROTO)
    FERRY_ONE(Choice, SolverParameter_SolverMode, solver_mode, SolverParameter_SolverMode_GPU)
    FERRY_ONE(One, int32_t, device_id, 0)
    FERRY_ONE(One, int64_t, random_seed, -1)
    FERRY_ONE(One, std::string, type, "SGD")
    FERRY_ONE(One, float, delta, 9.99999994e-09F)
    FERRY_ONE(One, float, momentum2, 0.999000013F)
    FERRY_ONE(One, float, rms_decay, 0.99000001F)
    FERRY_ONE(One, bool, debug_info, false)
    FERRY_ONE(One, bool, snapshot_after_train, true)
    FERRY_ONE(Choice, SolverParameter_SolverType, solver_type, SolverParameter_SolverType_SGD)
    FERRY_ONE(One, bool, layer_wise_reduce, true)
    FERRY_MANY(Many, std::string, weights)
};

class SolverState : public Message
{
  public:
    FERRY_MESSAGE(SolverState)
    FERRY_ONE(One, int32_t, iter, 0)
    FERRY_ONE(One, std::string, learned_net, "")
    FERRY_PARTS(BlobProto, history)
    FERRY_ONE(One, int32_t, current_step, 0)
};

} // namespace caffe

#endif
