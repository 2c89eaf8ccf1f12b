//! How a section of the configuration is declared. Each room declares its own, beside its law.
//!
//! [`section!`] makes a struct and the table of its keys from one text. The sample file, `maxim config explain`, the guide
//! and the checks of all layers read that table. [`sections!`] gathers the sections of a stage. The program joins the
//! stages' sections with its own; nothing else names them.
//!
//! ```
//! maxim_config::section! {
//!     /// How politeness is counted.
//!     Manners = "politeness" {
//!         /// Words of a text that are read.
//!         words_max: u32 = "200", "words", maxim_config::Shape::Integer { low: 1, high: 10_000 };
//!     }
//! }
//!
//! maxim_config::sections! {
//!     /// What a stage is configured with.
//!     Sections { politeness: Manners }
//! }
//!
//! assert_eq!(Sections::default().politeness.words_max, 200);
//! assert_eq!(Sections::ALL[0].name, "politeness");
//! ```

mod amounts;
mod fault;
mod field;
pub mod secret;
mod sections;
mod shape;

pub use amounts::{AmountError, ByteCount, Span};
pub use fault::Fault;
pub use field::{Field, Section};
pub use secret::Secret;
pub use shape::{SHARE, Shape};

/// What the macros need where they are used.
#[doc(hidden)]
pub mod parts {
    pub use crate::sections::{default_of, named};
}
