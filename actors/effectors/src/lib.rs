//! Hands and mouths: what touches the outside. They await and never decide.

pub mod battery;
pub mod body;
pub mod channels;
pub mod door;
pub mod http_client;
pub mod llm_worker;
pub mod outside_doors;
pub mod program_reader;
pub mod server_fault;
pub mod text_encoder;
pub mod tool_servers;
pub mod vital_signs;
