//! Everything the agent can do.
