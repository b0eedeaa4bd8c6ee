/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/solver_base.hpp
 * Caffe's base class of solvers: a ferry_solver. Programs include <caffe/solver.hpp>. See
 * ferry/caffe.hpp, ferry/solver.h.
 */
#ifndef FERRY_COMPAT_CAFFE_SOLVER_BASE_HPP
#define FERRY_COMPAT_CAFFE_SOLVER_BASE_HPP

#include <ferry/compat/caffe/net.hpp>
#include <ferry/compat/caffe/util/upgrade_proto.hpp>
#include <ferry/solver.h>

#include <exception>
#include <functional>

namespace caffe
{

/** The requests to a solver after an iteration. */
namespace SolverAction
{
enum Enum { NONE = 0, STOP = 1, SNAPSHOT = 2 };
}

/** Called after each iteration. */
typedef std::function<SolverAction::Enum()> ActionCallback;

/**
 * Trains a net according to its message, on the mode's device. ferry runs the iterations: tests,
 * passes, snapshots and display. The class implements ApplyUpdate, which may call ferry's update
 * (SGDSolver) or update the parameters itself. Arithmetic is in float; a Solver<double> has nets of
 * doubles (Net).
 *
 * If random_seed is set it seeds the thread's random numbers; otherwise these determine fillers and
 * dropout.
 */
template <typename Dtype> class Solver
{
  public:
    explicit Solver(const SolverParameter &param) : Solver(param, "SGD")
    {
    }
    explicit Solver(const string &param_file) : Solver(param_file, "SGD")
    {
    }
    virtual ~Solver()
    {
    }
    Solver(const Solver &) = delete;
    Solver &operator=(const Solver &) = delete;

    void SetActionFunction(ActionCallback func)
    {
        action_ = func;
    }
    SolverAction::Enum GetRequestedAction()
    {
        return action_ ? action_() : SolverAction::NONE;
    }
    /** Runs all iterations up to max_iter, from a snapshot if one is given. */
    virtual void Solve(const char *resume_file = nullptr)
    {
        if (resume_file)
            Restore(resume_file);
        run([this] { return ferry_solver_solve(solver()); });
    }
    void Solve(const string &resume_file)
    {
        Solve(resume_file.c_str());
    }
    void Step(int iters)
    {
        run([this, iters] { return ferry_solver_step(solver(), iters); });
    }
    /** Continues from a .solverstate or .solverstate.h5. */
    void Restore(const char *resume_file)
    {
        run([this, resume_file] { return ferry_solver_restore(solver(), resume_file); });
    }
    void Snapshot()
    {
        run([this] { return ferry_solver_snapshot(solver()); });
    }
    const SolverParameter &param() const
    {
        return param_;
    }
    shared_ptr<Net<Dtype>> net()
    {
        return net_;
    }
    const vector<shared_ptr<Net<Dtype>>> &test_nets()
    {
        return test_nets_;
    }
    int iter() const
    {
        return ferry_solver_iter(solver());
    }

    /** Called in each iteration: before the first pass, and when the gradients are complete. */
    class Callback
    {
      protected:
        virtual void on_start() = 0;
        virtual void on_gradients_ready() = 0;
        virtual ~Callback()
        {
        }

        template <typename T> friend class Solver;
    };
    const vector<Callback *> &callbacks() const
    {
        return callbacks_;
    }
    void add_callback(Callback *value)
    {
        callbacks_.push_back(value);
    }
    virtual const char *type() const
    {
        return "";
    }
    /** Updates the parameters from their diffs in the current iteration. */
    virtual void ApplyUpdate() = 0;
    /** Not in Caffe: the wrapped ferry_solver, borrowed. */
    ferry_solver *solver() const
    {
        return static_cast<ferry_solver *>(solver_.get());
    }

  protected:
    /** Uses one of ferry's update types instead of the message's. */
    Solver(const SolverParameter &param, const string &type) : param_(param)
    {
        /*
         * An empty stem: as in Caffe, a snapshot_prefix that is a folder is followed only by
         * _iter_N.
         */
        open(".prototxt", type);
    }
    Solver(const string &param_file, const string &type)
    {
        ReadSolverParamsFromTextFileOrDie(param_file, &param_);
        open(param_file, type);
    }
    /** Wraps a blob of the solver, and keeps the solver alive. */
    shared_ptr<Blob<Dtype>> wrapped(ferry_blob *blob) const
    {
        return shared_ptr<Blob<Dtype>>(new Blob<Dtype>(blob, solver_));
    }
    /** Called after each change of nets and histories. */
    virtual void fetch()
    {
        net_->parts().fetch();
        for (const auto &net : test_nets_)
            net->parts().fetch();
    }

    SolverParameter param_;
    shared_ptr<Net<Dtype>> net_;
    vector<shared_ptr<Net<Dtype>>> test_nets_;
    vector<Callback *> callbacks_;

  private:
    void open(const string &path, const string &type)
    {
        static const char *const all[] = { "*" };
        ferry_solver_options options = ferry_solver_options();
        ferry_solver *solver = nullptr;
        SolverParameter text_of_it;

        if (param_.random_seed() >= 0)
            Caffe::set_random_seed(static_cast<unsigned int>(param_.random_seed()));
        text_of_it.CopyFrom(param_);
        text_of_it.clear_solver_type();
        text_of_it.set_type(type);
        text_of_it.set_random_seed(static_cast<int>(Caffe::next_seed() >> 1));
        if (param_.lr_policy().empty()) /* the first update refuses this (SGDSolver) */
            text_of_it.set_lr_policy("fixed");
        const string text = detail::text_of(text_of_it);
        detail::ProgramLayer<float>::offer();
        options.struct_size = sizeof options;
        options.text = text.data();
        options.text_size = text.size();
        options.keep = all;
        options.keep_count = 1;
        options.allow_write = Caffe::allow_write().empty() ? nullptr : Caffe::allow_write().c_str();
        detail::checked(ferry_solver_open(Caffe::device(), path.c_str(), &options, &solver));
        solver_.reset(
            solver, [](void *opened) { ferry_solver_close(static_cast<ferry_solver *>(opened)); });
        net_ = seen(ferry_solver_net(solver), TRAIN);
        for (int i = 0; i < ferry_solver_test_net_count(solver); i++)
            test_nets_.push_back(seen(ferry_solver_test_net_at(solver, i), TEST));
        detail::checked(ferry_solver_on_gradients(solver, gradients, this));
        detail::checked(ferry_solver_on_update(solver, update, this));
        detail::checked(ferry_solver_on_iteration(solver, iterated, this));
    }
    shared_ptr<Net<Dtype>> seen(ferry_net *net, Phase phase) const
    {
        return shared_ptr<Net<Dtype>>(new Net<Dtype>(shared_ptr<void>(solver_, net), phase));
    }

    /** Runs a function of ferry and rethrows an exception of the program from inside it. */
    template <typename Body> void run(Body body)
    {
        net_->parts().send();
        thrown_ = nullptr;
        const int err = body();
        fetch();
        if (thrown_)
            std::rethrow_exception(thrown_);
        detail::checked(err);
    }

    /* ---- ferry's callbacks, which must not throw ---- */

    template <typename Body> static int guarded(void *arg, Body body)
    {
        Solver *const self = static_cast<Solver *>(arg);

        try {
            self->fetch();
            body(self);
            self->net_->parts().send();
            return 0;
        } catch (...) {
            self->thrown_ = std::current_exception();
            return ferry_error_set(FERRY_EINVAL, "a function of the program has thrown");
        }
    }
    static int gradients(void *arg, ferry_solver *, bool ready)
    {
        return guarded(arg, [ready](Solver *self) {
            for (Callback *callback : self->callbacks_)
                ready ? callback->on_gradients_ready() : callback->on_start();
        });
    }
    static int update(void *arg, ferry_solver *)
    {
        return guarded(arg, [](Solver *self) { self->ApplyUpdate(); });
    }
    static int iterated(void *arg, ferry_solver *, const ferry_solver_iteration *)
    {
        return guarded(arg, [](Solver *self) {
            const SolverAction::Enum action = self->GetRequestedAction();

            if (action != SolverAction::NONE)
                ferry_solver_request(self->solver(), action == SolverAction::STOP
                                                         ? FERRY_SOLVER_STOP
                                                         : FERRY_SOLVER_SNAPSHOT);
        });
    }

    shared_ptr<void> solver_;
    ActionCallback action_;
    std::exception_ptr thrown_;
};

} // namespace caffe

#endif
