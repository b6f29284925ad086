"""The regressor and the classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from gpproj.estimators.selecting import Projection
from gpproj.linalg import Host, to_host


class ProjectionRegressor(RegressorMixin, Projection):  # type: ignore[misc]  # scikit-learn is untyped
    """Select the few inputs that predict as well as all of them, and predict with their GP.

    A Gaussian process on all inputs is projected onto subsets of them, by forward search. With
    `n_features_to_select="auto"` cross-validation with the search repeated in every fold decides
    how many are enough.

    Parameters
    ----------
    n_features_to_select : "auto", int or float
        A number of inputs, or a share of them between 0 and 1. Groups count as one, and what is
        always in does not count.
    reference : {"fit", "sample"}, estimator or callable
        How the model of all inputs is made: by `gpproj.fit`, by `gpproj.sample` (`gpproj[mcmc]`), a
        `GaussianProcessRegressor` that is cloned and fitted, or a function from `X` and `y` to a
        `gpproj.Reference`.
    likelihood : str or gpproj.likelihoods object, optional
        "gaussian" when left out; "student-t", "poisson" or "negative-binomial". With kernel, prior
        and missing it is a setting of `gpproj.fit` and `gpproj.sample`, and refused where something
        else makes the reference.
    kernel : gpproj.kernels object, optional
    prior : str, mapping or None
        Prior of the hyperparameters.
    missing : {"error", "drop", "impute", "indicate"}
        What to do about missing cells, in `fit` and in new rows.
    groups : mapping of str to inputs, optional
        Inputs that enter together, see `gpproj.forward_search`. Levels of a column of text do
        without.
    always : inputs
        Names or positions of inputs that are selected in any case.
    costs : mapping of str to float, optional
        Costs of inputs or groups.
    min_features_to_select : int
        Least number of inputs that "auto" selects, even where none is needed.
    max_features : int, optional
        Largest number of inputs that "auto" tries; all inputs when left out.
    cv : int or splitter
        Folds of "auto".
    learn : {"loo", "projection", "marginal_likelihood"}
        How submodels are learned, see `gpproj.project`.
    criterion : {"loo_divergence", "projection_error"}, optional
        What submodels are compared by, see `gpproj.forward_search`.
    n_jobs : int, optional
        Number of workers for search and folds.
    random_state : int, RandomState or None
        Seed or source of the folds and draws.
    verbose : int or bool
        Whether progress is shown.

    Attributes
    ----------
    support_ : array `(d,)` of bool
        Which inputs are selected.
    ranking_ : array `(d,)` of int
        One for selected inputs, then the order of the search, groups together; all that were not
        reached come last.
    reference_ : gpproj.Reference
        The model of all inputs.
    path_ : gpproj.SearchPath
    validation_ : gpproj.Validation or None
        The validation by which "auto" has chosen; None without it.
    submodel_ : gpproj.Submodel
        The Gaussian process of the selected inputs.
    n_features_in_ : int
    feature_names_in_ : array of str
        Names of the columns, if `X` had names.

    Examples
    --------
    >>> import gpproj
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((40, 4))
    >>> y = np.sin(2 * X[:, 1]) + X[:, 3]
    >>> selector = gpproj.ProjectionRegressor(n_features_to_select=2).fit(X, y)
    >>> selector.get_support()
    array([False,  True, False,  True])
    >>> selector.transform(X).shape
    (40, 2)
    """

    _likelihood = "gaussian"

    def fit(self, X: Any, y: Any, row_groups: Any = None) -> ProjectionRegressor:
        """Select inputs.

        Parameters
        ----------
        X : frame or array `(n, d)`
            Frames may have columns of text or categories, see `gpproj.fit`.
        y : array `(n,)`
        row_groups : array `(n,)`, optional
            Labels of groups of rows that stay together, see `Reference.with_row_groups`.
        """
        X, y = self._checked(X, y, y_numeric=True)
        self._select(X, y, row_groups)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict with the submodel.

        Parameters
        ----------
        X : frame or array `(m, d)`
            All inputs that `fit` had.
        return_std : bool
            Return the standard deviation of the target too, noise included.

        Returns
        -------
        array `(m,)`, or two of them
        """
        new = self._new(X)  # first: it says so where nothing is fitted yet
        mean, variance = self.submodel_.predict_response(new)
        return (to_host(mean), np.sqrt(to_host(variance))) if return_std else to_host(mean)


class ProjectionClassifier(ClassifierMixin, Projection):  # type: ignore[misc]  # likewise
    """Select the few inputs that tell two classes apart as well as all of them.

    The model is a probit one of two classes. Parameters and attributes are those of
    `ProjectionRegressor`, with these differences.

    Parameters
    ----------
    reference : {"fit", "sample"}, estimator or callable
        An estimator is a `GaussianProcessClassifier`.
    likelihood : str or gpproj.likelihoods object, optional
        "bernoulli" when left out, which is the probit one; or "logit".
    cv : int or splitter
        The folds of "auto" are stratified by class.

    Attributes
    ----------
    classes_ : array `(2,)`
        The labels.

    Examples
    --------
    >>> import gpproj
    >>> X, y = gpproj.datasets.toy_sines(n=60, random_state=0)
    >>> selector = gpproj.ProjectionClassifier(1).fit(X[:, 6:], y > 0)
    >>> selector.predict_proba(X[:2, 6:]).shape
    (2, 2)
    """

    _likelihood = "bernoulli"

    def fit(self, X: Any, y: Any, row_groups: Any = None) -> ProjectionClassifier:
        """Select inputs; `y` has two classes, by any labels. See `ProjectionRegressor.fit`."""
        X, y = self._checked(X, y)
        check_classification_targets(y)
        if type_of_target(y, input_name="y", raise_unknown=True) != "binary":
            raise ValueError(
                "Only binary classification is supported. "
                f"The type of the target is {type_of_target(y)}."
            )
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must have two classes; saw one class: every label is {self.classes_[0]!r}"
            )
        self._select(X, codes.astype(np.float64), row_groups)
        return self

    def predict_proba(self, X: Any) -> Host:
        """Return the probability of each class, `(m, 2)`."""
        new = self._new(X)
        second = to_host(self.submodel_.predict_response(new).mean)
        return np.column_stack([1.0 - second, second])

    def predict(self, X: Any) -> Any:
        """Return the more probable class of each row, `(m,)`."""
        probabilities = self.predict_proba(X)
        return self.classes_[np.argmax(probabilities, axis=1)]

    def __sklearn_tags__(self) -> Any:
        """Return the tags, which say that there are two classes only."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
