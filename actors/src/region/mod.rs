//! The furniture that every room has: its trait, its wiring card, its shell and its supervisor.
