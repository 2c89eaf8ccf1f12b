//! A robot with its own NATS server, as a leaf of another server that it loses and finds again.

use async_nats::jetstream;
use async_nats::jetstream::stream::{Config, External, Source};

use super::server::{PASSWORD, USER, free_port};
use super::{Machine, Server, code, recalls};
use crate::harness::PATIENCE;

#[test]
fn a_robot_goes_on_without_the_link_and_what_it_learned_is_forwarded_when_that_is_back() {
    let port = free_port();
    let Some(mut hub) = Server::start_as("hub", &format!("leafnodes {{ listen: 127.0.0.1:{port} }}")) else { return };
    let remote = format!("leafnodes {{ remotes: [ {{ url: \"nats://{USER}:{PASSWORD}@127.0.0.1:{port}\" }} ] }}");
    let robot = Server::start_as("robot", &remote).expect("it is installed");
    let one = Machine::of(&robot);
    let daemon = one.start();
    let (at_hub, at_robot) = (hub.client(), robot.client());
    let held = |(runtime, client): &(tokio::runtime::Runtime, async_nats::Client), name: &str| {
        runtime.block_on(async {
            let stream = jetstream::new(client.clone()).get_stream(name).await.ok()?;
            Some(stream.cached_info().state.messages)
        })
    };
    at_hub.0.block_on(async {
        let from = Source {
            name: "MAXIM_maxim_JOURNAL".into(),
            external: Some(External { api_prefix: "$JS.robot.API".into(), delivery_prefix: None }),
            ..Source::default()
        };
        let config = Config { name: "OF_ROBOTS".into(), sources: Some(vec![from]), ..Config::default() };
        jetstream::new(at_hub.1.clone()).create_stream(config).await.expect("made");
    });
    let is_forwarded = || held(&at_hub, "OF_ROBOTS") >= held(&at_robot, "MAXIM_maxim_JOURNAL");
    daemon.until("forwarded", is_forwarded);
    hub.kill();
    let told = daemon.tell_all(&(0..10).map(code).collect::<Vec<_>>());
    assert_eq!(told.len(), 10, "the robot's own server is all that it needs");
    assert!(told.iter().all(|text| recalls(&daemon, text)));
    let before = held(&at_robot, "MAXIM_maxim_JOURNAL").expect("there");
    hub.run();
    let begun = std::time::Instant::now();
    while held(&at_hub, "OF_ROBOTS") < Some(before) {
        assert!(begun.elapsed() < 3 * PATIENCE, "never forwarded");
    }
}
