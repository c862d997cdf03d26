"""The estimators and their one-call functions."""

# SPDX-License-Identifier: BSD-3-Clause
