# SPDX-License-Identifier: BSD-2-Clause
# What is read beside the code; installed so that a plugin author has it without the repository.

dist_doc_DATA += README.md NEWS SECURITY.md %D%/writing-a-plugin.md %D%/coherence.md \
	%D%/abi.md %D%/design/api.md %D%/dnn.md %D%/python.md %D%/scaling.md %D%/access.svg

EXTRA_DIST += \
	%D%/glossary.md \
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
	%D%/decisions/0001-a-note-in-the-plugins-file.md \
	%D%/decisions/0002-the-headers-are-split-by-who-needs-them.md \
	%D%/decisions/0003-reductions-write-f32-or-f64.md \
	%D%/decisions/0004-host-services-take-no-context.md \
	%D%/decisions/0005-options-are-a-table-of-strings.md \
	%D%/decisions/0006-sim-is-never-chosen-by-default.md \
	%D%/decisions/0007-pending-work-is-noted-per-copy.md \
	%D%/decisions/0008-slots-are-31-with-the-host.md \
	%D%/decisions/0009-failed-operations-give-the-copies-back.md \
	%D%/decisions/0010-null-blobs-in-counting-functions.md \
	%D%/decisions/0011-the-abi-on-paper-for-cuda-and-opencl.md \
	%D%/decisions/0012-files-are-read-where-they-lie.md \
	%D%/decisions/0013-which-file-stands-for-a-name.md \
	%D%/decisions/0014-what-a-minor-and-a-major-may-change.md \
	%D%/decisions/0015-what-the-cuda-plugin-links-and-touches.md \
	%D%/decisions/0016-arithmetic-on-cuda-without-kernels.md \
	%D%/decisions/0017-what-dlopen-believes-is-read-first.md \
	%D%/decisions/0018-what-the-opencl-plugin-computes-and-keeps.md \
	%D%/decisions/0020-rooms-and-the-order-of-includes.md \
	%D%/decisions/0022-whose-work-failed.md \
	%D%/decisions/0025-a-blob-has-one-home.md \
	%D%/decisions/0026-what-a-shrunken-blob-loses.md \
	%D%/decisions/0028-openblas-is-opened-at-the-first-matrix.md \
	%D%/decisions/0033-who-says-how-large-a-structure-is.md \
	%D%/decisions/0034-names-have-the-version-that-brought-them.md \
	%D%/decisions/0035-dlpacks-structures-are-ours.md \
	%D%/decisions/0036-a-dtype-is-younger-than-a-plugin.md \
	%D%/decisions/0040-texts-are-read-by-tables.md \
	%D%/decisions/0041-definitions-without-weights.md \
	%D%/decisions/0042-how-the-cpu-plugin-multiplies.md \
	%D%/decisions/0045-layers-of-forks-and-steps-on-the-host.md \
	%D%/decisions/0046-whose-memory-an-address-is.md \
	%D%/decisions/0047-who-computes-an-operation.md \
	%D%/decisions/0048-layers-say-what-they-compute.md \
	%D%/decisions/0049-how-the-turn-passes.md \
	%D%/decisions/0050-kernels-from-one-text.md \
	%D%/decisions/0051-whose-cache-of-compiled-kernels.md \
	%D%/decisions/0052-what-sim-computes-with.md \
	%D%/decisions/0055-a-net-runs-programs.md \
	%D%/decisions/0060-a-saved-net-keeps-its-text.md \
	%D%/decisions/0061-pictures-are-opencvs.md \
	%D%/decisions/0062-layers-from-shared-objects.md \
	%D%/decisions/0068-layers-that-read-data.md \
	%D%/decisions/0070-backward-passes-are-operations.md \
	%D%/decisions/0071-planes-and-spreading-on-the-cpu.md \
	%D%/decisions/0073-backward-is-caffes.md \
	%D%/decisions/0074-the-backward-pass-of-a-net.md \
	%D%/decisions/0076-an-update-is-one-operation.md \
	%D%/decisions/0077-what-an-exact-resume-keeps.md \
	%D%/decisions/0078-caffes-lines-and-ours.md \
	%D%/decisions/0079-batches-are-read-ahead.md \
	%D%/decisions/0080-gradients-from-the-same-kernels.md \
	%D%/decisions/0082-when-a-net-may-use-winograd.md \
	%D%/decisions/0085-what-is-loaded-is-what-was-looked-at.md \
	%D%/decisions/0086-options-have-types-before-they-are-seen.md \
	%D%/decisions/0087-who-looks-after-a-probe.md \
	%D%/decisions/0088-what-the-check-can-see.md \
	%D%/decisions/0090-types-that-ferry-has-not.md \
	%D%/decisions/0091-chunks-are-decoded-here.md \
	%D%/decisions/0092-pickles-are-read-and-not-run.md \
	%D%/decisions/0093-lines-and-pools-of-row-major-planes.md \
	%D%/decisions/0097-a-forward-pass-is-one-program.md \
	%D%/decisions/0104-operations-on-cuda.md \
	%D%/decisions/0099-where-kernels-may-begin.md \
	%D%/decisions/0100-memory-for-the-work-of-one-entry.md \
	%D%/decisions/0101-where-arrays-go.md \
	%D%/decisions/0102-caffes-names-for-cxx.md \
	%D%/decisions/0108-a-view-is-asked-for-and-lent.md \
	%D%/decisions/0109-pythons-declarations-are-held-to-the-dumps.md \
	%D%/decisions/0110-what-a-small-blob-costs.md \
	%D%/decisions/0111-who-stands-in-line-for-a-queue.md \
	%D%/decisions/0116-operations-shorter-than-the-librarys.md \
	%D%/decisions/0117-what-is-folded-forward-and-looked-at-in-parts.md \
	%D%/decisions/0119-what-debug-info-says.md \
	%D%/decisions/0120-statistics-that-a-pass-moves.md \
	%D%/decisions/0122-vectors-on-cuda-by-kernels.md \
	%D%/decisions/0123-convolutions-by-cudnn.md \
	%D%/decisions/0126-a-driver-ends-before-the-program-does.md \
	%D%/decisions/0127-sharing-has-to-be-worth-it.md \
	%D%/decisions/0128-opencls-own-kernels-on-gpus.md \
	%D%/decisions/0129-which-opencl-drivers-are-tried.md \
	%D%/decisions/0130-a-copied-net-keeps-its-bytes.md \
	%D%/decisions/0133-pycaffes-arrays-may-be-written-at-any-time.md \
	%D%/decisions/0134-what-python-raises-comes-back.md \
	%D%/decisions/0135-messages-from-ferrys-tables.md \
	%D%/decisions/0136-what-a-copy-or-a-library-stands-on-is-asked.md \
	%D%/decisions/0140-a-renamed-layer-is-renamed-in-its-net.md \
	%D%/decisions/0137-a-count-is-watched-while-it-changes.md \
	%D%/decisions/0139-an-hdf5-file-is-walked-once.md \
	%D%/decisions/0141-the-ways-back-by-cudnn.md \
	%D%/decisions/0143-who-takes-an-operation-of-mpis-forward.md \
	%D%/decisions/0146-depthwise-lines-are-gone-through-once.md \
	%D%/decisions/0147-a-settled-access-takes-no-lock.md \
	%D%/decisions/0149-what-reading-ahead-hides.md \
	%D%/decisions/0144-ranks-that-train-one-net.md \
	%D%/decisions/0148-slices-where-kernels-may-not-begin.md \
	%D%/decisions/0145-how-overlap-is-measured.md \
	%D%/decisions/0153-depthwise-lines-in-the-kernels.md \
	%D%/decisions/0154-tiles-along-a-row.md \
	%D%/decisions/0155-halves-in-f32.md \
	%D%/decisions/0156-two-lines-at-once-and-host-blocks-apart.md \
	%D%/decisions/0157-sums-stay-in-their-registers.md \
	%D%/decisions/0158-drivers-that-are-programs.md \
	%D%/decisions/0159-who-reads-ahead-stands-back.md \
	%D%/decisions/0160-cuda-by-the-letter.md \
	%D%/decisions/0161-captures-of-the-program.md \
	%D%/decisions/0162-arguments-as-mesa-reads-them.md \
	%D%/decisions/0163-a-library-that-is-there-and-does-not-work.md \
	%D%/decisions/0164-what-says-nothing-is-settled.md \
	%D%/decisions/0165-two-cache-lines-of-channels.md \
	%D%/decisions/0113-short-sums-and-whole-lines.md \
	%D%/decisions/0150-tiles-that-go-on-by-themselves.md \
	%D%/decisions/0151-blocks-begin-at-different-places-of-their-pages.md \
	%D%/decisions/0152-what-sees-padding-alone-is-passed-over.md \
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
