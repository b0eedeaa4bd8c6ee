# SPDX-License-Identifier: BSD-2-Clause
# The oracle of nets, in Python: make only carries it along. check-oracle.sh runs its tests.

EXTRA_DIST += \
	%D%/README.md \
	%D%/__init__.py \
	%D%/caffe_cases.py \
	%D%/detection.py \
	%D%/fill.py \
	%D%/graph.py \
	%D%/layer.py \
	%D%/layers_dense.py \
	%D%/layers_neuron.py \
	%D%/layers_norm.py \
	%D%/layers_shape.py \
	%D%/layers_ferry.py \
	%D%/layers_window.py \
	%D%/loss.py \
	%D%/real.py \
	%D%/recurrent.py \
	%D%/solver.py \
	%D%/test_gradients.py \
	%D%/test_graph.py \
	%D%/test_memory.py \
	%D%/test_oracle.py \
	%D%/test_solver.py \
	%D%/text.py \
	%D%/wire.py
