# SPDX-License-Identifier: BSD-2-Clause
# What is read beside the code; installed so that a plugin author has it without the repository.

dist_doc_DATA += README.md NEWS SECURITY.md %D%/writing-a-plugin.md %D%/coherence.md \
	%D%/abi.md %D%/design/api.md %D%/dnn.md %D%/onnx.md %D%/python.md %D%/scaling.md %D%/access.svg \
	%D%/backends.md %D%/beside-others.svg %D%/caffe.md %D%/commands.md %D%/kinds.md

EXTRA_DIST += \
	%D%/chart.py \
	%D%/glossary.md \
	%D%/kinds.py \
	%D%/design/README.md \
	%D%/design/coherence.md \
	%D%/design/loading.md \
	%D%/design/operations.md \
	%D%/design/cpu-kernels.md \
	%D%/design/nets.md \
	%D%/design/cuda.md \
	%D%/design/opencl.md \
	%D%/design/files.md \
	%D%/design/training.md \
	%D%/design/python.md \
	%D%/measurements/2026-11-21-cpu-and-opencl.md \
	%D%/measurements/2026-11-22-core.md \
	%D%/measurements/2026-11-22-mpi.md \
	%D%/measurements/2026-11-22-small-things.md \
	%D%/measurements/2026-11-22-strangers-files.md \
	%D%/measurements/2026-11-22-kernels.md \
	%D%/measurements/2026-11-22-convolutions.md \
	%D%/measurements/2026-11-22-convolutions-again.md \
	%D%/measurements/2026-11-22-two-threads.md \
	%D%/measurements/2026-11-23-convolutions-full-width.md \
	%D%/measurements/2026-11-24-executed-ptx.md \
	%D%/measurements/2026-11-24-mutants.md \
	%D%/measurements/2026-11-24-scripts-for-cv2-dnn.md \
	%D%/measurements/2026-11-24-triton.md \
	%D%/measurements/2026-11-22-models.md \
	%D%/measurements/2026-11-22-nets-beside-others.md \
	%D%/measurements/2026-11-22-nets.md \
	%D%/measurements/2026-11-22-training-iteration.md \
	%D%/measurements/2026-11-22-training-lenet.md \
	%D%/measurements/2026-11-22-training-lenet.svg \
	%D%/measurements/2026-11-22-lenet-mnist.md

# Pages from the headers' comments, in doc/api. Needs Doxygen; a warning is an error.
DOXYGEN = doxygen
DOC_FOLDER = %D%/api
doc: %D%/Doxyfile
	$(AM_V_GEN)$(MKDIR_P) '$(DOC_FOLDER)' && \
	    { cat %D%/Doxyfile; echo 'OUTPUT_DIRECTORY = $(DOC_FOLDER)'; } | $(DOXYGEN) -
clean-local: clean-doc
clean-doc:
	rm -rf %D%/api

EXTRA_DIST += %D%/comments.awk %D%/mainpage.md
.PHONY: doc clean-doc
