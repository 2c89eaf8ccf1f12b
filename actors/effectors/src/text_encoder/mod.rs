//! The text encoder: carries texts to an external encoder, and their vectors back.
//!
//! The encoder is a server with the OpenAI-compatible embeddings interface, or a static model in a local folder. This
//! room remembers nothing of memory: the caller says whose vectors it has, and a server that suddenly makes others is
//! refused.

mod endpoint;
mod keys;
mod safetensors;
mod static_model;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use maxim_bus::rooms;
use maxim_bus::signals::encoding::{EncodeTexts, TextVector, TextsEncoded};
use maxim_bus::{RegionName, Stage};
use parking_lot::Mutex;

use super::http_client::Roots;
use endpoint::Endpoint;
use maxim_language::packed::PackedVector;
use maxim_language::{Embedding, EncoderId};
use maxim_region::{Effector, EffectorCard, Operation, Performs, Placement, Room};

pub use keys::EncoderKeys;
pub use static_model::{BadFolder, StaticModel};

/// The source of vectors.
#[derive(Clone)]
pub enum EncoderSource {
    Server(EmbeddingServer),
    /// A folder with a static model in the layout of Model2Vec.
    Folder(PathBuf),
}

/// A server with the OpenAI-compatible embeddings interface.
#[derive(Clone)]
pub struct EmbeddingServer {
    /// With its version path, e.g. `http://127.0.0.1:8080/v1`.
    pub base_url: String,
    pub model: String,
    /// Sent as a bearer token where it isn't empty; never logged.
    pub api_key: String,
    /// The price of a million tokens.
    pub price: f64,
    /// Which certificates are trusted for an `https` address.
    pub roots: Roots,
    /// For a whole call, including connection, retries and pauses.
    pub timeout: Duration,
}

impl EncoderSource {
    /// Its name in memory before its first answer. Another model, address or folder is another encoder.
    pub fn name(&self) -> String {
        match self {
            Self::Server(server) => format!("{}@{:08x}", server.model, crc32fast::hash(server.base_url.as_bytes())),
            Self::Folder(folder) => {
                let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                format!("{name}@{:08x}", crc32fast::hash(folder.as_os_str().as_encoded_bytes()))
            }
        }
    }
}

/// The vectors of texts, with the id of their encoder.
struct Encoded {
    encoder: String,
    /// As the server reported, and their price.
    tokens: u64,
    money: f64,
    vectors: Vec<Option<Vec<f32>>>,
}

/// Makes vectors with the configured encoder.
pub struct TextEncoder {
    reach: Result<Reach, String>,
}

enum Reach {
    Server(Box<Endpoint>),
    /// Read at the first use, and again after a failure.
    Folder(PathBuf, Mutex<Option<Arc<StaticModel>>>),
}

impl TextEncoder {
    /// Without a source, each call is answered with the reason.
    pub fn new(source: Option<EncoderSource>) -> Self {
        let none =
            || "no text encoder is configured; set encoder.base_url and encoder.model, or encoder.folder".to_owned();
        let reach = source.ok_or_else(none).and_then(|source| match source {
            EncoderSource::Server(server) => Endpoint::to(server).map(|endpoint| Reach::Server(Box::new(endpoint))),
            EncoderSource::Folder(folder) => Ok(Reach::Folder(folder, Mutex::default())),
        });
        Self { reach }
    }

    async fn encode(&self, call: &EncodeTexts, operation: &Operation<Self>) -> Result<Encoded, String> {
        match &self.reach {
            Err(why) => Err(why.clone()),
            Ok(Reach::Server(endpoint)) => {
                operation.hands.durable(operation.lsn).await.map_err(|error| error.to_string())?;
                endpoint.encode(call, &operation.hands.frame.latch).await
            }
            Ok(Reach::Folder(folder, model)) => {
                let mut model = model.lock();
                let model = match &*model {
                    Some(known) => Arc::clone(known),
                    None => {
                        let opened = Arc::new(StaticModel::open(folder).map_err(|error| error.to_string())?);
                        Arc::clone(model.insert(opened))
                    }
                };
                let vectors = call.texts.iter().map(|text| Some(model.vector(text))).collect();
                Ok(Encoded { encoder: model.id().to_owned(), tokens: 0, money: 0.0, vectors })
            }
        }
    }
}

/// Packed in memory's format. It is normalised here, so that the server's scaling doesn't matter.
fn packed(numbers: Vec<f32>) -> TextVector {
    let unit = Embedding::new(EncoderId::new(""), numbers);
    let PackedVector { scale, steps } = PackedVector::of(&unit);
    TextVector { scale, steps }
}

impl TextEncoder {
    /// The room as a value, for the parts list. A folder's model is read and used on the room's own thread.
    pub fn room(source: Option<EncoderSource>) -> Room {
        let placement = if source.is_some() { Placement::Own } else { Placement::Pool };
        Room::acting(placement, Box::new(move || Self::new(source.clone())))
    }
}

impl Effector for TextEncoder {
    const NAME: RegionName = rooms::TEXT_ENCODER;
    const STAGE: Stage = Stage::Memory;
    /// So that a question doesn't wait for a batch.
    const CONCURRENT: usize = 4;

    fn card() -> EffectorCard<Self> {
        EffectorCard::new().performs::<EncodeTexts>().says::<TextsEncoded>()
    }

    fn deadline(&self) -> Duration {
        let timeout = match &self.reach {
            Ok(Reach::Server(endpoint)) => endpoint.timeout(),
            Ok(Reach::Folder(..)) | Err(_) => Duration::from_secs(30),
        };
        timeout + Duration::from_secs(5)
    }
}

impl Performs<EncodeTexts> for TextEncoder {
    async fn perform(self: Arc<Self>, call: EncodeTexts, operation: Operation<Self>) {
        let answer = match self.encode(&call, &operation).await {
            Ok(Encoded { encoder, tokens, money, vectors }) => {
                let vectors = vectors.into_iter().map(|vector| vector.map(packed)).collect();
                TextsEncoded { call: call.call, encoder, vectors, error: None, tokens, money }
            }
            Err(why) => TextsEncoded::failed(call.call, why),
        };
        operation.say(answer);
    }

    fn abandoned(call: &EncodeTexts, why: &str, operation: &Operation<Self>) {
        operation.say(TextsEncoded::failed(call.call, why));
    }
}
