"""scikit-learn's face of the package: estimators that select inputs and predict with them.

The only mutable state of the package is here, as scikit-learn wants it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from gpproj.linalg import Host, to_host
from gpproj.reference import Reference, fit, sample
from gpproj.reference.adapters import from_sklearn
from gpproj.search import forward_search
from gpproj.validation import validate


class _Projection(SelectorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """What regressor and classifier have in common."""

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
        most = _most_of(self.max_features, d) if size is None else size
        least = _least_of(self.min_features_to_select, most) if size is None else size
        seed = _seed_of(self.random_state)
        inputs = self._named(X)
        self.reference_ = self._reference(inputs, y, likelihood, seed)
        if row_groups is not None:
            self.reference_ = self.reference_.with_row_groups(row_groups)
        show, jobs = bool(self.verbose), 1 if self.n_jobs is None else self.n_jobs
        learn: Any = self.learn
        criterion: Any = self.criterion
        self.path_ = forward_search(
            self.reference_, most, learn=learn, criterion=criterion, n_jobs=jobs, progress=show
        )
        self.validation_ = None
        if size is None:
            self.validation_ = validate(
                self.reference_,
                self.path_,
                folds=self.cv,
                method="kfold",
                n_jobs=jobs,
                random_state=seed,
                progress=show,
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
        How the model of all inputs is made: its most plausible hyperparameters, posterior draws of
        them (`gpproj[mcmc]`), a `GaussianProcessRegressor` that is cloned and fitted, or a function
        from `X` and `y` to a `gpproj.Reference`.
    min_features_to_select : int
        Of "auto": at least so many, even where none is needed.
    max_features : int, optional
        Of "auto": how far the search goes; all inputs when left out.
    cv : int or splitter
        Of "auto": the folds.
    learn : {"loo", "projection", "marginal_likelihood"}
        How submodels are learned, as for `gpproj.project`.
    criterion : {"loo_divergence", "projection_error"}, optional
        What they are compared by, as for `gpproj.forward_search`.
    n_jobs : int, optional
        Workers for search and folds.
    random_state : int, RandomState or None
        Of folds and draws.
    verbose : int or bool
        Show progress.

    Attributes
    ----------
    support_ : array `(d,)` of bool
        Inputs that are selected.
    ranking_ : array `(d,)` of int
        One for selected inputs, then the order of the search; all that were not reached come last.
    reference_ : gpproj.Reference
        The model of all inputs.
    path_ : gpproj.SearchPath
    validation_ : gpproj.Validation or None
        Of "auto".
    submodel_ : gpproj.Submodel
        The Gaussian process of the selected inputs.
    n_features_in_ : int
    feature_names_in_ : array of str
        If `X` had names.

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
        new = self._new(X)
        mean, variance = self.submodel_.predict_response(new)
        return (to_host(mean), np.sqrt(to_host(variance))) if return_std else to_host(mean)


class ProjectionClassifier(ClassifierMixin, _Projection):  # type: ignore[misc]  # likewise
    """Select the few inputs that tell two classes apart as well as all of them.

    As `ProjectionRegressor`, with a probit model of two classes.

    Parameters
    ----------
    n_features_to_select : "auto", int or float
        A number of inputs, or a share of them between 0 and 1.
    reference : {"fit", "sample"}, estimator or callable
        As for `ProjectionRegressor`; the estimator is a `GaussianProcessClassifier`.
    min_features_to_select : int
        Of "auto": at least so many, even where none is needed.
    max_features : int, optional
        Of "auto": how far the search goes; all inputs when left out.
    cv : int or splitter
        Of "auto": the folds, stratified by class.
    learn : {"loo", "projection", "marginal_likelihood"}
        How submodels are learned, as for `gpproj.project`.
    criterion : {"loo_divergence", "projection_error"}, optional
        What they are compared by, as for `gpproj.forward_search`.
    n_jobs : int, optional
        Workers for search and folds.
    random_state : int, RandomState or None
        Of folds and draws.
    verbose : int or bool
        Show progress.

    Attributes
    ----------
    classes_ : array `(2,)`
        The labels.
    support_, ranking_, reference_, path_, validation_, submodel_
        As for `ProjectionRegressor`.
    n_features_in_ : int
    feature_names_in_ : array of str
        If `X` had names.

    Examples
    --------
    >>> import gpproj
    >>> X, y = gpproj.datasets.toy_sines(n=60, random_state=0)
    >>> selector = gpproj.ProjectionClassifier(1).fit(X[:, 6:], y > 0)
    >>> selector.predict_proba(X[:2, 6:]).shape
    (2, 2)
    """

    def fit(self, X: Any, y: Any, row_groups: Any = None) -> ProjectionClassifier:
        """Select inputs.

        Parameters
        ----------
        X : frame or array `(n, d)`
        y : array `(n,)`
            Two classes, by any labels.
        row_groups : array `(n,)`, optional
            As for `ProjectionRegressor`.
        """
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
        """Two classes only."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _size_of(asked: Any, d: int) -> int | None:
    """Return the number of inputs asked for; None for "auto"."""
    if isinstance(asked, str) and asked == "auto":
        return None
    if _is_whole(asked) and 1 <= asked <= d:
        return int(asked)
    if isinstance(asked, float | np.floating) and 0.0 < asked <= 1.0:
        return max(int(asked * d), 1)
    raise ValueError(
        f'n_features_to_select must be "auto", a number from 1 to {d} or a share between 0 and 1; '
        f"got {asked!r}"
    )


def _most_of(asked: Any, d: int) -> int:
    if asked is None:
        return d
    if not _is_whole(asked) or asked < 1:
        raise ValueError(f"max_features must be a number of at least 1; got {asked!r}")
    return min(int(asked), d)


def _least_of(asked: Any, most: int) -> int:
    if not _is_whole(asked) or asked < 0:
        raise ValueError(f"min_features_to_select must be a number of at least 0; got {asked!r}")
    return min(int(asked), most)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _seed_of(random_state: Any) -> int:
    from sklearn.utils import check_random_state

    if _is_whole(random_state):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
