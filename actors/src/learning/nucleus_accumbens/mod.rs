//! What it led to.
