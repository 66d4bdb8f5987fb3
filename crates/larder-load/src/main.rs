//! The program: loads what the command line says, and says what it has done.
//!
//! It ends with 0 when all was loaded, 1 when it broke off or something was rejected, 2 when the command line
//! or the mapping is wrong, or the state file is that of another load.

use larder_load::cli::{self, Parsed};
use larder_load::load::load;
use larder_load::option;
use larder_load::{Error, Result};
use std::process::ExitCode;

/// One thread makes groups and others free them, which this allocator does without their waiting for each other.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    match run() {
        Ok(is_complete) => ExitCode::from(u8::from(!is_complete)),
        Err(error) => {
            eprintln!("larder-load: {error}");
            if matches!(error, Error::Usage(_)) {
                eprintln!("Run larder-load --help for the options.");
            }
            ExitCode::from(error.exit_code())
        }
    }
}

/// Whether all was loaded.
fn run() -> Result<bool> {
    let options = match cli::parse(std::env::args_os().skip(1))? {
        Parsed::Help => {
            print!("{}", option::summary());
            return Ok(true);
        }
        Parsed::Version => {
            println!("larder-load {}", env!("CARGO_PKG_VERSION"));
            return Ok(true);
        }
        Parsed::Load(options) => options,
    };
    let report = load(&options)?;
    print!("{}", cli::describe(&report, options.dry_run));
    if let Some(failure) = &report.failure {
        eprintln!("larder-load: {failure}");
    }
    Ok(report.failure.is_none() && report.rejected == 0)
}
