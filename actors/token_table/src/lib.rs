//! Vectors of word pieces, made by `make_table.py` from all-MiniLM-L6-v2 and WordNet; see NOTICE.
//!
//! Little-endian: "MXTT", version, dimensions D, pieces P, bytes of texts T (u32 each); P scales (f32); P ends of texts
//! (u32); 65 536 slots of a hash table by FNV-1a with linear probing (u16, 65 535 is empty); the texts; P rows of D int8.

/// Name of the table, which vectors made with it carry. A table made otherwise gets another.
pub const NAME: &str = "maxim-minilm-256-v1";

/// The table, in the binary's read-only pages: what isn't looked at takes no memory.
pub static TABLE: &[u8] = include_bytes!("../table.bin");
