//! Compiles the protos without a system protoc.

use std::{env, fs, path::PathBuf};

use protox::prost::Message;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    println!("cargo:rerun-if-changed=migrations");
    // One service a file, each of them.
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir("proto/bursar/v1")? {
        files.push(entry?.path());
    }
    files.retain(|it| it.extension().is_some_and(|it| it == "proto"));
    files.sort();
    let descriptors = protox::compile(files, ["proto"])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("descriptor.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    Ok(())
}
