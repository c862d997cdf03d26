"""Order of the examples in the gallery."""

# SPDX-License-Identifier: BSD-3-Clause

# From the first look to the fine print. tests/test_docs.py asks for every example.
ORDER = [
    "quickstart.py",
    "plot_drift.py",
    "plot_monitoring.py",
    "plot_image_drift.py",
    "plot_text_drift.py",
    "plot_paired.py",
    "plot_anscombe.py",
    "plot_dependence_matrix.py",
    "plot_residuals.py",
    "plot_causal.py",
    "plot_lags.py",
    "plot_sensitivity.py",
    "plot_feature_selection.py",
    "plot_model_checking.py",
    "plot_generated_data.py",
    "plot_mcmc.py",
    "plot_cka.py",
    "plot_large_samples.py",
    "plot_bandwidth.py",
]


def position(file_name):
    """Return the position of an example, by which the gallery sorts."""
    return ORDER.index(file_name) if file_name in ORDER else len(ORDER)
