/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Caffe's layers, solvers, messages and functions as its programs use them, including a layer that
 * the program defines, with ferry's own message classes. `layers` prints the names of the cases;
 * `layers NAME` runs one of them and returns 0 if it passes.
 */
#include "cases.hpp"

#include <caffe/caffe.hpp>
#include <caffe/layers/euclidean_loss_layer.hpp>
#include <caffe/layers/inner_product_layer.hpp>
#include <caffe/layers/relu_layer.hpp>
#include <caffe/util/insert_splits.hpp>

#include <cstdio>
#include <cstring>

namespace
{

#define THROWS(wanted, statement) THROWS_AS(caffe::Error, e.code(), wanted, statement)

bool near(double a, double b)
{
    return std::fabs(a - b) < 1e-5;
}

} // namespace

namespace caffe
{

/* y = factor · x, where factor is a learned parameter: a layer of the program's own. */
template <typename Dtype> class TimesLayer : public Layer<Dtype>
{
  public:
    explicit TimesLayer(const LayerParameter &param) : Layer<Dtype>(param)
    {
    }
    virtual void LayerSetUp(const vector<Blob<Dtype> *> &, const vector<Blob<Dtype> *> &)
    {
        if (this->layer_param_.name() == "bad")
            throw std::runtime_error("a bad name");
        this->blobs_.resize(1);
        this->blobs_[0].reset(new Blob<Dtype>(vector<int>(1, 1)));
        this->blobs_[0]->mutable_cpu_data()[0] = 3;
    }
    virtual void Reshape(const vector<Blob<Dtype> *> &bottom, const vector<Blob<Dtype> *> &top)
    {
        top[0]->ReshapeLike(*bottom[0]);
    }
    virtual const char *type() const
    {
        return "Times";
    }
    virtual int ExactNumBottomBlobs() const
    {
        return 1;
    }
    virtual int ExactNumTopBlobs() const
    {
        return 1;
    }

  protected:
    virtual void Forward_cpu(const vector<Blob<Dtype> *> &bottom, const vector<Blob<Dtype> *> &top)
    {
        caffe_cpu_scale(bottom[0]->count(), this->blobs_[0]->cpu_data()[0], bottom[0]->cpu_data(),
                        top[0]->mutable_cpu_data());
    }
    virtual void Backward_cpu(const vector<Blob<Dtype> *> &top, const vector<bool> &propagate_down,
                              const vector<Blob<Dtype> *> &bottom)
    {
        if (this->param_propagate_down(0))
            this->blobs_[0]->mutable_cpu_diff()[0] +=
                caffe_cpu_dot(top[0]->count(), top[0]->cpu_diff(), bottom[0]->cpu_data());
        if (propagate_down[0])
            caffe_cpu_scale(top[0]->count(), this->blobs_[0]->cpu_data()[0], top[0]->cpu_diff(),
                            bottom[0]->mutable_cpu_diff());
    }
};
REGISTER_LAYER_CLASS(Times);

} // namespace caffe

