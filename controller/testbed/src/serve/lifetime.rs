//! When the testbed ends: on SIGTERM or SIGINT, at the end of a piped standard input, and when its parent is gone.

use std::os::unix::fs::FileTypeExt;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::signal::unix::{SignalKind, signal};

/// How often the parent is looked for.
const PARENT_INTERVAL: Duration = Duration::from_millis(250);

/// Returns when the testbed shall end. Standard input only counts where it is a pipe, which somebody holds open for as
/// long as the testbed is wanted; a terminal or /dev/null says nothing.
///
/// # Errors
/// When signals cannot be listened for.
pub async fn ended() -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = input_closed() => {}
        () = parent_gone() => {}
    }
    Ok(())
}

async fn input_closed() {
    let piped = std::fs::metadata("/proc/self/fd/0").is_ok_and(|input| input.file_type().is_fifo());
    if !piped {
        return std::future::pending().await;
    }
    let mut buffer = [0; 256];
    let mut input = tokio::io::stdin();
    while input.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
}

async fn parent_gone() {
    let parent = std::os::unix::process::parent_id();
    while std::os::unix::process::parent_id() == parent {
        tokio::time::sleep(PARENT_INTERVAL).await;
    }
}
