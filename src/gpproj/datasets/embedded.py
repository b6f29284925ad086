"""Data sets that come with scikit-learn."""

from __future__ import annotations

from gpproj.datasets.source import Dataset


def diabetes() -> Dataset:
    """Return the diabetes progression of 442 patients, 10 inputs in their own units.

    Examples
    --------
    >>> X, y = diabetes()
    >>> X.shape, list(X.columns[:3])
    ((442, 10), ['age', 'sex', 'bmi'])
    """
    from sklearn.datasets import load_diabetes

    return Dataset(*load_diabetes(return_X_y=True, as_frame=True, scaled=False))


def breast_cancer() -> Dataset:
    """Return the Wisconsin diagnostic breast cancer, 569 x 30, target 0 malignant, 1 benign.

    Examples
    --------
    >>> X, y = breast_cancer()
    >>> X.shape, sorted(set(y))
    ((569, 30), [0, 1])
    """
    from sklearn.datasets import load_breast_cancer

    return Dataset(*load_breast_cancer(return_X_y=True, as_frame=True))
