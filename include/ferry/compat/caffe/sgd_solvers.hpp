/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/sgd_solvers.hpp
 * Caffe's six solvers: ferry's updates. See ferry/caffe.hpp, ferry/solver.h.
 */
#ifndef FERRY_COMPAT_CAFFE_SGD_SOLVERS_HPP
#define FERRY_COMPAT_CAFFE_SGD_SOLVERS_HPP

#include <ferry/compat/caffe/solver_base.hpp>

namespace caffe
{

/**
 * Stochastic gradient descent with momentum, and the base class of the others. A class may override
 * ApplyUpdate.
 */
template <typename Dtype> class SGDSolver : public Solver<Dtype>
{
  public:
    explicit SGDSolver(const SolverParameter &param) : SGDSolver(param, "SGD")
    {
    }
    explicit SGDSolver(const string &param_file) : SGDSolver(param_file, "SGD")
    {
    }
    virtual const char *type() const
    {
        return "SGD";
    }
    /** ferry's update: clipping, normalization, regularization and the type's own rule. */
    virtual void ApplyUpdate()
    {
        if (this->param_.lr_policy().empty())
            detail::fail(FERRY_EFORMAT, "Unknown learning rate policy: the solver names none");
        this->net_->parts().send();
        detail::checked(ferry_solver_apply_update(this->solver()));
        fetch();
    }
    /**
     * One blob for each parameter, followed for AdaDelta and Adam by as many again; Restore
     * replaces them.
     */
    const vector<shared_ptr<Blob<Dtype>>> &history()
    {
        return history_;
    }
    Dtype GetLearningRate()
    {
        return static_cast<Dtype>(ferry_solver_learning_rate(this->solver()));
    }

  protected:
    template <typename Source>
    SGDSolver(const Source &source, const string &type) : Solver<Dtype>(source, type)
    {
        for (int i = 0; i < ferry_solver_history_count(this->solver()); i++)
            history_.push_back(this->wrapped(ferry_solver_history_at(this->solver(), i)));
    }
    virtual void fetch()
    {
        Solver<Dtype>::fetch();
        for (size_t i = 0; i < history_.size(); i++) {
            ferry_blob *const now = ferry_solver_history_at(this->solver(), static_cast<int>(i));

            if (history_[i]->source() == now)
                history_[i]->fetch();
            else
                history_[i] = this->wrapped(now);
        }
    }

    vector<shared_ptr<Blob<Dtype>>> history_;
};

/* Defines the class nameSolver for the type `name`. */
#define FERRY_CAFFE_SOLVER(name)                                                              \
    template <typename Dtype> class name##Solver : public SGDSolver<Dtype>                    \
    {                                                                                         \
      public:                                                                                 \
        explicit name##Solver(const SolverParameter &param) : SGDSolver<Dtype>(param, #name)  \
        {                                                                                     \
        }                                                                                     \
        explicit name##Solver(const string &param_file) : SGDSolver<Dtype>(param_file, #name) \
        {                                                                                     \
        }                                                                                     \
        virtual const char *type() const                                                      \
        {                                                                                     \
            return #name;                                                                     \
        }                                                                                     \
    }
/** Nesterov's accelerated gradient. */
FERRY_CAFFE_SOLVER(Nesterov);
/** Rates from the sum of squared gradients. */
FERRY_CAFFE_SOLVER(AdaGrad);
/** Rates from a running mean of squared gradients. */
FERRY_CAFFE_SOLVER(RMSProp);
/** Rates from running means of squared gradients and updates. */
FERRY_CAFFE_SOLVER(AdaDelta);
/** Running means of gradients and of their squares. */
FERRY_CAFFE_SOLVER(Adam);
#undef FERRY_CAFFE_SOLVER

} // namespace caffe

#endif
