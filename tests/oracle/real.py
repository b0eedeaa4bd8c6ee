# SPDX-License-Identifier: BSD-2-Clause
"""Arrays of float64 with a bound: the largest possible error of a float32 implementation.

Each operation adds its own rounding error to the bounds of its operands, which are multiplied by
|derivative|: first-order running error analysis. The bound of a sum of n terms, n·EPS·Σ|term|, holds for
every order of summation. A decision (a comparison) that the bounds do not determine is a doubt: the result's
bound then includes both outcomes."""

import math

import numpy as np

EPS = 2.0**-23  # twice float32's unit roundoff, because divisions of GPUs are not correctly rounded
TINY = 1e-37  # below this, float32 is denormal or flushed to zero
HUGE = 1e38
FLT_MAX = float(np.finfo(np.float32).max)
FLT_MIN = float(np.finfo(np.float32).tiny)


class Real:
    """Values v, bounds e of the same shape, and whether the bounds include a doubt."""

    __slots__ = ('v', 'e', 'doubt')
    __array_ufunc__ = None

    def __init__(self, v, e=None, doubt=False):
        self.v = np.asarray(v, np.float64)
        self.e = np.zeros(self.v.shape) if e is None else e
        self.doubt = doubt

    @property
    def shape(self):
        return self.v.shape

    @property
    def ndim(self):
        return self.v.ndim

    @property
    def size(self):
        return self.v.size

    def map(self, f):
        """Operations that move elements and compute nothing: f is applied to values and to bounds."""
        return Real(f(self.v), f(self.e), self.doubt)

    def reshape(self, *shape):
        return self.map(lambda a: a.reshape(*shape))

    def __getitem__(self, index):
        return self.map(lambda a: a[index])

    def pad(self, widths, value=0.0):
        v = np.pad(self.v, widths, constant_values=value)
        return Real(v, np.pad(self.e, widths), self.doubt)

    def __neg__(self):
        return Real(-self.v, self.e, self.doubt)

    def __abs__(self):
        return Real(abs(self.v), self.e, self.doubt)

    def __add__(self, other):
        other = real(other)
        v = self.v + other.v
        return Real(v, self.e + other.e + EPS * abs(v), self.doubt or other.doubt)

    def __sub__(self, other):
        return self + -real(other)

    def __mul__(self, other):
        other = real(other)
        v = self.v * other.v
        e = abs(self.v) * other.e + (abs(other.v) + other.e) * self.e + EPS * abs(v)
        return Real(v, unbound(v, e), self.doubt or other.doubt)

    def __truediv__(self, other):
        other = real(other)
        v = self.v / other.v
        least = np.maximum(abs(other.v) - other.e, 1e-300)
        e = (self.e + abs(v) * other.e) / least + EPS * abs(v)
        return Real(v, e, self.doubt or other.doubt)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other):
        return -self + other

    def __rtruediv__(self, other):
        return real(other) / self

    def __gt__(self, other):
        return compare(np.greater, self, other)

    def __ge__(self, other):
        return compare(np.greater_equal, self, other)

    def __lt__(self, other):
        return compare(np.less, self, other)

    def __le__(self, other):
        return compare(np.less_equal, self, other)

    def sum(self, axis=None, keepdims=False):
        v = self.v.sum(axis=axis, keepdims=keepdims)
        terms = self.size // max(v.size, 1)
        e = self.e.sum(axis=axis, keepdims=keepdims)
        if terms > 1:
            e = e + terms * EPS * abs(self.v).sum(axis=axis, keepdims=keepdims)
        return Real(v, unbound(v, e), self.doubt)

    def mean(self, axis=None, keepdims=False):
        total = self.sum(axis, keepdims)
        return total / (self.size / max(total.size, 1))

    def max(self, axis=None, keepdims=False):
        return Real(
            self.v.max(axis, keepdims=keepdims), self.e.max(axis, keepdims=keepdims), self.doubt
        )

    def exact(self):
        """The values as constants, for a shift or a scale that cancels out of the result."""
        return Real(self.v)


class Decision:
    """The outcome of a comparison, and the elements for which the bounds do not determine it."""

    def __init__(self, holds, open_):
        self.holds, self.open = holds, open_

    def __and__(self, other):
        return Decision(self.holds & other.holds, self.open | other.open)

    def __or__(self, other):
        return Decision(self.holds | other.holds, self.open | other.open)

    def __invert__(self):
        return Decision(~self.holds, self.open)


def real(x):
    """Converts arrays, which are exact; a number that float32 cannot represent is rounded."""
    if isinstance(x, Real):
        return x
    if isinstance(x, float) and abs(x) < HUGE and np.float32(x) != x:
        return Real(x, np.array(EPS * abs(x)))
    return Real(x)


def unbound(v, e):
    """A bound, infinite if float32 overflows: a square may overflow, although its root would not."""
    over = abs(v) > HUGE
    return np.where(over & np.isfinite(v), np.inf, e) if over.any() else e


def compare(relation, a, b):
    b = real(b)
    both = a.e + b.e
    return Decision(relation(a.v, b.v), (abs(a.v - b.v) <= both) & (both > 0))


