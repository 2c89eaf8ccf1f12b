//! Hands and mouths.
