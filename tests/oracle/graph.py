# SPDX-License-Identifier: BSD-2-Clause
"""A net: its layers, their connections, the gradients that are needed, and the two passes.

Each top has an array of its own; an in-place layer makes a new version of its blob. In Caffe the versions
share one buffer, so after a backward pass the buffer contains the diff of the first version."""

import numpy as np

from . import layers_shape
from .layer import TYPES
from .real import real, rounded, zeros
from .text import Message, NetError, Unsupported, parse

V1_TYPES = {
    name.replace('_', '').upper(): name
    for name in (
        'AbsVal Accuracy ArgMax BNLL Concat ContrastiveLoss Convolution Data Deconvolution Dropout '
        'DummyData EuclideanLoss Eltwise Exp Flatten HDF5Data HDF5Output HingeLoss Im2col '
        'ImageData InfogainLoss InnerProduct LRN MemoryData MultinomialLogisticLoss MVN Pooling '
        'Power ReLU Sigmoid SigmoidCrossEntropyLoss Silence Softmax SoftmaxWithLoss Split Slice '
        'TanH WindowData Threshold'
    ).split()
}
V1_TYPES['SOFTMAXLOSS'] = 'SoftmaxWithLoss'


# ---- old texts ---------------------------------------------------------------------------------


def upgraded_layer(old):
    """A `layers` entry as a `layer`."""
    if old.has('layer'):
        raise Unsupported('the net is in the V0 format')
    new = Message(**old.fields)
    kind = str(old.get('type', '')).replace('_', '').upper()
    if kind not in V1_TYPES:
        raise NetError('there is no layer type %s' % old.get('type'))
    new.fields['type'] = [V1_TYPES[kind]]
    rates, decays, names = old.all('blobs_lr'), old.all('weight_decay'), old.all('param')
    new.fields.pop('param', None)
    for i in range(max(len(rates), len(decays), len(names))):
        spec = Message()
        for values, field in ((names, 'name'), (rates, 'lr_mult'), (decays, 'decay_mult')):
            if i < len(values):
                spec.add(field, values[i])
        new.add('param', spec)
    return new


def upgraded(net):
    """The layers of a net in the current format."""
    if net.has('layer') and net.has('layers'):
        raise NetError('both layer and layers')
    layers = net.all('layer') or [upgraded_layer(old) for old in net.all('layers')]
    names, shapes, sizes = net.all('input'), net.all('input_shape'), net.ints('input_dim')
    if names:
        if sizes:
            if len(sizes) != 4 * len(names):
                raise NetError('%d values of input_dim for %d inputs' % (len(sizes), len(names)))
            shapes = [Message(dim=sizes[i : i + 4]) for i in range(0, len(sizes), 4)]
        given = Message(
            name=['input'], type=['Input'], top=names, input_param=[Message(shape=shapes)]
        )
        layers = [given] + layers
    return layers


# ---- which layers ------------------------------------------------------------------------------


def meets(rule, phase, level, stages):
    return (
        (not rule.has('phase') or rule.enum('phase', None, 'TRAIN', 'TEST') == phase)
        and (not rule.has('min_level') or level >= rule.int('min_level'))
        and (not rule.has('max_level') or level <= rule.int('max_level'))
        and all(stage in stages for stage in rule.all('stage'))
        and not any(stage in stages for stage in rule.all('not_stage'))
    )


def included(message, state):
    if message.has('include') and message.has('exclude'):
        raise NetError('layer %s: both include and exclude' % message.get('name'))
    if message.has('include'):
        return any(meets(rule, *state) for rule in message.all('include'))
    return not any(meets(rule, *state) for rule in message.all('exclude'))


class Node:
    """A layer in its net. `bottoms` and `tops` are names of blobs; `from` and `to` are the numbers of their
    versions."""

    def __init__(self, message):
        self.message = message
        self.bottoms, self.tops = list(message.all('bottom')), list(message.all('top'))
        self.weights = message.floats('loss_weight')
        self.hidden = False  # a Split that is not in the text


