# SPDX-License-Identifier: BSD-2-Clause
# What is read beside the code; installed so that a plugin author has it without the repository.

dist_doc_DATA += README.md NEWS SECURITY.md %D%/writing-a-plugin.md %D%/coherence.md \
	%D%/abi.md %D%/design/api.md %D%/dnn.md %D%/onnx.md %D%/python.md %D%/renamed.md %D%/scaling.md %D%/access.svg \
	%D%/backends.md %D%/beside-onnx.svg %D%/beside-others.svg %D%/caffe.md %D%/commands.md %D%/kinds.md \
	%D%/command-examples.md %D%/formats.md %D%/quick-start.md %D%/training.md %D%/whole-nets.md

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
	%D%/measurements/2026-11-24-device-time.md \
	%D%/measurements/2026-11-24-device-time.png \
	%D%/measurements/2026-11-24-executed-ptx.md \
	%D%/measurements/2026-11-24-mutants.md \
	%D%/measurements/2026-11-24-scripts-for-cv2-dnn.md \
	%D%/measurements/2026-11-24-triton.md \
	%D%/measurements/2026-11-28-before-and-after.md \
	%D%/measurements/2026-11-28-onnx-models.md \
	%D%/measurements/2026-11-28-caffes-tests.md \
	%D%/measurements/2026-11-28-launches-per-pass.md \
	%D%/measurements/2026-11-28-mends-taken-back.md \
	%D%/measurements/2026-11-28-openvino.md \
	%D%/measurements/2026-11-28-plugin-interface-1.2.md \
	%D%/measurements/2026-11-28-release.md \
	%D%/measurements/2026-11-28-scripts-and-programs.md \
	%D%/measurements/2026-11-29-architectures.md \
	%D%/measurements/2026-11-29-bf16.md \
	%D%/measurements/2026-11-29-executed-ptx.md \
	%D%/measurements/2026-11-29-first-use.md \
	%D%/measurements/2026-11-29-hip.md \
	%D%/measurements/2026-11-29-integers.md \
	%D%/measurements/2026-11-29-onnx-models.md \
	%D%/measurements/2026-11-29-random-nets.md \
	%D%/measurements/2026-11-29-release.md \
	%D%/measurements/2026-11-29-threads-and-memory.md \
	%D%/measurements/2026-11-29-training.md \
	%D%/measurements/2026-11-30-amx.md \
	%D%/measurements/2026-11-30-architectures.md \
	%D%/measurements/2026-11-30-bf16.md \
	%D%/measurements/2026-11-30-first-pass.md \
	%D%/measurements/2026-11-30-bf16-values.md \
	%D%/measurements/2026-11-30-half.md \
	%D%/measurements/2026-11-30-instruction-sets.md \
	%D%/measurements/2026-11-30-integers-accuracy.md \
	%D%/measurements/2026-11-30-integers-channels.md \
	%D%/measurements/2026-11-30-integers-peers.md \
	%D%/measurements/2026-11-30-integers-rounding.md \
	%D%/measurements/2026-11-30-integers-speed.md \
	%D%/measurements/2026-11-30-integers-tiles.md \
	%D%/measurements/2026-11-30-nets-beside-others.md \
	%D%/measurements/2026-11-30-one-image.md \
	%D%/measurements/2026-11-30-parts.md \
	%D%/measurements/2026-11-30-products.md \
	%D%/measurements/2026-11-30-release.md \
	%D%/measurements/2026-11-30-rows.md \
	%D%/measurements/2026-11-30-strassen.md \
	%D%/measurements/2026-11-30-suites.md \
	%D%/measurements/2026-11-30-threads.md \
	%D%/measurements/2026-11-30-training-bf16.md \
	%D%/measurements/2026-11-30-training.md \
	%D%/measurements/2026-12-01-first-pass-integers.md \
	%D%/measurements/2026-11-28-integers.md \
	%D%/measurements/2026-11-28-whole-nets.md \
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
	rm -rf %D%/api %D%/site/html %D%/site/pages %D%/site/xml

EXTRA_DIST += %D%/comments.awk %D%/mainpage.md

# All pages, with examples that are run, in doc/site/html (doc/site/README.md). Needs Doxygen, groff, and Sphinx with Breathe
# and MyST of $PYTHON (python3); nothing is downloaded; a warning is an error.
SITE_FOLDER = $(abs_builddir)/%D%/site
PYTHON_OF_SITE = $${PYTHON:-python3}
site: all %D%/Doxyfile
	@$(PYTHON_OF_SITE) -c 'import breathe, myst_parser, sphinx' || { \
	    echo "site: $(PYTHON_OF_SITE) lacks Sphinx, Breathe or MyST (Debian: python3-breathe python3-myst-parser)" >&2; exit 1; }
	@rm -rf '$(SITE_FOLDER)/html' '$(SITE_FOLDER)/pages' '$(SITE_FOLDER)/xml' && $(MKDIR_P) '$(SITE_FOLDER)'
	$(AM_V_GEN){ cat %D%/Doxyfile '$(srcdir)/%D%/site/Doxyfile'; echo 'INPUT = $(abs_top_srcdir)/include/ferry'; \
	    echo 'OUTPUT_DIRECTORY = $(SITE_FOLDER)'; } | $(DOXYGEN) - && \
	    $(PYTHON_OF_SITE) '$(srcdir)/%D%/site/declared.py' '$(SITE_FOLDER)/xml'
	$(AM_V_at)$(RUN_ENV); $(PYTHON_OF_SITE) '$(srcdir)/%D%/site/stage.py' '$(abs_top_srcdir)' '$(abs_builddir)' '$(SITE_FOLDER)/pages'
	$(AM_V_at)$(RUN_ENV); FERRY_SITE_VERSION='$(PACKAGE_VERSION)' FERRY_SITE_XML='$(SITE_FOLDER)/xml' \
	    FERRY_LIBRARY_PATH='$(abs_builddir)/.libs' PYTHONPATH='$(abs_top_srcdir)/python' PYTHONDONTWRITEBYTECODE=1 \
	    $(PYTHON_OF_SITE) -m sphinx -q -W --keep-going -b html '$(SITE_FOLDER)/pages' '$(SITE_FOLDER)/html'
	$(AM_V_at)$(PYTHON_OF_SITE) '$(srcdir)/%D%/site/links.py' '$(SITE_FOLDER)/html'
EXTRA_DIST += \
	%D%/site/Doxyfile \
	%D%/site/README.md \
	%D%/site/charts.py \
	%D%/site/conf.py \
	%D%/site/index.md \
	%D%/site/links.py \
	%D%/site/stage.py \
	%D%/site/declared.py
.PHONY: doc clean-doc site
