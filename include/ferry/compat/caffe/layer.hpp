/* SPDX-License-Identifier: BSD-2-Clause */
/** @file compat/caffe/layer.hpp What a program asks of a net's layers. See ferry/caffe.hpp, ferry/layer.h. */
#ifndef FERRY_COMPAT_CAFFE_LAYER_HPP
#define FERRY_COMPAT_CAFFE_LAYER_HPP

#include <ferry/compat/caffe/blob.hpp>
#include <ferry/net.h>

namespace caffe
{

/** Of a layer's message: its name, its type, and what it is tied to. Others: ferry_layer_message. */
class LayerParameter
{
  public:
    explicit LayerParameter(const ferry_proto *message) : message_(message)
    {
    }
    string name() const
    {
        return text("name", 0);
    }
    string type() const
    {
        return text("type", 0);
    }
    int bottom_size() const
    {
        return size("bottom");
    }
    string bottom(int index) const
    {
        return text("bottom", index);
    }
    int top_size() const
    {
        return size("top");
    }
    string top(int index) const
    {
        return text("top", index);
    }
    /** Not Caffe's: all of it, borrowed for the net's life. */
    const ferry_proto *message() const
    {
        return message_;
    }

  private:
    int size(const char *field) const
    {
        return detail::narrowed(ferry_proto_value_count(message_, field));
    }
    string text(const char *field, int index) const
    {
        return detail::checked(ferry_proto_string(message_, field, index, nullptr));
    }

    const ferry_proto *message_;
};

/** A layer of a net: its type and its parameters. The net runs it. */
template <typename Dtype> class Layer
{
  public:
    Layer(const ferry_layer *layer, const vector<shared_ptr<Blob<Dtype>>> &blobs)
        : layer_(layer), blobs_(blobs), param_(ferry_layer_message(layer))
    {
    }
    const char *type() const
    {
        return ferry_layer_get_type(layer_)->name;
    }
    vector<shared_ptr<Blob<Dtype>>> &blobs()
    {
        return blobs_;
    }
    const LayerParameter &layer_param() const
    {
        return param_;
    }
    Dtype loss(int top_index) const
    {
        return static_cast<Dtype>(ferry_layer_loss_weight(layer_, top_index));
    }
    /** Not Caffe's: what is underneath, borrowed for the net's life. */
    const ferry_layer *layer() const
    {
        return layer_;
    }

  private:
    const ferry_layer *layer_;
    vector<shared_ptr<Blob<Dtype>>> blobs_;
    LayerParameter param_;
};

} // namespace caffe

#endif
