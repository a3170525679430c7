//! The shape of the code, tested like any other behaviour: which module may name
//! which, who owns a foreign crate, how long a file may be.
//!
//! The rules are the table; `paths` reads sources; the tests at the end prove on
//! small sources that each rule can fail.

mod paths;

use std::{
    fs,
    path::{Path, PathBuf},
};

use self::paths::{Source, names, tokens};

/// From the top of the house to the ground: a module may name those after it.
const ORDER: [&str; 25] = [
    "main",
    "cli",
    "app",
    "mcp_proxy",
    "client",
    "transport",
    "console",
    "call",
    "envelope",
    "guard",
    "ledger",
    "admin",
    "notify",
    "budget",
    "routing",
    "catalogue",
    "identity",
    "vault",
    "duty",
    "backend",
    "store",
    "tokens",
    "prices",
    "domain",
    "lib",
];
/// Those that may name less than the order lets them.
const NARROWER: [(&str, &[&str]); 6] = [
    ("main", &["cli"]),
    ("mcp_proxy", &["client", "domain"]),
    ("client", &["domain"]),
    ("backend", &["domain"]),
    ("store", &["domain"]),
    ("prices", &["domain"]),
];
/// Named by all but the domain; they name each other and the domain.
const LEAVES: [&str; 6] = ["proto", "config", "telemetry", "net", "clock", "tasks"];
/// Which modules may name a foreign crate.
const OWNERS: [(&str, &[&str]); 20] = [
    ("sqlx", &["store"]),
    ("tonic", &["transport", "client", "cli", "proto"]),
    ("tonic_health", &["transport", "client", "cli"]),
    ("tonic_prost", &["proto"]),
    ("tonic_reflection", &["transport"]),
    ("tonic_types", &["transport", "client", "cli"]),
    ("prost", &["proto", "transport", "client"]),
    ("prost_types", &["proto", "transport", "client"]),
    ("axum", &["transport", "console"]),
    ("async_openai", &["backend"]),
    ("bpe_openai", &["tokens"]),
    ("reqwest", &["net", "backend"]),
    ("ring", &["vault"]),
    ("opentelemetry", &["telemetry"]),
    ("opentelemetry_prometheus", &["telemetry"]),
    ("opentelemetry_sdk", &["telemetry"]),
    ("prometheus", &["telemetry"]),
    ("figment", &["config"]),
    ("clap", &["cli", "main"]),
    ("nix", &["app", "cli", "clock"]),
];
/// What would make the domain impure.
const NOT_IN_DOMAIN: [&str; 6] = ["serde", "serde_json", "tokio", "tracing", "async", "await"];
const FILE_LINES_MAX: usize = 400;
const UNSAFE_EXCEPTIONS_MAX: usize = 1;

fn may_name(module: &str, named: &str) -> bool {
    let place = |it: &str| ORDER.iter().position(|name| *name == it);
    let leaf = |it: &str| LEAVES.contains(&it);
    if module == named || (leaf(named) && module != "domain") {
        return true;
    }
    if leaf(module) {
        return named == "domain";
    }
    let (Some(from), Some(to)) = (place(module), place(named)) else { return false };
    let narrower = NARROWER.iter().find(|(it, _)| *it == module);
    from < to && narrower.is_none_or(|(_, may)| may.contains(&named))
}

/// Everything that is wrong with one source.
fn problems(source: &Source) -> Vec<String> {
    let module = source.module();
    let tokens = tokens(&source.text);
    let mut found = Vec::new();
    for named in names(&tokens, &source.path) {
        if module != "lib" && !may_name(module, &named) {
            found.push(format!("{module} names {named}"));
        }
    }
    for (foreign, owners) in OWNERS {
        if paths::uses(&tokens, foreign) && !owners.contains(&module) {
            found.push(format!("{module} names the crate {foreign}"));
        }
    }
    for word in NOT_IN_DOMAIN {
        let there = tokens.iter().any(|it| it == word);
        if module == "domain" && there {
            found.push(format!("domain knows {word}"));
        }
    }
    let lines = source.text.lines().count();
    if lines > FILE_LINES_MAX {
        found.push(format!("{lines} lines"));
    }
    found
}

#[test]
fn the_house_is_tidy() {
    let mut found = Vec::new();
    for (file, source) in sources() {
        let all = problems(&source);
        found.extend(all.into_iter().map(|it| format!("{}: {it}", file.display())));
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn unsafe_code_has_one_exception_at_most() {
    let excepted = |source: &Source| tokens(&source.text).iter().any(|it| it == "unsafe_code");
    let all: Vec<_> = sources().into_iter().filter(|(_, it)| excepted(it)).collect();
    assert!(
        all.len() <= UNSAFE_EXCEPTIONS_MAX,
        "{:?}",
        all.iter().map(|it| &it.0).collect::<Vec<_>>()
    );
}

/// Every source file of the crate.
fn sources() -> Vec<(PathBuf, Source)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut dirs = vec![root.clone()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let inside = path.strip_prefix(&root).unwrap().to_owned();
                let text = fs::read_to_string(&path).unwrap();
                found.push((inside.clone(), Source::new(&inside, text)));
            }
        }
    }
    assert!(found.len() > 10, "where is the source?");
    found
}

