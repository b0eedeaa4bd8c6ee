# SPDX-License-Identifier: BSD-2-Clause
"""Errors: cv2.error if cv2 is installed, otherwise an exception with the same attributes."""

import functools

from .. import _errors
from .._version import VERSION

try:
    from cv2 import error  # pylint: disable=unused-import
except ImportError:
    class error(Exception):  # pylint: disable=invalid-name
        """As cv2.error: code, err, func, file, line and msg."""

        code, err, func, file, line, msg = 0, "", "", "", 0, ""

# OpenCV's codes, and its words for them.
ERROR, NO_MEMORY, BAD_ARGUMENT, BAD_FLAG = -2, -4, -5, -206
BAD_SIZE, NOT_FOUND, UNMATCHED, BAD_FORMAT, NOT_IMPLEMENTED, ASSERTION = -201, -204, -209, -210, -213, -215
_WORDS = {ERROR: "Unspecified error", BAD_SIZE: "Incorrect size of input array",
          NO_MEMORY: "Insufficient memory", BAD_ARGUMENT: "Bad argument",
          NOT_FOUND: "Requested object was not found", BAD_FLAG: "Bad flag (parameter or structure field)",
          UNMATCHED: "Sizes of input arguments do not match",
          BAD_FORMAT: "Unsupported format or combination of formats",
          NOT_IMPLEMENTED: "The function/feature is not implemented", ASSERTION: "Assertion failed"}
_OF_FERRY = {_errors.OutOfMemory: NO_MEMORY, _errors.Unsupported: NOT_IMPLEMENTED,
             _errors.ShapeMismatch: UNMATCHED, _errors.InvalidArgument: BAD_ARGUMENT}


def made(code, line, function):
    """An error in cv2's form."""
    message = f"ferry({VERSION}) ferry.dnn:0: error: ({code}:{_WORDS[code]}) {line} in function '{function}'\n"
    raised = error(message)
    raised.code, raised.err, raised.func, raised.msg = code, line, function, message
    raised.file, raised.line = "ferry.dnn", 0
    return raised


def of_ferry(raised, function):
    """Converts an error of ferry."""
    return made(_OF_FERRY.get(type(raised), ERROR), str(raised), function)


def arguments_in_cv2s_form(function):
    """Wraps a function so that wrong arguments raise cv2's error of a function with several overloads."""
    @functools.wraps(function)
    def run(*arguments, **named):
        try:
            return function(*arguments, **named)
        except (TypeError, ValueError) as raised:
            raise made(BAD_ARGUMENT, str(raised), function.__name__) from raised
    return run


def in_cv2s_form(function):
    """Wraps a function so that errors of ferry become cv2's."""
    @functools.wraps(function)
    def run(*arguments, **named):
        try:
            return function(*arguments, **named)
        except _errors.Error as raised:
            raise of_ferry(raised, function.__name__) from raised
    return run
