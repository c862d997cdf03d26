# SPDX-License-Identifier: BSD-3-Clause
"""
Three questions in a minute
===========================

Do two samples differ? Does y depend on X? Does a model fit? One call each, on data that
come with scikit-learn, with nothing to tune.
"""

# %%
# Drift: the measurements of one cultivar of wine, halved at random, do not differ;
# those of another cultivar do. Standardised, every column counts alike.
import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdiscrepancy import HSICEstimator, KSDEstimator, MMDEstimator

wine, cultivar = load_wine(return_X_y=True)
reference, new = train_test_split(wine[cultivar == 1], test_size=0.5, random_state=0)
drift = make_pipeline(StandardScaler(), MMDEstimator()).fit(reference)
print("Do two samples differ? (MMD)")
print(f"    same cultivar      {drift.score(new):6.2f}")
print(f"    another cultivar   {drift.score(wine[cultivar == 0]):6.2f}")

# %%
# Dependence: which measurement of an iris tells most about its species?
iris = load_iris()
print("Does the species depend on it? (HSIC)")
for name, column in zip(iris.feature_names, iris.data.T, strict=True):
    X = column.reshape(-1, 1)
    score = HSICEstimator().fit(X, iris.target).score(X, iris.target)
    print(f"    {name:18s} {score:6.2f}")

# %%
# Fit: is a Gaussian a model for the texture of tumours, or of its logarithm? Half of
# the rows give the model, the other half the score.
tumours = load_breast_cancer()
texture = tumours.data[:, tumours.feature_names == "mean texture"]
print("Does a Gaussian fit the texture of tumours? (KSD)")
for name, rows in (("as measured", texture), ("its logarithm", np.log(texture))):
    train, test = train_test_split(rows, test_size=0.5, random_state=0)
    fit = make_pipeline(StandardScaler(), KSDEstimator()).fit(train)
    print(f"    {name:18s} {fit.score(test):6.2f}")

# %%
# Halves of one cultivar score about zero, another cultivar far above; the petals tell
# the species best; the logarithm brings most of the fit. A score is not a p-value: it
# says how strong a discrepancy is, not how surprising for so many rows.
