//! The embedded reasoner.
