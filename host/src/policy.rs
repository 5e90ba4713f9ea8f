//! Policies: loading, deciding, swapping.
