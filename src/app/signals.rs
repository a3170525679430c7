//! When the process is asked to end.

use anyhow::Result;
use tokio::signal::unix::{SignalKind, signal};

/// Waits for the terminal's interrupt or the system's request to end.
pub async fn asked_to_end() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
