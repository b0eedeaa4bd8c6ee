/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Caffe's own names, as its programs use them: <caffe/caffe.hpp>, found by the include path. In GPU
 * mode the device is the one of FERRY_BACKEND. `caffe` prints the names of the cases; `caffe NAME`
 * runs one of them and returns 0 if it passes.
 */
#include "cases.hpp"

#include <caffe/blob.hpp>
#include <caffe/caffe.hpp>
#include <caffe/net.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <unistd.h>

using namespace caffe; // as Caffe's programs do

namespace
{

#define THROWS(wanted, statement) THROWS_AS(caffe::Error, e.code(), wanted, statement)

/* Whether a handle of the device is a pointer. */
bool has_pointers(const ferry_device *device)
{
    const string plugin = ferry_device_get_properties(device)->plugin;

    return plugin == "cpu" || plugin == "cuda";
}

/* A temporary file, removed with its name. */
class File
{
  public:
    File(const char *suffix, const string &text) : path_(string("/tmp/ferry-cxx-XXXXXX") + suffix)
    {
        const int fd = mkstemps(&path_[0], static_cast<int>(std::strlen(suffix)));

        CHECK(fd >= 0);
        CHECK_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
        close(fd);
    }
    ~File()
    {
        unlink(path_.c_str());
    }
    const string &path() const
    {
        return path_;
    }

