/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/solver_factory.hpp
 * The registry of solver types: ferry's and the program's. See ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_SOLVER_FACTORY_HPP
#define FERRY_COMPAT_CAFFE_SOLVER_FACTORY_HPP

#include <ferry/compat/caffe/sgd_solvers.hpp>

namespace caffe
{

/** Types by name. */
template <typename Dtype> class SolverRegistry
{
  public:
    typedef Solver<Dtype> *(*Creator)(const SolverParameter &);
    typedef map<string, Creator> CreatorRegistry;

    static CreatorRegistry &Registry()
    {
        static CreatorRegistry *const registry = new CreatorRegistry(ferrys());

        return *registry;
    }
    static void AddCreator(const string &type, Creator creator)
    {
        Registry()[type] = creator;
    }
    /** Creates a solver of the message's type; the caller deletes it. */
    static Solver<Dtype> *CreateSolver(const SolverParameter &param)
    {
        const typename CreatorRegistry::const_iterator found = Registry().find(param.type());

        if (found == Registry().end())
            detail::fail(FERRY_EFORMAT, "Unknown solver type: " + param.type());
        return found->second(param);
    }
    static vector<string> SolverTypeList()
    {
        vector<string> names;

        for (const auto &one : Registry())
            names.push_back(one.first);
        return names;
    }

  private:
    SolverRegistry();

    template <typename One> static Solver<Dtype> *create(const SolverParameter &param)
    {
        return new One(param);
    }
    static CreatorRegistry ferrys()
    {
        CreatorRegistry all;

        all["SGD"] = create<SGDSolver<Dtype>>;
        all["Nesterov"] = create<NesterovSolver<Dtype>>;
        all["AdaGrad"] = create<AdaGradSolver<Dtype>>;
        all["RMSProp"] = create<RMSPropSolver<Dtype>>;
        all["AdaDelta"] = create<AdaDeltaSolver<Dtype>>;
        all["Adam"] = create<AdamSolver<Dtype>>;
        return all;
    }
};

/** Registers a type when the program starts. */
template <typename Dtype> class SolverRegisterer
{
  public:
    SolverRegisterer(const string &type, Solver<Dtype> *(*creator)(const SolverParameter &))
    {
        SolverRegistry<Dtype>::AddCreator(type, creator);
    }
};

/**
 * Registers type `type`, which the function template `creator` creates. Use it once, in a source
 * file, in namespace caffe.
 */
#define REGISTER_SOLVER_CREATOR(type, creator)                                \
    static SolverRegisterer<float> g_creator_f_##type(#type, creator<float>); \
    static SolverRegisterer<double> g_creator_d_##type(#type, creator<double>)

/** Registers type `type`, which is the class template typeSolver. */
#define REGISTER_SOLVER_CLASS(type)                                                               \
    template <typename Dtype> Solver<Dtype> *Creator_##type##Solver(const SolverParameter &param) \
    {                                                                                             \
        return new type##Solver<Dtype>(param);                                                    \
    }                                                                                             \
    REGISTER_SOLVER_CREATOR(type, Creator_##type##Solver)

} // namespace caffe

#endif
