/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/layer_factory.hpp
 * The registry of layer types: ferry's, and those that the program defines in C++, which nets and
 * solvers create from a prototxt like any other. See ferry/caffe.hpp; program_layer.hpp describes
 * how ferry runs them.
 */
#ifndef FERRY_COMPAT_CAFFE_LAYER_FACTORY_HPP
#define FERRY_COMPAT_CAFFE_LAYER_FACTORY_HPP

#include <ferry/compat/caffe/ferry_layer.hpp>
#include <ferry/compat/caffe/program_layer.hpp>

namespace caffe
{

/** Types by name. A type of the program replaces ferry's type of the same name. */
template <typename Dtype> class LayerRegistry
{
  public:
    typedef shared_ptr<Layer<Dtype>> (*Creator)(const LayerParameter &);
    typedef map<string, Creator> CreatorRegistry;

    static CreatorRegistry &Registry()
    {
        static CreatorRegistry *const registry = new CreatorRegistry(ferrys());

        return *registry;
    }
    static void AddCreator(const string &type, Creator creator)
    {
        Registry()[type] = creator;
        detail::ProgramLayer<Dtype>::add(type, creator);
    }
    /** FATAL for an unknown type. */
    static shared_ptr<Layer<Dtype>> CreateLayer(const LayerParameter &param)
    {
        const typename CreatorRegistry::const_iterator found = Registry().find(param.type());

        if (found == Registry().end())
            detail::fail(FERRY_EUNSUPPORTED, "Unknown layer type: " + param.type());
        return found->second(param);
    }
    static vector<string> LayerTypeList()
    {
        vector<string> names;

        for (const auto &one : Registry())
            names.push_back(one.first);
        return names;
    }

  private:
    LayerRegistry();

    static shared_ptr<Layer<Dtype>> create(const LayerParameter &param)
    {
        return shared_ptr<Layer<Dtype>>(new FerryLayer<Dtype>(param));
    }
    static CreatorRegistry ferrys()
    {
        CreatorRegistry all;

        for (int i = 0; i < ferry_layer_type_count(); i++)
            all[ferry_layer_type_at(i)->name] = create;
        return all;
    }
};

/** Registers a type when the program starts. */
template <typename Dtype> class LayerRegisterer
{
  public:
    LayerRegisterer(const string &type, shared_ptr<Layer<Dtype>> (*creator)(const LayerParameter &))
    {
        LayerRegistry<Dtype>::AddCreator(type, creator);
    }
};

/**
 * Registers type `type`, which the function template `creator` creates. Use it once, in a source
 * file, in namespace caffe.
 */
#define REGISTER_LAYER_CREATOR(type, creator)                                \
    static LayerRegisterer<float> g_creator_f_##type(#type, creator<float>); \
    static LayerRegisterer<double> g_creator_d_##type(#type, creator<double>)

/** Registers type `type`, which is the class template typeLayer. */
#define REGISTER_LAYER_CLASS(type)                                              \
    template <typename Dtype>                                                   \
    shared_ptr<Layer<Dtype>> Creator_##type##Layer(const LayerParameter &param) \
    {                                                                           \
        return shared_ptr<Layer<Dtype>>(new type##Layer<Dtype>(param));         \
    }                                                                           \
    REGISTER_LAYER_CREATOR(type, Creator_##type##Layer)

} // namespace caffe

#endif
