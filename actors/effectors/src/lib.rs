//! Effectors: everything that touches the outside. They await and never decide.

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

use std::sync::Arc;

use maxim_bus::rooms;
use maxim_region::Room;
use maxim_tools::program_files::ProgramFiles;

use battery::BatterySense;
use body::{Body, BodyKeeper, BodyKeys};
use channels::outside::OutsideChannels;
use door::DoorKeeper;
use llm_worker::{LlmKeys, LlmWorker, ModelSource};
use outside_doors::Doors;
use program_reader::ProgramReader;
use text_encoder::{EncoderKeys, EncoderSource, TextEncoder};
use vital_signs::VitalSigns;

maxim_config::sections! {
    /// The effectors' part of the configuration. The sections of channels and tool servers have names of two parts; the program
    /// gathers them.
    Sections { encoder: EncoderKeys, llm: LlmKeys, body: BodyKeys }
}

/// The settings of the effectors.
#[derive(Clone)]
pub struct Settings {
    /// `None`: no model is asked.
    pub model: Option<ModelSource>,
    /// The encoder in addition to the embedded one.
    pub text_encoder: Option<EncoderSource>,
    pub body: Body,
    /// Its channels to the outside.
    pub channels: Arc<OutsideChannels>,
}

/// The effectors. An effector that works for one room stands behind it; door and channels come last.
pub fn rooms(settings: &Settings, programs: ProgramFiles, doors: &Doors) -> Vec<Room> {
    let mut rooms = vec![
        BatterySense::room().behind(rooms::ENERGY),
        VitalSigns::room().tells().behind(rooms::BATTERY_SENSE),
        TextEncoder::room(settings.text_encoder.clone()).behind(rooms::ENTORHINAL_CORTEX),
        LlmWorker::room(settings.model.clone()).behind(rooms::PREFRONTAL_CORTEX),
        ProgramReader::room(programs).behind(rooms::FEAR_AGENT),
        BodyKeeper::room(settings.body.clone()).behind(rooms::EXECUTOR),
        DoorKeeper::room(doors).tells(),
    ];
    rooms.extend(channels::rooms(doors, &settings.channels));
    rooms
}
