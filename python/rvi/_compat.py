"""Differences between versions of scikit-learn, from 1.4 on."""

try:
    from sklearn.utils.validation import validate_data
except ImportError:

    def validate_data(estimator, X="no_validation", y="no_validation", **options):
        """As of scikit-learn 1.6."""
        return estimator._validate_data(X, y, **options)
