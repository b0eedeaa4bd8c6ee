/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/program_layer.hpp
 * Layers that a program defines in C++, as layer types of ferry (ferry/layer.h): each layer of a
 * net is an object of the program's class, which uses the net's blobs. Not for programs, which use
 * layer_factory.hpp.
 *
 * Nets compute in float, so that the class for float is used, in nets of doubles too. An exception
 * of the program becomes the net's error, with its text.
 */
#ifndef FERRY_COMPAT_CAFFE_PROGRAM_LAYER_HPP
#define FERRY_COMPAT_CAFFE_PROGRAM_LAYER_HPP

#include <ferry/compat/caffe/layer_base.hpp>
#include <ferry/compat/caffe/layers/loss_layer.hpp>

namespace caffe
{
namespace detail
{

template <typename Dtype> class ProgramLayer
{
  public:
    typedef shared_ptr<Layer<Dtype>> (*Creator)(const LayerParameter &);

    /** Stores a type; offer registers it with ferry. */
    static void add(const string &type, Creator creator)
    {
        types()[type].reset(new Type(type, creator));
    }
    /**
     * Registers the types added since the last call with ferry. Call it before opening a net or a
     * solver.
     */
    static void offer()
    {
        for (auto &one : types())
            one.second->offer();
    }
    /** The program's object for a layer of a net; NULL for ferry's own types. */
    static shared_ptr<Layer<Dtype>> object_of(const ferry_layer *layer)
    {
        const auto found = types().find(ferry_layer_get_type(layer)->name);

        if (found == types().end() || &found->second->table != ferry_layer_get_type(layer))
            return shared_ptr<Layer<Dtype>>();
        return self(const_cast<ferry_layer *>(layer))->object_;
    }

  private:
    typedef vector<Blob<Dtype> *> Blobs;

    /** A type of the program: its creator, and its description for ferry. */
    struct Type {
        Type(const string &type, Creator create)
            : name(type), creator(create), offered(false), table(ferry_layer_type())
        {
        }
        void offer()
        {
            if (offered)
                return;
            describe();
            checked(ferry_layer_register(&table));
            offered = true;
        }
        /** The limits come from an object created with an empty message. */
        void describe()
        {
            LayerParameter param;

            param.set_type(name);
            const shared_ptr<Layer<Dtype>> one = creator(param);
            const int bottoms = one->ExactNumBottomBlobs(), tops = one->ExactNumTopBlobs();

            table.struct_size = sizeof table;
            table.name = name.c_str();
            table.state_size = sizeof(ProgramLayer *);
            table.min_bottoms = bottoms >= 0 ? bottoms : std::max(one->MinBottomBlobs(), 0);
            table.max_bottoms = bottoms >= 0 ? bottoms : one->MaxBottomBlobs();
            table.min_tops = tops >= 0 ? tops : std::max(one->MinTopBlobs(), 0);
            table.max_tops = tops >= 0 ? tops : one->MaxTopBlobs();
            table.flags = FERRY_LAYER_IN_PLACE | FERRY_LAYER_RESHAPES;
            if (one->AutoTopBlobs())
                table.flags |= FERRY_LAYER_AUTO_TOPS;
            if (one->EqualNumBottomTopBlobs())
                table.flags |= FERRY_LAYER_PAIRS;
            if (dynamic_cast<LossLayer<Dtype> *>(one.get()))
                table.flags |= FERRY_LAYER_LOSS;
            table.setup = setup;
            table.reshape = reshape;
            table.forward = forward;
            table.backward = backward;
            table.destroy = destroy;
            table.refuses = refuses;
        }

        const string name;
        const Creator creator;
        bool offered;
        ferry_layer_type table;
    };

    static map<string, shared_ptr<Type>> &types()
    {
        static map<string, shared_ptr<Type>> *const all = new map<string, shared_ptr<Type>>();

        return *all;
    }
    static ProgramLayer *&self(ferry_layer *layer)
    {
        return *static_cast<ProgramLayer **>(ferry_layer_state(layer));
    }

    /* ---- the functions of ferry's table, which must not throw ---- */

    template <typename Body> static int guarded(ferry_layer *layer, Body body)
    {
        try {
            body();
            return 0;
        } catch (const Error &e) {
            return ferry_layer_error(layer, e.code(), "%s", e.what());
        } catch (const std::exception &e) {
            return ferry_layer_error(layer, FERRY_EINVAL, "%s", e.what());
        } catch (...) {
            return ferry_layer_error(layer, FERRY_EINVAL,
                                     "an exception that is not a std::exception");
        }
    }
    static int setup(ferry_layer *layer)
    {
        return guarded(layer, [layer] {
            self(layer) = new ProgramLayer(layer);
            self(layer)->set_up();
        });
    }
    static int reshape(ferry_layer *layer)
    {
        return guarded(layer, [layer] {
            self(layer)->object_->Reshape(self(layer)->bottom_, self(layer)->top_);
        });
    }
    static int forward(ferry_layer *layer)
    {
        return guarded(layer, [layer] { self(layer)->run(); });
    }
    static int backward(ferry_layer *layer)
    {
        return guarded(layer, [layer] { self(layer)->run_back(); });
    }
    static void destroy(ferry_layer *layer)
    {
        delete self(layer);
    }
    static const char *refuses(const ferry_layer *layer, int index)
    {
        const ProgramLayer *program = self(const_cast<ferry_layer *>(layer));

        return program->object_->AllowForceBackward(index)
                   ? nullptr
                   : "Layer cannot backpropagate to this input.";
    }

    /* ---- an object in a net ---- */

    explicit ProgramLayer(ferry_layer *layer) : layer_(layer)
    {
        LayerParameter param;

        read_message(ferry_layer_message(layer), &param);
        param.set_phase(ferry_layer_phase(layer) == FERRY_PHASE_TRAIN ? TRAIN : TEST);
        object_ = types().at(ferry_layer_get_type(layer)->name)->creator(param);
        for (int i = 0; i < ferry_layer_bottom_count(layer); i++)
            bottom_.push_back(seen(ferry_layer_bottom_at(layer, i)));
        for (int i = 0; i < ferry_layer_top_count(layer); i++)
            top_.push_back(seen(ferry_layer_top_at(layer, i)));
    }
    /** The Blob through which the object accesses a blob of the net; the net keeps it alive. */
    Blob<Dtype> *seen(ferry_blob *blob)
    {
        for (const auto &one : seen_)
            if (one->blob() == blob)
                return one.get();
        seen_.push_back(borrowed(blob));
        return seen_.back().get();
    }
    static shared_ptr<Blob<Dtype>> borrowed(ferry_blob *blob)
    {
        static const shared_ptr<void> nobody(&types(), [](void *) {});

        return shared_ptr<Blob<Dtype>>(new Blob<Dtype>(blob, nobody));
    }
    /** Lets the object create its parameters, which then belong to the net. */
    void set_up()
    {
        object_->CheckBlobCounts(bottom_, top_);
        object_->LayerSetUp(bottom_, top_);
        object_->param_propagate_down_.resize(object_->blobs_.size(), true);
        for (size_t i = 0; i < object_->blobs_.size(); i++) {
            shared_ptr<Blob<Dtype>> &mine = object_->blobs_[i];
            ferry_layer_param param = ferry_layer_param();

            param.struct_size = sizeof param;
            param.rank = ferry_blob_rank(mine->blob());
            param.shape = ferry_blob_shape(mine->blob());
            param.lr_mult = param.decay_mult = 1;
            checked(ferry_layer_declare_param(layer_, &param));
            ferry_blob *const declared = checked(ferry_layer_param_at(layer_, static_cast<int>(i)));
            checked(ferry_blob_copy_from(declared, mine->blob(), 0));
            mine = borrowed(declared);
        }
    }
    void run()
    {
        Caffe::mode() == Caffe::GPU ? object_->Forward_gpu(bottom_, top_)
                                    : object_->Forward_cpu(bottom_, top_);
    }
    void run_back()
    {
        vector<bool> down;

        for (size_t i = 0; i < bottom_.size(); i++)
            down.push_back(ferry_layer_propagates(layer_, static_cast<int>(i)) != 0);
        for (size_t i = 0; i < object_->blobs_.size(); i++)
            object_->set_param_propagate_down(
                static_cast<int>(i),
                ferry_layer_param_propagates(layer_, static_cast<int>(i)) != 0);
        Caffe::mode() == Caffe::GPU ? object_->Backward_gpu(top_, down, bottom_)
                                    : object_->Backward_cpu(top_, down, bottom_);
    }

    ferry_layer *layer_;
    shared_ptr<Layer<Dtype>> object_;
    Blobs bottom_, top_;
    vector<shared_ptr<Blob<Dtype>>> seen_;
};

} // namespace detail
} // namespace caffe

#endif
