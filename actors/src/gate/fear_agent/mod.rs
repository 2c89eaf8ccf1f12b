//! Is it safe.
