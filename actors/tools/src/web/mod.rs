//! Reading the web: public hosts alone, wherever a redirect or a name server leads.

mod fetch;
mod http_fetch;
#[cfg(test)]
mod tests;
mod text;

pub use http_fetch::HttpFetch;
