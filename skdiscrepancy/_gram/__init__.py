"""Sums of kernels over pairs of rows, without a matrix of all pairs.

A *source* computes the values of several kernels, or of a core, on a tile. A *reducer*
turns each tile into small sums. The walk cuts a design into tiles, runs stripes of
tiles in threads, and adds up the sums in an order that depends only on the design.
Kernels on a single column are summed in sorted order if this is faster, and explicit
features are summed without pairs.
"""

# SPDX-License-Identifier: BSD-3-Clause
