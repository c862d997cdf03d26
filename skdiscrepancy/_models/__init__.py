"""Gradients of log-densities, samples from models, and regressions."""

# SPDX-License-Identifier: BSD-3-Clause