namespace
{

using namespace caffe;

/* ---- single layers ---- */

/* An InnerProduct of 2 inputs and 1 output with the weights 2 and 3 and the bias 1. */
template <typename Dtype> LayerParameter product()
{
    LayerParameter param;

    param.set_name("ip");
    param.mutable_inner_product_param()->set_num_output(1);
    param.mutable_inner_product_param()->mutable_weight_filler()->set_value(2);
    param.mutable_inner_product_param()->mutable_bias_filler()->set_value(1);
    return param;
}

template <typename Dtype> void one_of_a_type()
{
    InnerProductLayer<Dtype> layer(product<Dtype>());
    Blob<Dtype> x(vector<int>{ 1, 2 }), y;
    const vector<Blob<Dtype> *> bottom(1, &x), top(1, &y);

    x.mutable_cpu_data()[0] = 5;
    x.mutable_cpu_data()[1] = 7;
    layer.SetUp(bottom, top);
    EXPECT(y.shape() == vector<int>({ 1, 1 }) && layer.blobs().size() == 2);
    EXPECT(layer.type() == string("InnerProduct") && layer.layer_param().name() == "ip");
    layer.blobs()[0]->mutable_cpu_data()[1] = 3;
    EXPECT(near(layer.Forward(bottom, top), 0));
    EXPECT(near(y.cpu_data()[0], 2 * 5 + 3 * 7 + 1));
    y.mutable_cpu_diff()[0] = 10;
    x.mutable_cpu_diff()[0] = 99;
    layer.Backward(top, vector<bool>(1, false), bottom);
    EXPECT(near(x.cpu_diff()[0], 99) && near(layer.blobs()[0]->cpu_diff()[1], 70));
    layer.Backward(top, vector<bool>(1, true), bottom);
    EXPECT(near(x.cpu_diff()[0], 20) && near(x.cpu_diff()[1], 30));
    EXPECT(near(layer.blobs()[0]->cpu_diff()[1], 140)); /* added to */
    x.Reshape(vector<int>{ 3, 2 });
    layer.Reshape(bottom, top);
    EXPECT(y.shape() == vector<int>({ 3, 1 }));
}

void one_layer()
{
    one_of_a_type<float>();
    one_of_a_type<double>();
}

void in_place()
{
    ReLULayer<float> layer((LayerParameter()));
    Blob<float> x(vector<int>{ 2 });
    const vector<Blob<float> *> both(1, &x);

    x.mutable_cpu_data()[0] = -1;
    x.mutable_cpu_data()[1] = 2;
    layer.SetUp(both, both);
    layer.Forward(both, both);
    EXPECT(x.cpu_data()[0] == 0 && x.cpu_data()[1] == 2);
    x.mutable_cpu_diff()[0] = x.mutable_cpu_diff()[1] = 4;
    layer.Backward(both, vector<bool>(1, true), both);
    EXPECT(x.cpu_diff()[0] == 0 && x.cpu_diff()[1] == 4);
}

void losses()
{
    LayerParameter param;
    Blob<float> a(vector<int>{ 1, 2 }), b(vector<int>{ 1, 2 }), y;
    const vector<Blob<float> *> bottom{ &a, &b }, top(1, &y);

    param.add_loss_weight(3);
    EuclideanLossLayer<float> layer(param);
    caffe_set(2, 1.0F, a.mutable_cpu_data());
    caffe_set(2, 3.0F, b.mutable_cpu_data());
    layer.SetUp(bottom, top);
    EXPECT(near(layer.loss(0), 3) && near(layer.Forward(bottom, top), 3 * 4));
    layer.Backward(top, vector<bool>{ true, false }, bottom);
    EXPECT(near(a.cpu_diff()[0], 3 * -2));
}

void limits_and_types()
{
    Blob<float> x(vector<int>{ 1, 2 }), y;
    const vector<Blob<float> *> one(1, &x), two{ &x, &x }, top(1, &y), none;
    LayerParameter param;
    InnerProductLayer<float> layer((LayerParameter()));

    EXPECT(layer.ExactNumBottomBlobs() == 1 && layer.ExactNumTopBlobs() == 1 &&
           layer.MaxTopBlobs() == -1);
    THROWS(FERRY_EINVAL, layer.SetUp(two, top));
    THROWS(FERRY_EINVAL, layer.SetUp(one, none));
    THROWS(FERRY_EFORMAT, layer.SetUp(one, top)); /* no num_output */
    param.set_type("Nonesuch");
    THROWS(FERRY_EUNSUPPORTED, LayerRegistry<float>::CreateLayer(param));
    param.set_type("Softmax");
    EXPECT(LayerRegistry<double>::CreateLayer(param)->type() == string("Softmax"));
    EXPECT(LayerRegistry<float>::LayerTypeList().size() >
           static_cast<size_t>(60)); /* ferry's, and Times */
}

/* ---- nets ---- */

const char with_times[] =
    "name: 'n' layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 2 } } }"
    "layer { name: 'NAME' type: 'Times' bottom: 'x' top: 'y' param { name: 'f' lr_mult: 2 } }"
    "layer { name: 'sum' type: 'Reduction' bottom: 'y' top: 'sum' loss_weight: 1 }";

NetParameter message_of(const string &text, const string &name)
{
    ferry_proto_options options = ferry_proto_options();
    ferry_proto *tree = nullptr;
    NetParameter param;
    string written(text);

    if (written.find("NAME") != string::npos)
        written.replace(written.find("NAME"), 4, name);
    options.struct_size = sizeof options;
    options.text = written.data();
    options.text_size = written.size();
    detail::checked(ferry_proto_open("text", "NetParameter", &options, &tree));
    param.read(tree);
    ferry_proto_close(tree);
    param.mutable_state()->set_phase(TRAIN);
    return param;
}

void a_layer_of_the_programs()
{
    const NetParameter param = message_of(with_times, "times");
    Net<float> net(param);
    const TimesLayer<float> *const times =
        dynamic_cast<TimesLayer<float> *>(net.layer_by_name("times").get());

    EXPECT(times && net.params().size() == 1 && near(net.params()[0]->cpu_data()[0], 3));
    caffe_set(2, 5.0F, net.input_blobs()[0]->mutable_cpu_data());
    net.ClearParamDiffs();
    EXPECT(near(net.ForwardBackward(), 30));
    EXPECT(near(net.params()[0]->cpu_diff()[0], 10));
    net.Update();
    EXPECT(near(net.params()[0]->cpu_data()[0], -7));
    float loss = 0;
    net.Forward(&loss);
    EXPECT(near(loss, -70));
    EXPECT(near(net.params_lr()[0], 2) && net.has_params_lr()[0] && !net.has_params_decay()[0]);
    EXPECT(net.param_names_index().at("f") == 0 && net.param_owners()[0] == -1);
    try {
        Net<float> bad(message_of(with_times, "bad"));
        expect(false, "it was opened", __LINE__);
    } catch (const caffe::Error &e) {
        EXPECT(string(e.what()).find("a bad name") != string::npos);
    }
}

void nets_of_doubles()
{
    Net<double> net(message_of(with_times, "times"));
    double *const x = net.input_blobs()[0]->mutable_cpu_data();

    x[0] = x[1] = 5;
    EXPECT(near(net.ForwardBackward(), 30) && near(net.blob_by_name("y")->cpu_data()[1], 15));
    x[1] = 6; /* the pointer stays the net's */
    net.Forward();
    EXPECT(near(net.blob_by_name("y")->cpu_data()[1], 18));
    net.params()[0]->mutable_cpu_data()[0] = 4;
    net.Forward();
    EXPECT(near(net.blob_by_name("y")->cpu_data()[1], 24));
    net.input_blobs()[0]->Reshape(vector<int>{ 3, 2 });
    net.Reshape();
    EXPECT(net.blob_by_name("y")->shape(0) == 3);
}

void nets_of_messages()
{
    NetParameter param = message_of(with_times, "times"), saved, filtered;
    Net<float> net(param), other(param);

    net.params()[0]->mutable_cpu_data()[0] = 8;
    net.ToProto(&saved);
    EXPECT(saved.layer_size() == 3 && saved.layer(1).blobs_size() == 1);
    other.CopyTrainedLayersFrom(saved);
    EXPECT(near(other.params()[0]->cpu_data()[0], 8));
    EXPECT(near(Net<float>(saved).params()[0]->cpu_data()[0], 8));
    EXPECT(net.bottom_need_backward()[2][0] && !net.bottom_need_backward()[1][0]);
    EXPECT(near(net.blob_loss_weights()[static_cast<size_t>(net.top_ids(2)[0])], 1));
    param.mutable_layer(1)->add_include()->set_phase(TEST);
    Net<float>::FilterNet(param, &filtered);
    EXPECT(filtered.layer_size() == 2 && filtered.layer(1).name() == "sum");
    param.mutable_layer(2)->add_bottom("x");
    InsertSplits(param, &filtered);
    EXPECT(filtered.layer_size() == 4 && filtered.layer(1).name() == "x_x_0_split" &&
           filtered.layer(3).bottom(1) == "x_x_0_split_1");
    param.mutable_layer(0)->add_loss_weight(2);
    InsertSplits(param, &filtered);
    EXPECT(near(filtered.layer(1).loss_weight(0), 2) && filtered.layer(0).loss_weight_size() == 0 &&
           filtered.layer(3).bottom(1) == "x_x_0_split_2");
}

struct Counter : public Net<float>::Callback, public Solver<float>::Callback {
    int layers = 0, starts = 0, ready = 0;

