//! The keys of the encoder.

use std::path::PathBuf;

use maxim_config::{Fault, Secret, Shape, Span, secret, section};

use super::{EmbeddingServer, EncoderSource};
use crate::http_client::Roots;

section! {
    /// A text encoder beside the embedded one: a server with the OpenAI-compatible embeddings interface, or a folder. The
    /// texts of all memories are given to it in the background; until that is whole, and whenever it fails, the embedded
    /// one answers.
    EncoderKeys = "encoder" {
        /// Where the server is, with its version path.
        base_url: Option<String> = "", "", Shape::Url;
        /// The encoder's name as the server knows it. Another name is another encoder: all is encoded anew.
        model: Option<String> = "", "", Shape::Text;
        /// The key for the server; only from the environment.
        api_key: Option<Secret> = "", "", Shape::Secret;
        /// A file that holds the key alone; the key itself wins when both are set.
        api_key_file: Option<PathBuf> = "", "", Shape::Path;
        /// Certificates (PEM) of the authorities that an `https` server is checked against; not set is those of this machine.
        ca_file: Option<PathBuf> = "", "", Shape::Path;
        /// A folder with a static model in the layout of Model2Vec (config.json, tokenizer.json with WordPiece,
        /// model.safetensors), in the place of a server.
        folder: Option<PathBuf> = "", "", Shape::Path;
        /// What a million tokens cost, in the currency of llm.money_per_hour. While too little is left of any budget, nothing is
        /// asked of the encoder, and the embedded one answers.
        price: f64 = "0", "a million tokens", Shape::Real { low: 0.0, high: 1_000_000.0 };
        /// How long one call to the server may take; questions wait no longer than 800 ms for theirs.
        timeout: Span = "30s", "time", Shape::Span { low: "1s", high: "1min" };
    }
}

impl EncoderKeys {
    /// The key for the server, read from its file if necessary.
    ///
    /// # Errors
    /// The file can't be read or doesn't hold one line.
    pub fn key(&self) -> Result<Option<Secret>, Fault> {
        secret::resolve("encoder.api_key_file", self.api_key.as_ref(), self.api_key_file.as_deref())
    }
}

impl EncoderSource {
    /// `None`: only the embedded encoder.
    ///
    /// # Errors
    /// A file that the keys name can't be read.
    pub fn of(keys: &EncoderKeys) -> Result<Option<Self>, Fault> {
        let EncoderKeys { base_url, model, api_key: _, api_key_file: _, ca_file, folder, price, timeout } = keys;
        let (Some(base_url), Some(model)) = (base_url, model) else {
            return Ok(folder.clone().map(Self::Folder));
        };
        Ok(Some(Self::Server(EmbeddingServer {
            base_url: base_url.clone(),
            model: model.clone(),
            api_key: keys.key()?.map(|key| key.expose().to_owned()).unwrap_or_default(),
            roots: Roots::of(base_url, ca_file.as_deref()).map_err(|error| {
                let fix = "name a file with the authority's certificate in PEM form";
                Fault::new("encoder.ca_file", error.to_string(), fix)
            })?,
            price: *price,
            timeout: timeout.get(),
        })))
    }
}
