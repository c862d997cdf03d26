"""Statistics of two samples, of dependence and of models, with their noise."""

# SPDX-License-Identifier: BSD-3-Clause