def split(messages):
    """Adds a Split after the producer of each blob that several consumers read: the diffs are added there. A
    loss weight in the text counts as a consumer; the own weight of a loss layer does not."""
    nodes = [Node(message) for message in messages]
    last, users = {}, {}
    for i, node in enumerate(nodes):
        for j, name in enumerate(node.bottoms):
            if name not in last:
                raise NetError(
                    'layer %s: no layer produces bottom %s' % (node.message.get('name'), name)
                )
            users.setdefault(last[name], []).append((node, j))
        for j, name in enumerate(node.tops):
            last[name] = (i, j)
        for j, weight in list(enumerate(node.weights))[: len(node.tops)]:
            if weight:
                users.setdefault(last[node.tops[j]], []).append((None, weight))
    result = []
    for i, node in enumerate(nodes):
        result.append(node)
        for j, name in enumerate(node.tops):
            readers = users.get((i, j), [])
            if len(readers) > 1:
                result.append(split_of(node, name, j, readers))
    return result


def split_of(node, name, index, readers):
    label = '%s_%s_%d_split' % (name, node.message.get('name', ''), index)
    weights = [weight for reader, weight in readers if reader is None]
    readers = [(None, w) for w in weights] + [r for r in readers if r[0] is not None]
    tops = ['%s_%d' % (label, k) for k in range(len(readers))]
    for (reader, at), top in zip(readers, tops):
        if reader is not None:
            reader.bottoms[at] = top
    new = Node(Message(name=[label], type=['Split'], top=tops))
    new.bottoms, new.hidden = [name], True
    if weights:
        node.weights = []
        new.weights = weights + [0.0] * (len(tops) - 1)
    return new


# ---- the net -----------------------------------------------------------------------------------


