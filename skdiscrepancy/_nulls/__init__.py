"""Null distributions of the discrepancies, and p-values."""

# SPDX-License-Identifier: BSD-3-Clause
