"""Estimators of scikit-learn that select inputs and predict with them.

The only mutable state of the package is here, as scikit-learn wants it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from gpproj.linalg import Host, to_host
from gpproj.reference import Reference, fit, sample
from gpproj.reference.adapters import from_sklearn
from gpproj.reference.sampling import check_count
from gpproj.search import forward_search
from gpproj.validation import validate


class _Projection(SelectorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Base of the regressor and the classifier: parameters, selection and support."""

    def __init__(
        self,
        n_features_to_select: Any = "auto",
        *,
        reference: Any = "fit",
        min_features_to_select: int = 1,
        max_features: int | None = None,
        cv: Any = 5,
        learn: str = "loo",
        criterion: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | bool = 0,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.reference = reference
        self.min_features_to_select = min_features_to_select
        self.max_features = max_features
        self.cv = cv
        self.learn = learn
        self.criterion = criterion
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _select(self, X: Any, y: Any, likelihood: str, row_groups: Any) -> None:
        """Make the reference, search, choose a size."""
        d = int(X.shape[1])
        size = _size_of(self.n_features_to_select, d)
        if size is None:
            most = d if self.max_features is None else self.max_features
            most = _limit_of("max_features", most, 1, d)
            least = _limit_of("min_features_to_select", self.min_features_to_select, 0, most)
        else:
            least = most = size
        seed = self.random_state
        if not _is_integer(seed):
            seed = check_random_state(seed).randint(2**31 - 1)
        seed = int(seed)
        inputs = self._named(X)
        self.reference_ = self._reference(inputs, y, likelihood, seed)
        if row_groups is not None:
            self.reference_ = self.reference_.with_row_groups(row_groups)
        how: dict[str, Any] = {
            "n_jobs": 1 if self.n_jobs is None else self.n_jobs,
            "progress": bool(self.verbose),
        }
        learn: Any = self.learn
        criterion: Any = self.criterion
        self.path_ = forward_search(self.reference_, most, learn=learn, criterion=criterion, **how)
        self.validation_ = None
        if size is None:
            self.validation_ = validate(
                self.reference_,
                self.path_,
                folds=self.cv,
                method="kfold",
                random_state=seed,
                **how,
            )
            enough = self.validation_.suggest_size()
            size = max(most if enough is None else enough, least)
        self.submodel_ = self.path_.best(size)
        chosen = [self.reference_.feature_names.index(name) for name in self.submodel_.inputs]
        self.support_: NDArray[np.bool_] = np.zeros(d, dtype=bool)
        self.support_[chosen] = True
        others = [place for place in self.path_.positions if not self.support_[place]]
        self.ranking_ = np.full(d, len(others) + 2)
        self.ranking_[chosen] = 1
        self.ranking_[others] = np.arange(2, len(others) + 2)

    def _reference(self, X: Any, y: Any, likelihood: str, seed: int) -> Reference:
        given = self.reference
        if isinstance(given, str):
            if given == "fit":
                return fit(X, y, likelihood)
            if given == "sample":
                return sample(
                    X, y, likelihood=likelihood, random_state=seed, progress=bool(self.verbose)
                )
        elif isinstance(given, BaseEstimator):
            return from_sklearn(clone(given).fit(X, y))
        elif callable(given):
            made = given(X, y)
            if isinstance(made, Reference):
                return made
            raise TypeError(f"reference must return a gpproj.Reference; got {type(made).__name__}")
        raise ValueError(
            'reference must be "fit", "sample", a Gaussian process of scikit-learn, or a function '
            f"from X and y to a gpproj.Reference; got {given!r}"
        )

    def _named(self, X: Host) -> Any:
        if not hasattr(self, "feature_names_in_"):
            return X
        import pandas as pd

        return pd.DataFrame(X, columns=list(self.feature_names_in_))

    def _new(self, X: Any) -> Any:
        check_is_fitted(self, "submodel_")
        return self._named(validate_data(self, X, dtype=np.float64, reset=False))

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "support_")
        return self.support_


class ProjectionRegressor(RegressorMixin, _Projection):  # type: ignore[misc]  # likewise
    """Select the few inputs that predict as well as all of them, and predict with their GP.

    A Gaussian process on all inputs is projected onto subsets of them, by forward search. With
    `n_features_to_select="auto"` cross-validation with the search repeated in every fold decides
    how many are enough.

    Parameters
    ----------
    n_features_to_select : "auto", int or float
        A number of inputs, or a share of them between 0 and 1.
    reference : {"fit", "sample"}, estimator or callable
        How the model of all inputs is made: by `gpproj.fit`, by `gpproj.sample` (`gpproj[mcmc]`), a
        `GaussianProcessRegressor` that is cloned and fitted, or a function from `X` and `y` to a
        `gpproj.Reference`.
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
        One for selected inputs, then the order of the search; all that were not reached come last.
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

    def fit(self, X: Any, y: Any, row_groups: Any = None) -> ProjectionRegressor:
        """Select inputs.

        Parameters
        ----------
        X : frame or array `(n, d)`
        y : array `(n,)`
        row_groups : array `(n,)`, optional
            Labels of groups of rows that stay together, see `Reference.with_row_groups`.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        self._select(X, y, "gaussian", row_groups)
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


class ProjectionClassifier(ClassifierMixin, _Projection):  # type: ignore[misc]  # likewise
    """Select the few inputs that tell two classes apart as well as all of them.

    The model is a probit one of two classes. Parameters and attributes are those of
    `ProjectionRegressor`, with these differences.

    Parameters
    ----------
    reference : {"fit", "sample"}, estimator or callable
        An estimator is a `GaussianProcessClassifier`.
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

    def fit(self, X: Any, y: Any, row_groups: Any = None) -> ProjectionClassifier:
        """Select inputs; `y` has two classes, by any labels. See `ProjectionRegressor.fit`."""
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
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
        self._select(X, codes.astype(np.float64), "bernoulli", row_groups)
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


def _size_of(selected: Any, d: int) -> int | None:
    """Return the number of inputs to select; None for "auto"."""
    if isinstance(selected, str) and selected == "auto":
        return None
    if _is_integer(selected) and 1 <= selected <= d:
        return int(selected)
    if isinstance(selected, float | np.floating) and 0.0 < selected <= 1.0:
        return max(int(selected * d), 1)
    raise ValueError(
        f'n_features_to_select must be "auto", a number from 1 to {d} or a share between 0 and 1; '
        f"got {selected!r}"
    )


def _limit_of(name: str, value: Any, least: int, most: int) -> int:
    """Return a limit of "auto" as a number of inputs, at most `most`."""
    check_count(name, value, least)
    return min(int(value), most)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
