/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file compat/caffe/util/signal_handler.h
 * SIGINT and SIGHUP as a solver's actions. See ferry/caffe.hpp.
 */
#ifndef FERRY_COMPAT_CAFFE_UTIL_SIGNAL_HANDLER_H
#define FERRY_COMPAT_CAFFE_UTIL_SIGNAL_HANDLER_H

#include <ferry/compat/caffe/solver_base.hpp>

#include <csignal>

namespace caffe
{

/**
 * While an object exists, the two signals request actions instead of ending the process. One object
 * at a time.
 */
class SignalHandler
{
  public:
    SignalHandler(SolverAction::Enum SIGINT_action, SolverAction::Enum SIGHUP_action)
        : on_int_(SIGINT_action), on_hup_(SIGHUP_action)
    {
        CHECK(!hooked()) << "Already hooked up signal handlers.";
        hooked() = true;
        took(SIGINT) = took(SIGHUP) = 0;
        before_int_ = std::signal(SIGINT, note);
        before_hup_ = std::signal(SIGHUP, note);
    }
    ~SignalHandler()
    {
        std::signal(SIGINT, before_int_);
        std::signal(SIGHUP, before_hup_);
        hooked() = false;
    }
    SignalHandler(const SignalHandler &) = delete;
    SignalHandler &operator=(const SignalHandler &) = delete;

    /** For Solver::SetActionFunction; this object must outlive the solver's use of it. */
    ActionCallback GetActionFunction()
    {
        return [this] { return action(); };
    }

  private:
    static bool &hooked()
    {
        static bool is = false;

        return is;
    }
    static volatile std::sig_atomic_t &took(int signal)
    {
        static volatile std::sig_atomic_t of_int = 0, of_hup = 0;

        return signal == SIGINT ? of_int : of_hup;
    }
    static void note(int signal)
    {
        took(signal) = 1;
    }
    SolverAction::Enum action() const
    {
        for (int signal : { SIGHUP, SIGINT })
            if (took(signal)) {
                took(signal) = 0;
                return signal == SIGINT ? on_int_ : on_hup_;
            }
        return SolverAction::NONE;
    }

    const SolverAction::Enum on_int_, on_hup_;
    void (*before_int_)(int);
    void (*before_hup_)(int);
};

} // namespace caffe

#endif
