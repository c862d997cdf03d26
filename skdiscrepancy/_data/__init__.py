"""What users pass: arrays, tables, blocks, targets, weights and parameters."""

# SPDX-License-Identifier: BSD-3-Clause
