"""`Reference`: the interface of all references, whatever kind of model they are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpproj.data import Columns, TrainingSet, new_inputs, read_row_groups
from gpproj.data.encoded import holds_inputs
from gpproj.data.frames import listed
from gpproj.inference import Inducing, Latent, LeaveOneOut
from gpproj.likelihoods import Likelihood
from gpproj.linalg import Array, Covariance
from gpproj.notebook import card
from gpproj.prediction import Predictive, noise_of
from gpproj.reference.draws import SMOOTHED, Clusters

if TYPE_CHECKING:
    from gpproj.reference.checking import ReferenceCheck


LeftOutRows: TypeAlias = tuple[LeaveOneOut, NDArray[np.intp] | None]
"""Predictions of rows, and labels of those that left together; None if each left by itself."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Reference(Predictive):
    """A model on all inputs that was given data, and that submodels are to predict as well as.

    There are three kinds, made by functions and not by hand: `GaussianProcessReference` by
    `gpproj.condition`, `gpproj.fit` and `gpproj.sample`; `MomentReference` by
    `gpproj.from_moments`, `gpproj.from_draws` and the adapters of other libraries;
    `LinearReference` by `gpproj.sample_linear` and `gpproj.from_linear_draws`. What is listed here
    they all have. Everything public is in the user's units; the fields are on the model's scale,
    which is standardised unless the user wanted otherwise.
    """

    training: TrainingSet
    """Data on the model's scale."""
    recipe: Callable[..., Reference] | None = None
    """Makes a reference of other data in the same way; None if it is not known."""

    measures: ClassVar[tuple[str, ...]] = ()
    """Methods of `gpproj.relevance` that it has."""
    has_hyperparameters: ClassVar[bool] = False
    """Whether it has hyperparameters, which leaving out single rows may fix or move."""

    @property
    def remedy(self) -> str:
        """What may help if it is too sure of itself or overfits."""
        return "another model"

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the inputs: column names of a frame, or x0, x1, ..."""
        return self.training.feature_names

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns that the inputs are made of: levels of one column are one."""
        return self.training.column_names

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """Class labels of the target, the one whose probability is predicted last; or None."""
        return self.training.classes

    @property
    def columns(self) -> Columns:
        """Names and scaling of the inputs."""
        return self.training.columns

    @property
    @abstractmethod
    def latent(self) -> Latent:
        """The latent posterior at the training inputs, on the model's scale."""

    @property
    def likelihood(self) -> Likelihood:
        """The likelihood, with a noise variance in squared units of `y`.

        With posterior draws, its parameters are their means.
        """
        return self.latent.likelihood.scaled(self._variance_unit)

    @property
    def noise_variance(self) -> float:
        """Noise variance, in squared units of `y`; the mean of posterior draws.

        Classes and counts have none, and neither has their reference: that is an AttributeError.
        """
        return noise_of(self.likelihood)

    @property
    def latent_mean(self) -> Array:
        """Posterior mean of the latent function at the training inputs, `(n,)`."""
        return self.training.scaling.restore_mean(self.latent.latent_mean)

    @property
    def latent_cov(self) -> Covariance:
        """Posterior covariance of the latent function at the training inputs, `(n, n)`.

        An object with `diagonal`, `product` (or `@`), `solve` and `log_determinant`; NumPy
        functions take it as the matrix it stands for.
        """
        return self.latent.latent_cov.scaled(self._variance_unit)

    @abstractmethod
    def loo(self) -> LeaveOneOut:
        """Predict every training target from all the others.

        Returns
        -------
        LeaveOneOut
            `mean`, `variance` (of `y`, noise included) and `log_density`, each `(n,)`.
        """

    def check(self) -> ReferenceCheck:
        """Look at whether this reference is worth projecting, by its own training rows.

        A projection is as good as its reference. Looked at are hyperparameters at their bounds,
        noise that is as good as none, rows that repeat others, predictions of left-out rows beside
        those of a model without inputs and of a ridge regression, and the calibration of these
        predictions, which `gpproj.plots.calibration` draws. Rows of a group leave together, see
        `with_row_groups`, but for linear references. With fewer than 30 rows predictions are not
        judged. A transformed target is looked at in units of its transformation. It is computed
        once.

        Returns
        -------
        ReferenceCheck
            `problems` holds a sentence for each thing that is wrong, with what to do.

        Examples
        --------
        >>> import gpproj
        >>> X, y = gpproj.datasets.toy_sines(n=100, random_state=0)
        >>> gpproj.fit(X, y).check()
        ReferenceCheck: nothing was found to be wrong
        """
        return self._check

    @cached_property
    def _check(self) -> ReferenceCheck:
        from gpproj.reference.checking import check

        return check(self.untransformed)

    def refit(self, X: Any, y: Any, exposure: Any = None, row_groups: Any = None) -> Reference:
        """Return a reference of other data, made by the same recipe."""
        if self.recipe is None:
            raise ValueError(self._no_recipe)
        given = {} if exposure is None else {"exposure": exposure}
        found = self.recipe(X, y, **given)
        encoding = self.training.encoding
        # Rows of its own data hold inputs, and it alone knows which columns they were. Nobody else
        # has seen the other one yet, and a copy would lose what it has computed already.
        if encoding is not None and holds_inputs(encoding, X, self.feature_names):
            object.__setattr__(found, "training", replace(found.training, encoding=encoding))
        return found if row_groups is None else found.with_row_groups(row_groups)

    def with_row_groups(self, row_groups: Any) -> Self:
        """Return the same reference with groups of rows that belong together.

        Visits of a patient, say, or days of a month: a model that has seen one of them predicts the
        others too well. Submodels that are learned by predictions of rows that were left out, the
        default, are then compared by predictions from the rows of other groups, and
        `gpproj.validate` keeps groups together in its folds. Rows that are equal in all inputs
        leave together in any case.

        Parameters
        ----------
        row_groups : array, series or list `(n,)`
            Labels of the groups, one a row, rows that were left out for missing cells included or
            not; None for no groups.

        Examples
        --------
        >>> import gpproj
        >>> X, y = gpproj.datasets.toy_sines(n=100, random_state=0)
        >>> ref = gpproj.fit(X[:, 5:], y).with_row_groups([row // 4 for row in range(100)])
        >>> gpproj.forward_search(ref, 1, progress=False).order
        ('x0',)
        """
        labels = None
        if row_groups is not None:
            labels = read_row_groups(row_groups, self.training.n, self.training.kept)
        return self._with(replace(self.training, row_groups=labels))

    @abstractmethod
    def on_rows(self, rows: NDArray[np.intp]) -> Self:
        """Return the reference of some of the rows alone; what was learned stays fixed."""

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Save as a folder for `gpproj.load`; `overwrite` replaces one that was saved before."""
        from gpproj.io.saving import save

        save(self, folder, overwrite=overwrite)

    def _repr_html_(self) -> str:
        """Show the sizes, the model and how cells became inputs, in a notebook."""
        training = self.training
        encoding, left = training.encoding, training.kept
        facts = {
            "rows": training.n,
            "left out for missing cells": None if left is None else int((~left).sum()),
            "inputs": f"{len(self.column_names)}: {listed(self.column_names, show=str)}",
            "columns of text": None
            if encoding is None
            else listed((one.name for one in encoding.columns if one.levels), show=str) or None,
            "missing cells": None if encoding is None else encoding.missing,
            "likelihood": repr(self.likelihood),
            "draws": self.count,
        }
        return card(type(self).__name__, facts)

    # What other rooms ask ----------------------------------------------------------------------

    @property
    @abstractmethod
    def count(self) -> int:
        """How many posterior draws it has; one if it is no mixture."""

    @property
    @abstractmethod
    def facts(self) -> tuple[Any, ...]:
        """Numbers that tell it from other references of the same data, for a fingerprint."""

    @property
    def inducing(self) -> Inducing | None:
        """Inducing points that its covariance goes through, on the model's scale."""
        return None

    def at_bounds(self) -> Iterator[tuple[str, str]]:
        """Yield hyperparameters that are at their lower or upper bound, and where that is wrong."""
        yield from ()

    @property
    def learned_noise(self) -> float | None:
        """Noise variance in squared units of `y`, where the model says how much of it there is."""
        return self.noise_variance if self.training.kind.is_scaled else None

    def left_out_rows(self) -> LeftOutRows | None:
        """Return what `loo` does, with rows that belong together left out together.

        None where no row can be left out.
        """
        return self.loo(), None

    @property
    def untransformed(self) -> Self:
        """The same reference of the target in units in which it may be any real number."""
        return self

    def centred(self) -> Self:
        """Return the same reference at the centre of its hyperparameter draws, if it has any."""
        return self

    @property
    def loo_obstacle(self) -> str | None:
        """Why single rows cannot be left out of it without refits; None if they can."""
        return None

    @property
    def usual_validation(self) -> Literal["loo", "kfold"]:
        """How it is validated unless the user says otherwise."""
        whole = self.training.row_groups is not None or self.loo_obstacle is not None
        return "kfold" if whole or self.count < SMOOTHED else "loo"

    def matrices(self, clusters: Clusters) -> int | None:
        """Return how many `(n, n)` matrices work on it holds at a time, on a device.

        None where work on several such references does not go side by side.

        Parameters
        ----------
        clusters : int, "draws" or None
            That are projected by themselves.
        """
        return None

    def _with(self, training: TrainingSet, **changes: Any) -> Self:
        """Return the same reference of changed data."""
        return replace(self, training=training, **changes)

    @property
    def _no_recipe(self) -> str:
        return "this reference does not know how it was made; make another by hand"

    @property
    def _variance_unit(self) -> float:
        return float(self.training.scaling.target_scale) ** 2

    def _read(self, X: Any) -> Array:
        return new_inputs(self.training, X)


Refit: TypeAlias = Callable[..., Reference]
"""A function from other data to a reference of the same kind."""
