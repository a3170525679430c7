//! Directories that are gone when the test process is, however it ends.

use std::{
    env, fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

/// Waits for the other end of its input to close, ends the broker whose process
/// is named, lets a server finish, and removes the directory.
const UNDERTAKER: &str = r#"
read -r _
[ -f "$1/broker.pid" ] && kill "$(cat "$1/broker.pid")" 2>/dev/null
i=0
while [ -n "$(find "$1" -maxdepth 4 -name postmaster.pid 2>/dev/null)" ] && [ $i -lt 100 ]; do
  sleep 0.1
  i=$((i + 1))
done
rm -rf "$1"
"#;

/// A directory under the system's temporary one. Dropping it removes it at once;
/// a shell outside this process removes it when the process ends, since statics
/// are not dropped and a killed process drops nothing.
pub(crate) struct TempDir {
    path: PathBuf,
    undertaker: Child,
}

impl TempDir {
    pub(crate) fn new(name: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            env::temp_dir().join(format!("bursar-test-{}-{number}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let undertaker = Command::new("sh")
            .args(["-c", UNDERTAKER, "undertaker"])
            .arg(&path)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { path, undertaker }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        drop(self.undertaker.stdin.take());
        // It sees to the rest; a failure shows as a directory left behind.
        let _ = self.undertaker.wait();
    }
}