class Net:
    def __init__(self, text, phase='TEST', level=0, stages=(), shapes=None, tiles=False):
        """The net of a prototxt in a phase (None: that of the text's state). `shapes`: the shapes of inputs
        for which the text has none; without them the layers have no parameters until set_input has set every
        input. `tiles`: convolutions that fit may use Winograd's algorithm, whose bound is wider."""
        message = parse(text)
        state = message.sub('state')
        self.phase = phase or state.enum('phase', 'TEST', 'TRAIN', 'TEST')
        level, stages = level or state.int('level', 0), set(stages) | set(state.all('stage'))
        kept = [m for m in upgraded(message) if included(m, (self.phase, level, stages))]
        self.forced = message.bool('force_backward')
        self.nodes, self.tiles = split(kept), tiles
        self.connect()
        self.values, self.diffs, self.given = {}, {}, {}
        self.learnable, self.ready, self.loss_bound = [], False, 0.0
        self.declare(shapes or {})
        self.prepare()

    def connect(self):
        """Makes the layers and numbers the versions of each blob."""
        self.names, self.version, self.outputs = [], {}, []
        known, self.storage, self.one_diff = self.version, {}, {}
        for node in self.nodes:
            kind = node.message.get('type')
            if kind not in TYPES:
                raise Unsupported(
                    'layer %s: the oracle has no type %s' % (node.message.get('name'), kind)
                )
            layer = node.layer = TYPES[kind](
                node.message, node.message.enum('phase', self.phase, 'TRAIN', 'TEST')
            )
            layer.tiles = self.tiles
            for what, limit, names in (
                ('bottoms', layer.bottoms, node.bottoms),
                ('tops', layer.tops, node.tops),
            ):
                least, most = limit if isinstance(limit, tuple) else (limit, limit)
                layer.check(
                    len(names) >= least and (most is None or len(names) <= most),
                    '%d %s',
                    len(names),
                    what,
                )
            node.reads = [(name, known[name]) for name in node.bottoms]
            node.writes = []
            for i, name in enumerate(node.tops):
                if i < len(node.bottoms) and node.bottoms[i] == name:
                    if not (layer.in_place and i == 0):
                        raise Unsupported('layer %s (%s): in place' % (layer.name, kind))
                    known[name] += 1
                elif name in known:
                    raise NetError(
                        'layer %s: top %s is produced by another layer' % (layer.name, name)
                    )
                else:
                    known[name] = 0
                    if not node.hidden:
                        self.names.append(name)
                node.writes.append((name, known[name]))
            node.in_place = bool(
                node.writes and node.reads and node.writes[0][0] == node.reads[0][0]
            )
            self.share_storage(node)
            if node.in_place and any(
                self.storage[name] is self.storage[node.tops[0]] for name in node.bottoms[2:]
            ):
                raise Unsupported('layer %s (%s): in place on a later bottom' % (layer.name, kind))
            self.loss_weights(node)
        read = {key for node in self.nodes for key in node.reads}
        self.outputs = sorted(
            key[0]
            for node in self.nodes
            for key in node.writes
            if key not in read and key[1] == known[key[0]]
        )
        self.layers = [node.layer for node in self.nodes if not node.hidden]

    def share_storage(self, node):
        """storage: name -> the names whose data share one memory: a layer in place on one of them writes all.
        one_diff: name -> the versions, in order, whose diffs share one memory."""
        alike = {'Split', 'Reshape', 'Flatten'} | (
            {'Concat', 'Slice'} if len(node.bottoms) == len(node.tops) == 1 else set()
        )
        node.moves = node.layer.type not in alike and not node.layer.same_memory()
        for name in node.tops:
            if node.moves:
                self.storage.setdefault(name, [name])
            elif node.bottoms[0] != name:
                self.storage[name] = self.storage[node.bottoms[0]]
                self.storage[name].append(name)
        for name, version in node.writes:
            if not node.moves and node.layer.type != 'Split' and node.bottoms[0] != name:
                self.one_diff[name] = self.one_diff[node.bottoms[0]]
            self.one_diff.setdefault(name, []).append((name, version))

    def loss_weights(self, node):
        layer = node.layer
        if layer.loss and not node.tops:
            name = '(automatic) %d' % self.nodes.index(node)
            self.version[name] = 0
            node.writes.append((name, 0))
        if layer.loss and not node.message.has('loss_weight'):
            # a loss layer's first top has weight 1
            node.weights = [1.0] + [0.0] * (len(node.writes) - 1)
        layer.check(
            not node.weights or len(node.weights) == len(node.writes),
            '%d loss weights',
            len(node.weights),
        )

    # ---- inputs and set-up ---------------------------------------------------------------------

    def declare(self, shapes):
        """The tops of sources: inputs, zero at first, or constants."""
        self.inputs = []
        for node in self.nodes:
            if not isinstance(node.layer, layers_shape.Source):
                continue
            for i, (name, shape) in enumerate(zip(node.tops, node.layer.declared())):
                shape = shapes.get(name, shape)
                if isinstance(node.layer, layers_shape.DummyData):
                    constant = node.layer.constant(i, shape)
                    if constant is not None:
                        self.given[name] = real(constant)
                        continue
                self.inputs.append(name)
                if shape is not None:
                    self.given[name] = zeros(shape)

    def set_input(self, name, array):
        """Sets an input's values, and its shape. The values are exact, or rounded to float32 if a float32
        implementation reads them."""
        if name not in self.inputs:
            raise NetError('%s is not an input' % name)
        self.given[name] = real(np.array(array, np.float64))
        self.prepare()

    def prepare(self):
        """Called when all inputs have shapes: a pass that determines the other shapes and makes the
        parameters."""
        if self.ready or any(name not in self.given for name in self.inputs):
            return
        self.begin()
        with np.errstate(all='ignore'):
            for node in self.nodes:
                node.layer.dry = True
                self.run(node, first=True)
                node.layer.dry = False
        self.share()
        self.find_needs()
        self.ready = True

    def share(self):
        """Parameters with one name are one array; the first is the owner. learnable: the owners, in order."""
        owners = {}
        for node in self.nodes:
            for param in node.layer.blobs:
                owner = owners.setdefault(param.name, param) if param.name else param
                if owner is param:
                    self.learnable.append(param)
                    continue
                same = owner.data.size == param.data.size
                if param.share_mode == 'STRICT':
                    same = owner.data.shape == param.data.shape
                node.layer.check(same, 'parameter %s has another shape', param.name)
                param.owner, param.data = owner, owner.data.reshape(param.data.shape)
                for has, field in (('has_lr', 'lr_mult'), ('has_decay', 'decay_mult')):
                    if getattr(param, has):
                        equal = getattr(owner, field) == getattr(param, field)
                        node.layer.check(
                            equal or not getattr(owner, has), '%s has another %s', param.name, field
                        )
                        setattr(owner, has, True)
                        setattr(owner, field, getattr(param, field))

    def set_param(self, layer_name, index, array):
        for layer in self.layers:
            if layer.name == layer_name:
                layer.params[index][...] = np.reshape(array, layer.params[index].shape)
                return
        raise NetError('there is no layer %s' % layer_name)

    def clear_param_diffs(self):
        for param in self.learnable:
            param.diff = None

    # ---- gradients that are needed -----------------------------------------------------------------

    def find_needs(self):
        """Caffe's rules, blob by blob: a diff is needed if a parameter below it is learned (lr_mult is not
        0), or if propagate_down requires it; it is not needed without a loss above, or if all consumers of
        the tops decline."""
        needed = {}
        for node in self.nodes:
            wanted = node.message.all('propagate_down')
            node.layer.check(
                not wanted or len(wanted) == len(node.bottoms),
                '%d values of propagate_down',
                len(wanted),
            )
            node.needs = [needed[name] for name in node.bottoms]
            node.need = any(node.needs) or any(param.needed for param in node.layer.blobs)
            if wanted:
                node.needs = [value in (True, 1, 'true') for value in wanted]
            for name, _ in node.writes:
                needed[name] = needed.get(name, False) or node.need
        under_loss, skipped = set(), set()
        for node in reversed(self.nodes):
            self.prune(node, under_loss, skipped)
        if self.forced:
            for node in self.nodes:
                node.need = True
                node.needs = [
                    need or i not in node.layer.closed for i, need in enumerate(node.needs)
                ]
                for param in node.layer.blobs:
                    param.needed = True

    def prune(self, node, under_loss, skipped):
        names = [name for name, _ in node.writes]
        weights = node.weights or [0.0] * len(names)
        contributes, skips = False, True
        for name, weight in zip(names, weights):
            contributes = contributes or bool(weight) or name in under_loss
            skips = skips and name in skipped
            if contributes and not skips:
                break
        if node.need and skips:
            node.need, node.needs = False, [False] * len(node.needs)
        if not contributes:
            node.need, node.needs = False, [False] * len(node.needs)
        for name, need in zip(node.bottoms, node.needs):
            if contributes:
                under_loss.add(name)
            if not need:
                skipped.add(name)

    # ---- the two passes ------------------------------------------------------------------------

    def begin(self):
        """Called before the first layer: `at` is the current version of each blob, `done` the layers that
        have run. overwritten: a blob was read, and then changed in place through another blob of the same
        memory; a part of Caffe's diffs then depends on the new contents, and the oracle's on the old ones."""
        self.at, self.done, self.overwritten = {}, [], False

    def run(self, node, first=False):
        layer = node.layer
        if isinstance(layer, layers_shape.Source):
            tops = [self.given[name] for name in node.tops]
        else:
            bottoms = [self.values[key] for key in node.reads]
            if first:
                layer.setup(bottoms)
            tops = [rounded(top) for top in layer.forward(bottoms)]
            node.seen = bottoms, tops
        self.values.update(zip(node.writes, tops))
        self.at.update(node.writes)
        if node.in_place:
            self.overwrite(node, tops[0])
        self.done.append(node)
        return tops

    def overwrite(self, node, top):
        """Another blob of the same memory has the new contents too. A layer that read the old ones may need
        them in its backward pass, in which Caffe has the new ones."""
        name = node.writes[0][0]
        names = self.storage[name]
        for other in names:
            if other != name and other in self.at:
                key = other, self.at[other]
                self.values[key] = top.reshape(self.values[key].shape)
        self.overwritten |= any(
            earlier.moves and any(b in names for b in earlier.bottoms[earlier.in_place :])
            for earlier in self.done + [node]
        )

    def forward(self):
        """The loss: the sum of all tops with a weight, times that weight."""
        missing = [name for name in self.inputs if name not in self.given]
        if missing:
            raise NetError('no value was given for input %s' % ', '.join(missing))
        total = real(0.0)
        self.begin()
        with np.errstate(all='ignore'):
            for node in self.nodes:
                for top, weight in zip(self.run(node), node.weights):
                    if weight:
                        total = total + top.sum() * weight
        self.loss_bound = float(total.e)
        return float(total.v)

    def backward(self):
        """Diffs of blobs are those of this pass; diffs of parameters accumulate until clear_param_diffs."""
        self.diffs = {}
        with np.errstate(all='ignore'):
            for node in reversed(self.nodes):
                for key, weight in zip(node.writes, node.weights):
                    # the diff of a consumer replaces a loss layer's own weight; a weight in the text has a
                    # Split
                    if weight and key not in self.diffs:
                        self.diffs[key] = real(np.full(self.values[key].shape, weight))
                if self.has_one_diff(node):
                    if node.writes[0] in self.diffs:
                        below = self.values[node.reads[0]].shape
                        self.diffs[node.reads[0]] = self.diffs[node.writes[0]].reshape(below)
                elif node.need and not isinstance(node.layer, layers_shape.Source):
                    self.run_back(node)
                if node.in_place:
                    self.leave_diff(node)

    @staticmethod
    def has_one_diff(node):
        """Whether the top's diff is the bottom's memory: propagate_down then has no effect on it."""
        return not (node.moves or node.in_place or node.layer.type == 'Split')

    def leave_diff(self, node):
        """In place, bottom and top have one diff: if propagate_down prevents the layer from computing the
        bottom's diff, the top's diff stays there, and the layers below read it. A type without a backward
        pass leaves no diff."""
        below, above = node.reads[0], node.writes[0]
        wanted = node.need and node.needs[0]
        if not wanted and above in self.diffs:
            self.diffs[below] = self.diffs[above]

    def run_back(self, node):
        bottoms, tops = list(node.seen[0]), node.seen[1]
        diffs = [
            self.diffs[key] if key in self.diffs else zeros(self.values[key].shape)
            for key in node.writes
        ]
        if node.in_place and not node.layer.keeps:
            bottoms[0] = tops[0]
        for key, need, diff in zip(
            node.reads, node.needs, node.layer.backward(tops, diffs, bottoms, node.needs)
        ):
            if need and diff is not None:
                self.diffs[key] = rounded(diff)

    # ---- results -------------------------------------------------------------------------------

    def last(self, name):
        return self.values[name, self.version[name]]

    def first_diff(self, name):
        """The contents of Caffe's buffer: the diff of the earliest version that has one, in place or of the
        same memory."""
        last = self.last(name)
        for key in self.one_diff[name]:
            if key in self.diffs:
                return self.diffs[key].reshape(last.shape)
        return None

    def collect(self, what, part):
        found = {name: what(name) for name in self.names}
        return {name: getattr(x, part) for name, x in found.items() if x is not None}

    @property
    def blobs(self):
        """name -> values; the last ones of a blob that layers change in place."""
        return self.collect(self.last, 'v')

    @property
    def bounds(self):
        return self.collect(self.last, 'e')

    @property
    def blob_diffs(self):
        """name -> diff, as in Caffe's buffer after a backward pass: the diff of an in-place blob's first
        version."""
        return self.collect(self.first_diff, 'v')

    @property
    def diff_bounds(self):
        return self.collect(self.first_diff, 'e')

    @property
    def top_diffs(self):
        """name -> diff of the last version."""
        return self.collect(lambda name: self.diffs.get((name, self.version[name])), 'v')

    def of_params(self, part):
        result = {}
        for layer in self.layers:
            found = [param.gradient() for param in layer.blobs]
            result[layer.name] = [None if g is None else getattr(g, part) for g in found]
        return result

    @property
    def param_diffs(self):
        """layer name -> the accumulated diffs of its parameters, None without one. Layers that share a
        parameter have one sum."""
        return self.of_params('v')

    @property
    def param_diff_bounds(self):
        return self.of_params('e')

    @property
    def fragile_values(self):
        """Blobs whose values depend on a decision that the bounds do not determine."""
        return {name for name in self.names if self.last(name).doubt}

    @property
    def fragile_diffs(self):
        return {name for name in self.names if getattr(self.first_diff(name), 'doubt', False)}

    @property
    def fragile_param_diffs(self):
        """(layer name, index) of such parameters."""
        return {
            (layer.name, i)
            for layer in self.layers
            for i, param in enumerate(layer.blobs)
            if getattr(param.owner.diff, 'doubt', False)
        }

    @property
    def fragile(self):
        """Blobs whose values or diffs depend on a decision that the bounds do not determine. Their bounds
        include both outcomes, and are infinite if an index is undetermined."""
        return self.fragile_values | self.fragile_diffs