  private:
    string path_;
};

const char small[] =
    "name: 'small' layer { name: 'data' type: 'Input' top: 'data' input_param { shape { dim: 2 "
    "dim: 3 } } }"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' inner_product_param { "
    "num_output: 4 "
    "weight_filler { type: 'gaussian' std: 1 } bias_filler { type: 'constant' value: 100 } } }"
    "layer { name: 'relu' type: 'ReLU' bottom: 'ip' top: 'ip' }"
    "layer { name: 'sum' type: 'Reduction' bottom: 'ip' top: 'sum' loss_weight: 1 }";

template <typename Dtype> void fill(Blob<Dtype> *blob, double first)
{
    Dtype *values = blob->mutable_cpu_data();

    for (int i = 0; i < blob->count(); i++)
        values[i] = static_cast<Dtype>(first + i);
}

/* ---- blobs ----------------------------------------------------------------------------------- */

void shapes()
{
    Blob<float> none, four(2, 3, 4, 5), five(vector<int>{ 1, 2, 3, 4, 5 });
    BlobShape shape;

    EXPECT(none.num_axes() == 0 && none.count() == 0);
    EXPECT(four.shape() == vector<int>({ 2, 3, 4, 5 }));
    EXPECT(four.shape_string() == "2 3 4 5 (120)");
    EXPECT(four.num() == 2 && four.channels() == 3 && four.height() == 4 && four.width() == 5);
    EXPECT(four.shape(-1) == 5 && four.CanonicalAxisIndex(-4) == 0);
    EXPECT(four.count(1) == 60 && four.count(1, 3) == 12);
    EXPECT(four.offset(1, 2, 3, 4) == 119 && four.offset(vector<int>{ 1, 1 }) == 80);
    none.ReshapeLike(five);
    EXPECT(none.count() == 120 && none.num_axes() == 5);
    shape.add_dim(6);
    none.Reshape(shape);
    EXPECT(none.shape() == vector<int>{ 6 });
    none.Reshape(vector<int>{});
    EXPECT(none.count() == 1 && none.num_axes() == 0);
    THROWS(FERRY_EINVAL, four.shape(4));
    THROWS(FERRY_EINVAL, none.Reshape(vector<int>{ -1 }));
    THROWS(FERRY_EINVAL, five.num());
    EXPECT(none.count() == 1);
}

template <typename Dtype> void values_of_a_type()
{
    Blob<Dtype> a(1, 1, 2, 2), b(1, 1, 2, 2);

    fill(&a, 1);
    EXPECT(a.data_at(0, 0, 1, 0) == 3 && a.data_at(vector<int>{ 0, 0, 1, 1 }) == 4);
    a.mutable_cpu_diff()[3] = Dtype(1.5);
    EXPECT(a.diff_at(0, 0, 1, 1) == Dtype(1.5));
    a.Update();
    EXPECT(a.cpu_data()[3] == Dtype(2.5));
    a.scale_data(2);
    EXPECT(a.asum_data() == 17 && a.sumsq_data() == 4 + 16 + 36 + 25 &&
           a.asum_diff() == Dtype(1.5));
    b.CopyFrom(a);
    EXPECT(b.cpu_data()[2] == 6 && b.cpu_data() != a.cpu_data());
    b.ShareData(a);
    EXPECT(b.cpu_data() == a.cpu_data());
    THROWS(FERRY_ESHAPE, b.CopyFrom(Blob<Dtype>(1, 1, 1, 2)));
}

void values()
{
    values_of_a_type<float>();
    values_of_a_type<double>();
}

void memory()
{
    float mine[] = { 1, 2, 3 };
    Blob<float> blob(vector<int>{ 3 });
    SyncedMemory own(12);

    EXPECT(blob.data()->head() == SyncedMemory::UNINITIALIZED && blob.data()->size() == 12);
    blob.set_cpu_data(mine);
    EXPECT(blob.cpu_data() == mine && blob.data()->head() == SyncedMemory::HEAD_AT_CPU);
    EXPECT(blob.data()->cpu_data() == mine && blob.data().get() == blob.data().get());
    blob.mutable_cpu_data()[0] = 7;
    EXPECT(mine[0] == 7.0F);
    static_cast<float *>(own.mutable_cpu_data())[2] = 5;
    EXPECT(own.head() == SyncedMemory::HEAD_AT_CPU);
    own.set_cpu_data(mine);
    EXPECT(own.cpu_data() == mine);
}

void the_device()
{
    Blob<float> blob(vector<int>{ 3 });

    fill(&blob, 1);
    Caffe::set_mode(Caffe::GPU);
    Caffe::SetDevice(0);
    EXPECT(Caffe::mode() == Caffe::GPU && Caffe::CheckDevice(0) && Caffe::FindDevice() == 0);
    EXPECT(!Caffe::CheckDevice(4000));
    THROWS(FERRY_ENODEV, Caffe::SetDevice(4000));
    std::thread([] { EXPECT(Caffe::mode() == Caffe::CPU); }).join();
    if (has_pointers(Caffe::device())) {
        EXPECT(blob.gpu_data() && blob.mutable_gpu_diff());
        EXPECT(ferry_blob_home(blob.blob()) == Caffe::device());
        EXPECT(blob.gpu_shape());
    } else {
        THROWS(FERRY_EUNSUPPORTED, blob.gpu_data());
    }
    blob.scale_data(3);
    EXPECT(blob.cpu_data()[2] == 9);
    Caffe::set_mode(Caffe::CPU);
    EXPECT(blob.gpu_data() == blob.cpu_data());
    EXPECT(blob.cpu_data()[0] == 3);
}

void messages()
{
    const File file(".binaryproto", "");
    Blob<float> blob(2, 1, 1, 2), back;
    Blob<double> wide;
    BlobProto proto, read;

    fill(&blob, 1);
    std::memcpy(blob.mutable_cpu_diff(), blob.cpu_data(), 16);
    blob.ToProto(&proto, true);
    EXPECT(proto.data_size() == 4 && proto.data(3) == 4 && proto.diff_size() == 4);
    EXPECT(proto.shape().dim_size() == 4 && blob.ShapeEquals(proto));
    WriteProtoToBinaryFile(proto, file.path());
    ReadProtoFromBinaryFileOrDie(file.path(), &read);
    EXPECT(read.channels() == 1 && read.width() == 2 && read.diff(1) == 2);
    back.FromProto(read);
    EXPECT(back.shape() == blob.shape() && back.cpu_data()[3] == 4 && back.cpu_diff()[3] == 4);
    wide.FromProto(read);
    EXPECT(wide.cpu_data()[3] == 4);
    wide.ToProto(&proto);
    EXPECT(proto.data_size() == 0 && proto.double_data_size() == 4);
    WriteProtoToBinaryFile(proto, file.path());
    ReadProtoFromBinaryFileOrDie(file.path(), &read);
    EXPECT(read.double_data_size() == 4 && read.double_data(2) == 3);
    EXPECT(!ReadProtoFromBinaryFile("/nonesuch", &read) && ferry_last_error_code() == FERRY_EIO);
    THROWS(FERRY_EIO, ReadProtoFromBinaryFileOrDie("/nonesuch", &read));
}

/* ---- nets ------------------------------------------------------------------------------------ */

void a_net()
{
    const File text(".prototxt", small);
    Net<float> net(text.path(), TEST);
    float loss = 0;

    EXPECT(net.name() == "small" && net.phase() == TEST);
    EXPECT(net.num_inputs() == 1 && net.num_outputs() == 1);
    EXPECT(net.layer_names() == vector<string>({ "data", "ip", "relu", "sum" }));
    EXPECT(net.layers()[1]->type() == string("InnerProduct") &&
           net.layers()[1]->blobs().size() == 2);
    EXPECT(net.layer_by_name("ip")->layer_param().bottom(0) == "data" &&
           !net.layer_by_name("nonesuch"));
    EXPECT(net.has_blob("ip") && !net.has_blob("nonesuch") && !net.blob_by_name("nonesuch"));
    EXPECT(net.blob_by_name("data").get() == net.input_blobs()[0]);
    EXPECT(net.top_vecs()[1][0] == net.blob_by_name("ip").get() &&
           net.bottom_vecs()[2] == net.top_vecs()[1]);
    EXPECT(net.learnable_params().size() == 2 && net.params()[1]->count() == 4);
    fill(net.input_blobs()[0], 1);
    net.Forward(&loss);

    const Blob<float> &ip = *net.blob_by_name("ip");
    const float *w = net.params()[0]->cpu_data();
    const float first = 1 * w[0] + 2 * w[1] + 3 * w[2] + 100;
    EXPECT(std::fabs(ip.cpu_data()[0] - (first > 0 ? first : 0)) < 1e-4F);
    EXPECT(std::fabs(loss - ip.asum_data()) < 1e-3F);
    EXPECT(std::fabs(net.ForwardFrom(3) - loss) < 1e-6F);
    net.input_blobs()[0]->Reshape(vector<int>{ 5, 3 });
    net.Reshape();
    EXPECT(ip.shape() == vector<int>({ 5, 4 }));
}

void training()
{
    const File text(".prototxt", small);
    Net<float> net(text.path(), TRAIN);

    fill(net.input_blobs()[0], 1);
    net.ClearParamDiffs();
    const float loss = net.ForwardBackward(), before = net.params()[1]->cpu_data()[0];
    const float slope = net.params()[1]->cpu_diff()[0];
    EXPECT(slope == 2); /* both rows are above zero */
    net.ClearParamDiffs();
    net.BackwardTo(2);
    EXPECT(net.params()[1]->asum_diff() == 0);
    net.BackwardFrom(1);
    EXPECT(net.params()[1]->asum_diff() == 8);
    net.Update();
    EXPECT(std::fabs(net.params()[1]->cpu_data()[0] - (before - slope)) < 1e-6F);
    EXPECT(net.ForwardBackward() <= loss);
}

void weights()
{
    const File text(".prototxt", small), model(".caffemodel", ""), hdf5(".h5", "");
    Net<float> a(text.path(), TEST);
    Caffe::set_random_seed(17);
    Net<float> b(text.path(), TEST);
    Caffe::set_random_seed(17);
    Net<float> c(text.path(), TEST);

    EXPECT(a.params()[0]->cpu_data()[0] != b.params()[0]->cpu_data()[0]);
    EXPECT(b.params()[0]->cpu_data()[0] == c.params()[0]->cpu_data()[0]);
    a.Save(model.path());
    b.CopyTrainedLayersFrom(model.path());
    EXPECT(std::memcmp(a.params()[0]->cpu_data(), b.params()[0]->cpu_data(), 48) == 0);
    a.ToHDF5(hdf5.path());
    c.CopyTrainedLayersFromHDF5(hdf5.path());
    EXPECT(std::memcmp(a.params()[0]->cpu_data(), c.params()[0]->cpu_data(), 48) == 0);
    b.ShareTrainedLayersWith(&a);
    a.params()[1]->mutable_cpu_data()[2] = 42;
    EXPECT(b.params()[1]->cpu_data()[2] == 42);
    THROWS(FERRY_EIO, a.CopyTrainedLayersFrom("/nonesuch.caffemodel"));
    THROWS(
        FERRY_EFORMAT,
        Net<float>(File(".prototxt", "layer { name: 'a' type: 'ReLU' bottom: 'b' }").path(), TEST));
}

/* The results are the same on the other device, and after the move back. */
void a_net_moves()
{
    const File text(".prototxt", small);
    Net<float> net(text.path(), TEST);
    vector<float> here;

    fill(net.input_blobs()[0], 1);
    const Blob<float> *sum = net.Forward()[0];
    here.push_back(sum->cpu_data()[0]);
    Caffe::set_mode(Caffe::GPU);
    net.Forward();
    EXPECT(ferry_net_device(net.net()) == Caffe::device());
    EXPECT(std::fabs(sum->cpu_data()[0] - here[0]) < 1e-4F);
    Caffe::set_mode(Caffe::CPU);
    net.Forward();
    EXPECT(sum->cpu_data()[0] == here[0]);
}

void kept()
{
    const File text(".prototxt", small);
    shared_ptr<Blob<float>> blob;
    shared_ptr<Layer<float>> layer;

    {
        Net<float> net(text.path(), TEST);

        blob = net.blob_by_name("ip");
        layer = net.layer_by_name("ip");
        net.Forward();
    }
    EXPECT(blob->count() == 8 && blob->cpu_data()[0] >= 0);
    EXPECT(layer->type() == string("InnerProduct") && layer->blobs()[0]->cpu_data());

    Caffe::set_keep_blobs(false);
    Net<float> lean(text.path(), TEST);
    Caffe::set_keep_blobs(true);
    EXPECT(lean.blob_by_name("data") && lean.blob_by_name("sum"));
    EXPECT(lean.Forward()[0]->count() == 1);
    THROWS(FERRY_EINVAL, lean.Backward());
}

void checks()
{
    string said;

    CHECK_EQ(1, 1) << "never";
    try {
        CHECK_LT(2, 1) << "apples";
    } catch (const std::logic_error &e) {
        said = e.what();
    }
    EXPECT(said.find("Check failed: (2)<(1)") != string::npos ||
           said.find("Check failed: (2) < (1)") != string::npos);
    EXPECT(said.find("(2 vs. 1) apples") != string::npos);
    if (said.empty())
        LOG(INFO) << "an if without braces";
    else
        said.clear();
    EXPECT(said.empty());
    google::InitGoogleLogging("caffe");
}

const Case cases[] = {
    { "shapes", shapes },
    { "values", values },
    { "memory", memory },
    { "the_device", the_device },
    { "messages", messages },
    { "a_net", a_net },
    { "training", training },
    { "weights", weights },
    { "a_net_moves", a_net_moves },
    { "kept", kept },
    { "checks", checks },
};

} // namespace

int main(int argc, char **argv)
{
    return run_cases(cases, argc, argv);
}
