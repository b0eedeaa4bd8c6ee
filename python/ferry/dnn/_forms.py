# SPDX-License-Identifier: BSD-2-Clause
"""Argument lists of OpenCV's overloads: Python has one function for them."""

import functools
import inspect


def by_position(forms, arguments, named):
    """The arguments with the named ones in their positions: those of the first form that has all of these
    names, without a gap, after the positional arguments. None if no form has them. A form is (names, the
    number of required ones)."""
    for names, required in forms:
        rest = names[len(arguments):][:len(named)]
        if set(rest) == set(named) and len(arguments) + len(rest) >= required:
            return [*arguments, *(named[name] for name in rest)]
    return None


def overloaded(*forms):
    """Lets a function accept the named arguments of several forms, such as "image [blob param]", whose last
    two are optional; the function gets them by position. The forms omit `self`. Other names are the
    function's own."""
    lists = [(form.replace("[", "").replace("]", "").split(), len(form.partition("[")[0].split())) for form in forms]

    def decorated(function):
        @functools.wraps(function)
        def called(*arguments, **named):
            own = arguments[:called.bound]
            placed = by_position(lists, arguments[called.bound:], named) if named else None
            return function(*arguments, **named) if placed is None else function(*own, *placed)

        called.forms = lists
        called.bound = int(next(iter(inspect.signature(function).parameters)) == "self")
        return called
    return decorated
