//! Reads the web: only public hosts, also after redirects and name lookups.

mod fetch;
mod http_fetch;
#[cfg(test)]
mod tests;
mod text;

pub use http_fetch::HttpFetch;
