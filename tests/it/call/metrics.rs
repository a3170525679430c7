//! What is told of calls in numbers.

use bursar::proto::{Cut, Outcome};
use serde_json::json;

use super::world::{World, ask};

/// The value of a series, labels and all.
fn value(text: &str, series: &str) -> Option<f64> {
    let line = text.lines().find_map(|it| it.strip_prefix(series)?.strip_prefix(' '))?;
    Some(line.parse().unwrap())
}

#[tokio::test]
async fn calls_are_counted_by_how_they_ended_and_timed() {
    let world = World::start().await;
    let whole = world.sample(ask(&json!({ "text": "one two" }))).await.unwrap();
    assert_eq!(whole.outcome(), Outcome::Complete);
    let slow = json!({ "text": "one two", "deltas": 2, "fault": "disconnect", "fault_after": 1 });
    let broken = world.sample(ask(&slow)).await.unwrap();
    assert_eq!((broken.outcome(), broken.cut()), (Outcome::Partial, Cut::Backend));
    let failed = world.sample(ask(&json!({ "fault": "http_status", "status": 400 }))).await;
    failed.unwrap_err();
    let text = world.metrics().await;
    let calls = |outcome: &str, cut: &str| {
        value(&text, &format!("bursar_calls_total{{cut=\"{cut}\",outcome=\"{outcome}\"}}"))
    };
    assert_eq!(calls("COMPLETE", "NONE"), Some(1.0), "{text}");
    assert_eq!(calls("PARTIAL", "BACKEND"), Some(1.0), "{text}");
    assert_eq!(calls("ERROR", "NONE"), Some(1.0), "{text}");
    assert_eq!(value(&text, "bursar_call_own_time_seconds_count"), Some(3.0), "{text}");
    let own = value(&text, "bursar_call_own_time_seconds_sum").unwrap();
    let durations = ["COMPLETE", "PARTIAL", "ERROR"].map(|it| {
        value(&text, &format!("bursar_call_duration_seconds_sum{{outcome=\"{it}\"}}")).unwrap()
    });
    assert!(own > 0.0);
    assert!(durations.iter().all(|it| *it > 0.0), "{durations:?}");
    world.close().await;
}

#[tokio::test]
async fn metrics_name_no_tenant_user_server_model_or_text() {
    let world = World::start().await;
    world.sample(ask(&json!({ "text": "canary-of-an-answer" }))).await.unwrap();
    let text = world.metrics().await;
    let tenant = world.demo.tenant.to_string();
    for word in ["canary", &tenant, "demo-user", "demo-server", "scripted-small"] {
        assert!(!text.contains(word), "{word} in {text}");
    }
    world.close().await;
}
