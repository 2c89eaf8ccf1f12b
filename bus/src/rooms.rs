//! The name of every room, declared once. It is used in logs, keys of the store and `maxim status`.
//!
//! Names are declared here so that other rooms can address a question to a room without importing it.

use crate::RegionName;

// Perception
pub const ENERGY: RegionName = "energy";
pub const GATEWAY: RegionName = "gateway";
pub const PAIN_DETECTOR: RegionName = "pain_detector";
pub const PREEMPTION_CIRCUIT: RegionName = "preemption_circuit";
pub const SALIENCE: RegionName = "salience";
pub const SCENE: RegionName = "scene";

// Memory
pub const ANGULAR_GYRUS: RegionName = "angular_gyrus";
pub const ANTERIOR_TEMPORAL_LOBE: RegionName = "anterior_temporal_lobe";
pub const CROSS_LAYER_GRAPH: RegionName = "cross_layer_graph";
pub const ENRICHMENT: RegionName = "enrichment";
pub const ENTORHINAL_CORTEX: RegionName = "entorhinal_cortex";
pub const HIPPOCAMPUS: RegionName = "hippocampus";
pub const MEMORY_HUB: RegionName = "memory_hub";
pub const SUPRACHIASMATIC_NUCLEUS: RegionName = "suprachiasmatic_nucleus";

// Deliberation
pub const GOALS: RegionName = "goals";
pub const HABIT: RegionName = "habit";
pub const PREFRONTAL_CORTEX: RegionName = "prefrontal_cortex";
pub const WORKING_MEMORY: RegionName = "working_memory";

// Gate
pub const AUTONOMY: RegionName = "autonomy";
pub const FEAR_AGENT: RegionName = "fear_agent";

// Action
pub const CAUSE_LEDGER: RegionName = "cause_ledger";
pub const EXECUTION_TRACKER: RegionName = "execution_tracker";
pub const EXECUTOR: RegionName = "executor";
pub const INTROSPECTOR: RegionName = "introspector";
pub const OUTBOX: RegionName = "outbox";
pub const TOOL_INDEX: RegionName = "tool_index";

// Learning
pub const CEREBELLUM: RegionName = "cerebellum";
pub const COMMUNICATION_BRIDGE: RegionName = "communication_bridge";
pub const ESCALATION_BRIDGE: RegionName = "escalation_bridge";
pub const FEAR_BRIDGE: RegionName = "fear_bridge";
pub const INTRAPARIETAL_SULCUS: RegionName = "intraparietal_sulcus";
pub const NUCLEUS_ACCUMBENS: RegionName = "nucleus_accumbens";
pub const PLANNING_BRIDGE: RegionName = "planning_bridge";
pub const SALIENCE_BRIDGE: RegionName = "salience_bridge";
pub const SIGNIFICANCE: RegionName = "significance";
pub const SPATIAL_BRIDGE: RegionName = "spatial_bridge";
pub const STATISTICIAN: RegionName = "statistician";

// Sleep
pub const CONSOLIDATION: RegionName = "consolidation";
pub const SEMANTIC_PROMOTER: RegionName = "semantic_promoter";

// Effectors
pub const BATTERY_SENSE: RegionName = "battery_sense";
pub const BODY: RegionName = "body";
pub const LLM_WORKER: RegionName = "llm_worker";
pub const PROGRAM_READER: RegionName = "program_reader";
pub const TEXT_ENCODER: RegionName = "text_encoder";
pub const VITAL_SIGNS: RegionName = "vital_signs";

/// The tool by which the agent speaks. It isn't a room; several rooms use it to tell speech from other acts.
pub const RESPOND: &str = "respond";