def choose(decision, a, b):
    """a where the decision is true, b elsewhere."""
    a, b = real(a), real(b)
    v = np.where(decision.holds, a.v, b.v)
    e = np.where(decision.holds, a.e, b.e)
    doubt = False
    if decision.open.any():
        apart = abs(a.v - b.v)
        e = np.where(decision.open, np.maximum(a.e, b.e) + apart, e)
        # a continuous function such as max(x, 0) has one value within the bounds
        doubt = bool((decision.open & (apart > a.e + b.e)).any())
    return Real(v, e, doubt or a.doubt or b.doubt)


def zeros(shape):
    return Real(np.zeros(shape))


def undecided(x, where=True):
    """The same values with an infinite bound where an index, not a number, is in doubt."""
    if not np.any(where):
        return x
    return Real(x.v, np.where(where, np.inf, x.e), True)


def concatenate(parts, axis):
    return Real(
        np.concatenate([p.v for p in parts], axis),
        np.concatenate([p.e for p in parts], axis),
        any(p.doubt for p in parts),
    )


def stack(parts, axis=0):
    return concatenate([p.map(lambda a: np.expand_dims(a, axis)) for p in parts], axis)


def sqrt(x):
    v = np.sqrt(x.v)
    return Real(v, v - np.sqrt(np.maximum(x.v - x.e, 0)) + EPS * v, x.doubt)


def exp(x):
    v = np.exp(x.v)
    return Real(v, v * np.expm1(x.e) + (4 + abs(x.v)) * EPS * v + TINY * (v < TINY), x.doubt)


def log(x):
    v = np.log(x.v)
    return Real(v, -np.log1p(-np.minimum(x.e / abs(x.v), 1)) + EPS * (2 + 4 * abs(v)), x.doubt)


def sigmoid(x):
    # 1 + tanh would cancel for large negative x
    small = np.exp(-abs(x.v))
    v = np.where(x.v < 0, small, 1.0) / (1 + small)
    return Real(v, v * (1 - v) * np.expm1(x.e) + 8 * EPS * v + TINY * (v < TINY), x.doubt)


def tanh(x):
    """The function's own error is absolute: Caffe's LSTM computes 2·sigmoid(2x) - 1."""
    v = np.tanh(x.v)
    return Real(v, np.minimum((1 - v * v) * x.e + x.e * x.e, 2) + 4 * EPS, x.doubt)


def erfc(x):
    """The derivative is -2·exp(-x²)/√π: the bound uses its maximum within x's bound. OpenCL permits 16 units
    in the last place."""
    v = np.vectorize(math.erfc, otypes=[float])(x.v)
    nearest = np.maximum(abs(x.v) - x.e, 0)
    carried = np.minimum(1.1284 * np.exp(-nearest * nearest) * x.e, 2)
    return Real(v, carried + 16 * EPS * v + TINY * (v < TINY), x.doubt)


def power(x, p):
    """x to the power p, a number. The bound uses the maximum of the derivative within x's bound."""
    v = np.power(x.v, p)
    size = abs(x.v)
    at = size + x.e if p >= 1 else np.maximum(size - x.e, 0)
    carried = np.where(x.e > 0, abs(p) * np.power(at, p - 1) * x.e, 0) if p else 0 * size
    if 0 < p < 1:
        carried = np.minimum(carried, np.power(size + x.e, p) + abs(v))
    own = (4 + abs(p * np.log(np.maximum(size, 1e-300)))) * EPS * abs(v)
    return Real(v, carried + (0 if p == 1 else own), x.doubt)


class Sum:
    """A sum of products and terms, each added to a part of it; the bound holds for any order of float32
    additions."""

    def __init__(self, shape):
        self.v, self.e, self.size = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.terms, self.doubt = 0, False

    def product(self, a, b, where=Ellipsis):
        """Adds the matrix product of a and b."""
        size = np.matmul(abs(a.v), abs(b.v))
        self.v[where] += np.matmul(a.v, b.v)
        self.size[where] += size
        if a.e.any() or b.e.any():
            self.e[where] += np.matmul(abs(a.v) + a.e, abs(b.v) + b.e) - size
        self.terms += a.shape[-1]
        self.doubt |= a.doubt or b.doubt

    def term(self, x, where=Ellipsis):
        self.v[where] += x.v
        self.size[where] += abs(x.v)
        self.e[where] += x.e
        self.terms += 1
        self.doubt |= x.doubt

    def real(self, loose=1):
        return Real(self.v, self.e + loose * (self.terms + 1) * EPS * self.size, self.doubt)


def matmul(a, b):
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + (a.shape[-2], b.shape[-1])
    total = Sum(shape)
    total.product(a, b)
    return total.real()


def biased(total, bias, terms):
    """Sums of a number of terms and a bias, which may be first: it is then part of every partial sum."""
    y = total + bias
    return Real(y.v, y.e + terms * EPS * abs(bias.v), y.doubt)


def shifted(x, shift):
    """x + shift. The next linear layer may get both parts separately, as constants that are folded into its
    weights and its bias: each part is then rounded, even if their sum cancels."""
    return biased(x, shift, 2)


def rounded(x):
    """A blob's bound: denormals may be flushed, and if float32 overflows there is no bound."""
    tiny = (x.e > 0) | ((x.v != 0) & (abs(x.v) < TINY))  # a bound this small has become 0
    e = np.where(np.isnan(x.e), np.inf, x.e) + TINY * tiny
    e = unbound(abs(x.v) + np.where(np.isinf(e), 0, e), e)
    return Real(x.v, e, x.doubt or bool(np.isinf(e).any()))
