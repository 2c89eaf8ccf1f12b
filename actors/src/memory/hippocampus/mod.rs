//! What happened: episodes.
