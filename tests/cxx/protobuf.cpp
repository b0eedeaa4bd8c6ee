/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Uses ferry's headers and the program's own protoc classes in one translation unit: messages are
 * protobuf's. With BEFORE defined the program's header is included first; otherwise the build names
 * it (FERRY_CAFFE_PROTO).
 */
#ifdef BEFORE
#include "own/caffe.pb.h"
#endif
#include <ferry/caffe.hpp>
#include <ferry/compat/caffe/layers/inner_product_layer.hpp>
#include <ferry/compat/caffe/util/insert_splits.hpp>

#include <google/protobuf/text_format.h>

#include <cstdio>

#define EXPECT(condition)                                       \
    do {                                                        \
        if (!(condition)) {                                     \
            std::printf("line %d: %s\n", __LINE__, #condition); \
            failures++;                                         \
        }                                                       \
    } while (0)

int main()
{
    caffe::NetParameter param, saved;
    caffe::SolverParameter solver_param;
    const ::google::protobuf::Message &message = param; /* protobuf's */
    int failures = 0;

    EXPECT(::google::protobuf::TextFormat::ParseFromString(
        "layer { name: 'x' type: 'DummyData' top: 'x' dummy_data_param { shape { dim: 2 dim: 3 } "
        "data_filler { "
        "type: 'constant' value: 1 } } } layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: "
        "'y' "
        "inner_product_param { num_output: 1 weight_filler { type: 'constant' value: 2 } } } "
        "layer { name: 'r' type: 'Reduction' bottom: 'y' top: 'r' loss_weight: 1 } state { phase: "
        "TRAIN }",
        &param));
    EXPECT(message.GetDescriptor()->full_name() == "caffe.NetParameter");
    caffe::Net<float> net(param);
    float loss = 0;
    net.Forward(&loss);
    EXPECT(loss > 11.99F && loss < 12.01F);
    net.ToProto(&saved);
    EXPECT(saved.layer(1).blobs(0).data_size() == 3 && saved.layer(1).blobs(0).data(0) == 2.0F);
    EXPECT(net.layer_by_name("ip")->layer_param().inner_product_param().num_output() == 1);

    caffe::InnerProductLayer<float> layer(param.layer(1));
    caffe::Blob<float> x(std::vector<int>{ 1, 3 }), y;
    layer.SetUp({ &x }, { &y });
    EXPECT(layer.blobs()[0]->count() == 3);

    *solver_param.mutable_net_param() = param;
    solver_param.set_base_lr(0.5F);
    solver_param.set_lr_policy("fixed");
    solver_param.set_snapshot_prefix("/tmp/ferry-cxx-protobuf");
    caffe::SGDSolver<float> solver(solver_param);
    solver.Step(1);
    EXPECT(solver.iter() == 1 && solver.net()->params()[0]->cpu_data()[0] < 2.0F);
    return failures != 0;
}
