//! What is happening.