    virtual void run(int)
    {
        layers++;
    }
    virtual void on_start()
    {
        starts++;
    }
    virtual void on_gradients_ready()
    {
        ready++;
    }
};

void callbacks_of_nets()
{
    Net<float> net(message_of(with_times, "times"));
    Counter counter;
    float loss = 0;

    caffe_set(2, 5.0F, net.input_blobs()[0]->mutable_cpu_data());
    net.add_before_forward(&counter);
    net.add_after_backward(&counter);
    net.Forward(&loss);
    EXPECT(counter.layers == 3 && near(loss, 30));
    net.Backward();
    EXPECT(counter.layers == 6 && near(net.params()[0]->cpu_diff()[0], 10));
}

void memory_data()
{
    Net<float> net(
        message_of("layer { name: 'd' type: 'MemoryData' top: 'x' top: 'l' memory_data_param { "
                   "batch_size: 1 channels: 1 height: 1 width: 2 } }",
                   ""));
    MemoryDataLayer<float> *const data =
        dynamic_cast<MemoryDataLayer<float> *>(net.layers()[0].get());
    float items[] = { 1, 2, 3, 4 }, labels[] = { 5, 6 };

    EXPECT(data);
    data->Reset(items, labels, 2);
    net.Forward();
    EXPECT(net.blob_by_name("x")->cpu_data()[1] == 2.0F &&
           net.blob_by_name("l")->cpu_data()[0] == 5.0F);
    net.Forward();
    EXPECT(net.blob_by_name("x")->cpu_data()[1] == 4.0F);
    net.Forward();
    EXPECT(net.blob_by_name("x")->cpu_data()[1] == 2.0F);
}

/* ---- solvers ---- */

SolverParameter training()
{
    SolverParameter param;

    *param.mutable_net_param() = message_of(
        "layer { name: 'x' type: 'DummyData' top: 'x' dummy_data_param { shape { dim: 1 dim: 2 } "
        "data_filler { "
        "type: 'constant' value: 5 } } } layer { name: 'times' type: 'Times' bottom: 'x' top: 'y' }"
        "layer { name: 'sum' type: 'Reduction' bottom: 'y' top: 'sum' loss_weight: 1 }",
        "");
    param.set_base_lr(0.5F);
    param.set_lr_policy("fixed");
    param.set_momentum(0.5F);
    param.set_max_iter(10);
    param.set_snapshot_after_train(false);
    param.set_snapshot_prefix("/tmp/ferry-cxx-solver");
    return param;
}

void solvers()
{
    const shared_ptr<Solver<float>> solver(SolverRegistry<float>::CreateSolver(training()));
    SGDSolver<float> *const sgd = dynamic_cast<SGDSolver<float> *>(solver.get());
    Counter counter;

    EXPECT(sgd && solver->type() == string("SGD"));
    solver->add_callback(&counter);
    solver->Step(2);
    EXPECT(solver->iter() == 2 && counter.starts == 2 && counter.ready == 2);
    EXPECT(near(solver->net()->params()[0]->cpu_data()[0], 3 - 5 - 7.5));
    EXPECT(near(sgd->history()[0]->cpu_data()[0], 7.5) && near(sgd->GetLearningRate(), 0.5));
    solver->SetActionFunction([] { return SolverAction::STOP; });
    solver->Solve();
    EXPECT(solver->iter() == 3);
    SolverParameter without(training());
    without.clear_lr_policy();
    SGDSolver<float> undecided(without);
    THROWS(FERRY_EFORMAT, undecided.Step(1));
    AdamSolver<double> adam(training());
    adam.Step(1);
    EXPECT(adam.type() == string("Adam") && adam.history().size() == 2);
    EXPECT(adam.net()->params()[0]->cpu_data()[0] < 3);
}

/* A solver of the program: ferry's update, then a limit of −1 from below. */
class Clamped : public SGDSolver<float>
{
  public:
    explicit Clamped(const SolverParameter &param) : SGDSolver<float>(param)
    {
    }
    virtual void ApplyUpdate()
    {
        SGDSolver<float>::ApplyUpdate();
        float *const factor = net()->params()[0]->mutable_cpu_data();

        *factor = std::max(*factor, -1.0F);
        if (iter() == 2)
            throw std::runtime_error("enough");
    }
};

void solvers_of_the_programs()
{
    Clamped solver(training());
    string said;

    solver.Step(2);
    EXPECT(near(solver.net()->params()[0]->cpu_data()[0], -1) && solver.iter() == 2);
    try {
        solver.Step(1);
    } catch (const std::runtime_error &e) {
        said = e.what();
    }
    EXPECT(said == "enough" && solver.iter() == 2);
}

/* ---- functions ---- */

void arithmetic()
{
    const float a[] = { 1, 2, 3, 4, 5, 6 }, b[] = { 1, 0, 0, 1, 1, 1 };
    float c[4] = { 1, 1, 1, 1 }, y[6];
    unsigned first;

    caffe_cpu_gemm(CblasNoTrans, CblasNoTrans, 2, 2, 3, 1.0F, a, b, 2.0F, c);
    EXPECT(c[0] == 6 && c[1] == 7 && c[2] == 12 && c[3] == 13);
    caffe_cpu_gemv(CblasTrans, 2, 3, 1.0F, a, b, 0.0F, y);
    EXPECT(y[0] == 1 && y[2] == 3);
    caffe_sqr(6, a, y);
    EXPECT(y[5] == 36 && near(caffe_cpu_asum(6, a), 21));
    Caffe::set_random_seed(5);
    first = caffe_rng_rand();
    Caffe::set_random_seed(5);
    EXPECT(caffe_rng_rand() == first && caffe_rng_rand() != first);
    caffe_rng_uniform(6, 2.0F, 3.0F, y);
    EXPECT(*std::min_element(y, y + 6) >= 2 && *std::max_element(y, y + 6) <= 3);
}

void fillers()
{
    Blob<double> blob(10, 20, 5, 5), again(10, 20, 5, 5);
    FillerParameter param;
    double sum = 0;

    param.set_type("msra");
    Caffe::set_random_seed(9);
    std::unique_ptr<Filler<double>>(GetFiller<double>(param))->Fill(&blob);
    Caffe::set_random_seed(9);
    std::unique_ptr<Filler<double>>(GetFiller<double>(param))->Fill(&again);
    EXPECT(std::memcmp(blob.cpu_data(), again.cpu_data(), 5000 * sizeof(double)) == 0);
    for (int i = 0; i < blob.count(); i++)
        sum += blob.cpu_data()[i] * blob.cpu_data()[i];
    EXPECT(std::fabs(sum / blob.count() * 500 / 2 - 1) < 0.1); /* a variance of 2 / 500 */
    param.set_type("nonesuch");
    try {
        GetFiller<double>(param);
        expect(false, "it is a filler", __LINE__);
    } catch (const std::logic_error &) {
    }
}

void integers()
{
    Blob<int> whole(vector<int>{ 3 });
    Blob<unsigned int> natural(vector<int>{ 3 });

    whole.mutable_cpu_data()[2] = -5;
    natural.mutable_cpu_data()[2] = 4000000000U;
    EXPECT(whole.cpu_data()[2] == -5 && natural.cpu_data()[2] == 4000000000U);
    EXPECT(whole.data_at(vector<int>{ 2 }) == -5);
}

void upgrades()
{
    NetParameter param;
    LayerParameter today;
    V1LayerParameter old;

    old.set_type(V1LayerParameter_LayerType_RELU);
    old.add_bottom("x");
    UpgradeV1LayerParameter(old, &today);
    EXPECT(today.type() == "ReLU" && today.bottom(0) == "x");
    EXPECT(UpgradeV1LayerType(V1LayerParameter_LayerType_SOFTMAX_LOSS) ==
           string("SoftmaxWithLoss"));
    old.add_blobs()->add_data(4);
    param.add_input("x");
    param.add_input_dim(1);
    for (int i = 0; i < 3; i++)
        param.add_input_dim(2);
    *param.add_layers() = old;
    EXPECT(NetNeedsUpgrade(param) && UpgradeNetAsNeeded("text", &param) && !NetNeedsUpgrade(param));
    EXPECT(param.layer_size() == 2 && param.layer(0).type() == "Input" &&
           param.layer(1).blobs(0).data(0) == 4);
}

void logs()
{
    int said = 0, value = 1;
    bool thrown = false;

    for (int i = 0; i < 10; i++) {
        LOG_EVERY_N(INFO, 4) << (said++, "every fourth");
        LOG_FIRST_N(INFO, 2) << (said++, "twice");
    }
    EXPECT(said == 3 + 2);
    EXPECT(CHECK_NOTNULL(&value) == &value);
    try {
        CHECK_NOTNULL(static_cast<int *>(nullptr));
    } catch (const std::logic_error &) {
        thrown = true;
    }
    EXPECT(thrown);
    VLOG(3) << "never";
    DLOG(INFO) << "in debug builds";
    DCHECK_EQ(value, 1);
    DCHECK(value) << "fine";
}

const Case cases[] = {
    { "one_layer", one_layer },
    { "in_place", in_place },
    { "losses", losses },
    { "limits_and_types", limits_and_types },
    { "a_layer_of_the_programs", a_layer_of_the_programs },
    { "nets_of_doubles", nets_of_doubles },
    { "nets_of_messages", nets_of_messages },
    { "callbacks_of_nets", callbacks_of_nets },
    { "memory_data", memory_data },
    { "solvers", solvers },
    { "solvers_of_the_programs", solvers_of_the_programs },
    { "arithmetic", arithmetic },
    { "fillers", fillers },
    { "integers", integers },
    { "upgrades", upgrades },
    { "logs", logs },
};

} // namespace

int main(int argc, char **argv)
{
    Caffe::set_mode(Caffe::GPU); /* the device that FERRY_BACKEND names */
    return run_cases(cases, argc, argv);
}
