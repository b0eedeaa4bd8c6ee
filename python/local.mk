# SPDX-License-Identifier: BSD-2-Clause
# The package for Python, which pip installs; make only carries it along. check-python.sh runs its tests.

EXTRA_DIST += \
	%D%/README.md \
	%D%/pyproject.toml \
	%D%/ferry/__init__.py \
	%D%/ferry/_abi.py \
	%D%/ferry/_blob.py \
	%D%/ferry/_dlpack.py \
	%D%/ferry/_dtypes.py \
	%D%/ferry/_errors.py \
	%D%/ferry/_files.py \
	%D%/ferry/_library.py \
	%D%/ferry/_net.py \
	%D%/ferry/_runtime.py \
	%D%/ferry/_version.py \
	%D%/tests/conftest.py \
	%D%/tests/test_abi.py \
	%D%/tests/test_blob.py \
	%D%/tests/test_dlpack.py \
	%D%/tests/test_files.py \
	%D%/tests/test_net.py \
	%D%/tests/test_runtime.py