#[test]
fn every_migration_is_embedded() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = fs::read_to_string(root.join("src/store/migrate.rs")).unwrap();
    let files = fs::read_dir(root.join("migrations")).unwrap().map(|it| it.unwrap().path());
    for file in files.filter(|it| it.extension().is_some_and(|it| it == "sql")) {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(list.contains(&format!("\"{name}\"")), "{name} is never applied");
    }
}

// === Each rule can fail ===

fn check(file: &str, text: &str, expected: &[&str]) {
    assert_eq!(problems(&Source::new(Path::new(file), text.to_owned())), expected, "{text}");
}

#[test]
fn a_module_may_name_what_comes_after_it_and_the_leaves() {
    check("call/hold.rs", "use crate::budget::Lane; use crate::{domain::Hold, clock};", &[]);
    check("budget/lane.rs", "use crate::store::Db; use super::decide; fn f() { self::g() }", &[]);
    check("net.rs", "use crate::{config, domain::Fault};", &[]);
    check("main.rs", "fn main() { bursar::cli::run() }", &[]);
}

#[test]
fn an_upward_name_is_found_however_it_is_written() {
    let check = |text| check("store/hold.rs", text, &["store names call"]);
    check("use crate::call::Stage;");
    check("use crate::{domain::Hold, call};");
    check("use crate::{\n    domain::{Hold, Limit},\n    call::{self, hold},\n};");
    check("fn f() { let it = crate::call::run(); }");
    check("pub(in crate::call) fn f() {}");
    check("fn f(_: &::bursar::call::Stage) {}");
    check("use super::super::call::Stage;");
    check("use super::{super::{call}};");
    check("mod tests { use super::super::super::call::Stage; }");
    check("macro_rules! m { () => { $crate::call::run() } }");
    check("#[doc = \"crate::budget\"] /* crate::budget /* */ */ fn f() { crate :: call :: g() }");
}

#[test]
fn what_is_only_talked_of_is_not_named() {
    check("store/hold.rs", "//! See [`crate::call`].\nconst S: &str = \"crate::call\";", &[]);
    check("store/hold.rs", "const S: &str = r#\"\"crate::call\"#; fn f<'a>(_: &'a str) {}", &[]);
    check("store/hold.rs", "const C: char = '\"'; const D: char = '\\''; // crate::call", &[]);
}

#[test]
fn the_whole_crate_is_never_named_at_once() {
    check("store/hold.rs", "use crate::*;", &["store names *"]);
    check("store/hold.rs", "use crate as all;", &["store names *"]);
    check("store.rs", "use super::*;", &["store names *"]);
    check("store/mod.rs", "mod tests { use super::*; }", &[]);
}

#[test]
fn leaves_and_the_narrow_ones_name_little() {
    check("proto/mod.rs", "use crate::store::Db;", &["proto names store"]);
    check("domain/hold.rs", "use crate::proto::Money;", &["domain names proto"]);
    check("client/mod.rs", "use crate::store::Db;", &["client names store"]);
    check("backend/openai.rs", "use crate::store::Db;", &["backend names store"]);
    check("main.rs", "fn main() { bursar::app::run() }", &["main names app"]);
    check("novel/mod.rs", "use crate::domain::Hold;", &["novel names domain"]);
    check("store/hold.rs", "use crate::novel::Thing;", &["store names novel"]);
}

#[test]
fn a_foreign_crate_has_its_owners() {
    check("store/hold.rs", "use sqlx::Row;", &[]);
    check("call/hold.rs", "use sqlx::Row;", &["call names the crate sqlx"]);
    check("call/hold.rs", "#[derive(sqlx::FromRow)] struct S;", &["call names the crate sqlx"]);
    check("call/hold.rs", "use {bytes::Bytes, ::tonic::Status};", &["call names the crate tonic"]);
    check("call/hold.rs", "use axum as web;", &["call names the crate axum"]);
    check("transport/code.rs", "use reqwest::Client;", &["transport names the crate reqwest"]);
    check("call/hold.rs", "let sqlx = 1; let it = row.sqlx; crate::budget::sqlx::f();", &[]);
}

#[test]
fn the_domain_is_pure_and_files_are_short() {
    check("domain/hold.rs", "use serde::Serialize;", &["domain knows serde"]);
    check("domain/hold.rs", "async fn f() {}", &["domain knows async"]);
    check("store/hold.rs", &"\n".repeat(400), &[]);
    check("store/hold.rs", &"\n".repeat(401), &["401 lines"]);
}
