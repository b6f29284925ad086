"""What the regressor and the classifier have in common: settings, selection and support."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from gpproj.data.frames import is_frame, is_numeric
from gpproj.reference import Reference, fit, sample
from gpproj.reference.adapters import from_sklearn
from gpproj.reference.sampling import check_count
from gpproj.search import forward_search
from gpproj.search.units import units_of
from gpproj.validation import validate


class Projection(SelectorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Base of the regressor and the classifier: parameters, selection and support."""

    _likelihood: str
    """Of the reference, unless the user names one."""

    def __init__(
        self,
        n_features_to_select: Any = "auto",
        *,
        reference: Any = "fit",
        likelihood: Any = None,
        kernel: Any = None,
        prior: Any = "saas",
        missing: str = "error",
        groups: Any = None,
        always: Any = (),
        costs: Any = None,
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
        self.likelihood = likelihood
        self.kernel = kernel
        self.prior = prior
        self.missing = missing
        self.groups = groups
        self.always = always
        self.costs = costs
        self.min_features_to_select = min_features_to_select
        self.max_features = max_features
        self.cv = cv
        self.learn = learn
        self.criterion = criterion
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _select(self, X: Any, y: Any, row_groups: Any) -> None:
        """Make the reference, search, choose a size."""
        d = int(X.shape[1])
        self._sizes(d)  # before a model is made
        seed = self.random_state
        if not is_integer(seed):
            seed = check_random_state(seed).randint(2**31 - 1)
        seed = int(seed)
        self.reference_ = self._reference(self._named(X), y, seed)
        if row_groups is not None:
            self.reference_ = self.reference_.with_row_groups(row_groups)
        how: dict[str, Any] = {
            "n_jobs": 1 if self.n_jobs is None else self.n_jobs,
            "progress": bool(self.verbose),
        }
        search: dict[str, Any] = {
            "learn": self.learn,
            "criterion": self.criterion,
            "groups": self.groups,
            "always": self.always,
            "costs": self.costs,
        }
        _, units = units_of(self.reference_, self.groups, self.always, self.costs)
        least, most = self._sizes(len(units))
        self.path_ = forward_search(self.reference_, most, **search, **how)
        self.validation_ = None
        size = most
        if self.n_features_to_select == "auto":
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
        self._rank(d)

    def _sizes(self, available: int) -> tuple[int, int]:
        """Return the least and the largest number of steps, of those that there are."""
        size = size_of(self.n_features_to_select, available)
        if size is not None:
            return size, size
        most = available if self.max_features is None else self.max_features
        most = limit_of("max_features", most, 1, available)
        return limit_of("min_features_to_select", self.min_features_to_select, 0, most), most

    def _rank(self, d: int) -> None:
        """Say which columns are selected, and in which order the others entered."""
        columns = self.reference_.training
        names = list(columns.column_names)
        chosen = [names.index(name) for name in self.submodel_.column_names]
        self.support_: NDArray[np.bool_] = np.zeros(d, dtype=bool)
        self.support_[chosen] = True
        self.ranking_ = np.where(self.support_, 1, 0)
        rank = 2
        for unit in self.path_.units:
            inputs = (columns.feature_names[position] for position in unit.positions)
            own = [names.index(name) for name in columns.columns_of(inputs)]
            new = [place for place in own if self.ranking_[place] == 0]
            self.ranking_[new] = rank
            rank += bool(new)
        self.ranking_[self.ranking_ == 0] = rank

    def _reference(self, X: Any, y: Any, seed: int) -> Reference:
        given = self.reference
        if isinstance(given, str):
            model: dict[str, Any] = {
                "likelihood": self._likelihood if self.likelihood is None else self.likelihood,
                "kernel": self.kernel,
                "prior": self.prior,
                "missing": self.missing,
            }
            if given == "fit":
                return fit(X, y, **model)
            if given == "sample":
                return sample(X, y, **model, random_state=seed, progress=bool(self.verbose))
        elif isinstance(given, BaseEstimator) or callable(given):
            self._check_own_model()
        if isinstance(given, BaseEstimator):
            return from_sklearn(clone(given).fit(X, y))
        if callable(given):
            made = given(X, y)
            if isinstance(made, Reference):
                return made
            raise TypeError(f"reference must return a gpproj.Reference; got {type(made).__name__}")
        raise ValueError(
            'reference must be "fit", "sample", a Gaussian process of scikit-learn, or a function '
            f"from X and y to a gpproj.Reference; got {given!r}"
        )

    def _check_own_model(self) -> None:
        """Refuse settings of the model where it is made by something else."""
        plain: dict[str, Any] = {
            "likelihood": None,
            "kernel": None,
            "prior": "saas",
            "missing": "error",
        }
        for name, default in plain.items():
            value = getattr(self, name)
            if value is not default and not (isinstance(default, str) and value == default):
                raise ValueError(
                    f'{name} is for reference="fit" or "sample": what makes the reference here '
                    f"has settings of its own; got {value!r}"
                )

    def _checked(self, X: Any, y: Any, **checks: Any) -> tuple[Any, Any]:
        """Check training data as scikit-learn does; frames that are not plain numbers stay."""
        self._reads_frames = is_frame(X) and (self.missing != "error" or not _all_numbers(X))
        if self._reads_frames:
            return validate_data(self, X, y, skip_check_array=True)  # type: ignore[no-any-return]
        finite = True if self.missing == "error" else "allow-nan"
        return validate_data(  # type: ignore[no-any-return]
            self, X, y, dtype=np.float64, ensure_min_samples=2, ensure_all_finite=finite, **checks
        )

    def _named(self, X: Any) -> Any:
        if self._reads_frames or not hasattr(self, "feature_names_in_"):
            return X
        import pandas as pd

        return pd.DataFrame(X, columns=list(self.feature_names_in_))

    def _new(self, X: Any) -> Any:
        check_is_fitted(self, "submodel_")
        if self._reads_frames:
            return validate_data(self, X, reset=False, skip_check_array=True)
        finite = True if self.missing == "error" else "allow-nan"
        return self._named(
            validate_data(self, X, dtype=np.float64, reset=False, ensure_all_finite=finite)
        )

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "support_")
        return self.support_

    def __sklearn_tags__(self) -> Any:
        """Return the tags, which say whether missing cells are allowed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        return tags


def _all_numbers(frame: Any) -> bool:
    return all(is_numeric(frame[label].dtype) for label in frame.columns)


def size_of(selected: Any, d: int) -> int | None:
    """Return the number of inputs to select; None for "auto"."""
    if isinstance(selected, str) and selected == "auto":
        return None
    if is_integer(selected) and 1 <= selected <= d:
        return int(selected)
    if isinstance(selected, float | np.floating) and 0.0 < selected <= 1.0:
        return max(int(selected * d), 1)
    raise ValueError(
        f'n_features_to_select must be "auto", a number from 1 to {d} or a share between 0 and 1; '
        f"got {selected!r}"
    )


def limit_of(name: str, value: Any, least: int, most: int) -> int:
    """Return a limit of "auto" as a number of inputs, at most `most`."""
    check_count(name, value, least)
    return min(int(value), most)


def is_integer(value: Any) -> bool:
    """Say whether a value is a whole number, and no truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
