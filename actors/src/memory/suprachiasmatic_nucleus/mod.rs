//! When it happens.
