//! The server's log, as far as it is about one database.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;
use sqlx::{Connection, PgConnection};

/// A statement that ran, and how.
#[derive(Debug)]
pub(super) struct Logged {
    pub(super) query: String,
    pub(super) plan: Value,
}

/// Reads the plans that `auto_explain` logs.
pub(super) struct Plans {
    url: String,
    database: String,
    log: PathBuf,
    from: u64,
}

impl Plans {
    pub(super) async fn of(url: &str) -> Self {
        let mut owner = PgConnection::connect(url).await.unwrap();
        let (database, data): (String, String) =
            sqlx::query_as("select current_database(), current_setting('data_directory')")
                .fetch_one(&mut owner)
                .await
                .unwrap();
        let log = Path::new(&data).parent().unwrap().join("log");
        Self { url: url.to_owned(), database, log, from: 0 }
    }

    /// A connection of the owner whose own statements are not logged.
    pub(super) async fn unlogged(&self) -> PgConnection {
        let mut owner = PgConnection::connect(&self.url).await.unwrap();
        let off = "set auto_explain.log_min_duration = -1";
        sqlx::query(off).execute(&mut owner).await.unwrap();
        owner
    }

    /// What was logged until now is not of interest.
    pub(super) fn skip(&mut self) {
        self.from = self.log.metadata().unwrap().len();
    }

    /// What was logged since, once a statement of our own shows that all is there.
    pub(super) async fn read(&self, mark: &str) -> Vec<Logged> {
        let mut owner = PgConnection::connect(&self.url).await.unwrap();
        let marked: String =
            sqlx::query_scalar("select $1::text").bind(mark).fetch_one(&mut owner).await.unwrap();
        assert_eq!(marked, mark);
        for _ in 0..500 {
            let logged = self.parse();
            if logged.iter().any(|it| it.query == "select $1::text") {
                return logged;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{} never shows a statement's plan", self.log.display());
    }

    fn parse(&self) -> Vec<Logged> {
        let mut file = File::open(&self.log).unwrap();
        file.seek(SeekFrom::Start(self.from)).unwrap();
        let mut text = Vec::new();
        file.read_to_end(&mut text).unwrap();
        let text = String::from_utf8_lossy(&text);
        let start = format!(" {} LOG:  duration: ", self.database);
        let mut logged = Vec::new();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            if !line.contains(&start) {
                continue;
            }
            let mut json = String::new();
            while let Some(more) = lines.next_if(|it| it.starts_with('\t')) {
                json.push_str(more);
            }
            // The last may be half written.
            let Ok(it) = serde_json::from_str::<Value>(&json) else { continue };
            let query = it["Query Text"].as_str().unwrap().to_owned();
            logged.push(Logged { query, plan: it["Plan"].clone() });
        }
        logged
    }
}
