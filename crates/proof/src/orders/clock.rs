//! A process whose wall clock is wrong.

use std::path::PathBuf;
use std::process::Command;

use crate::http::{Client, Delivery};
use crate::report::{Failure, ensure};

const SOURCE: &str = include_str!("../../clock/wrong_clock.c");

/// A library that makes the clock of the process that loads it wrong; removed when dropped.
pub(crate) struct WrongClock {
    folder: PathBuf,
}

impl WrongClock {
    /// Compiles the library.
    pub(crate) fn build() -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("souk-clock-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let clock = Self { folder };
        std::fs::write(clock.folder.join("clock.c"), SOURCE)?;
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(clock.library());
        let output = compiler.arg(clock.folder.join("clock.c")).output()?;
        ensure(output.status.success(), || String::from_utf8_lossy(&output.stderr).into_owned())?;
        Ok(clock)
    }

    fn library(&self) -> PathBuf {
        self.folder.join("clock.so")
    }

    /// Returns the environment of a process whose clock is ahead by this many seconds, or behind.
    pub(crate) fn ahead_by(&self, seconds: i64) -> Vec<(&'static str, String)> {
        let library = self.library().to_string_lossy().into_owned();
        vec![("LD_PRELOAD", library), ("WRONG_CLOCK_SECONDS", seconds.to_string())]
    }
}

impl Drop for WrongClock {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Returns the time of day of a server, in seconds, from the header `Date` of a response.
pub(super) async fn time_of_day(port: u16) -> Result<i64, Failure> {
    let mut client = Client::new(port);
    let Delivery::Answered { status: 200, .. } = client.get("/health/ready").await else {
        return Err("the server is not ready".into());
    };
    // Tue, 17 Nov 2026 05:29:14 GMT
    let date = client.header("date").ok_or("a response without a date")?;
    let time = date.split(' ').nth(4).ok_or("a date without a time")?;
    let parts: Vec<i64> = time.split(':').filter_map(|part| part.parse().ok()).collect();
    let [hours, minutes, seconds] = parts[..] else { return Err(format!("a date: {date}").into()) };
    Ok(hours * 3_600 + minutes * 60 + seconds)
}
