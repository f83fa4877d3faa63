//! PNG charts: built on demand, because the rasteriser takes longer to compile than everything else together.

use std::path::PathBuf;
use std::time::Duration;

use controller::failure::{Kind, Result};
use controller::on_demand::Program;
use controller::process::{Command, Session};

use crate::context::Context;

const RENDERER: Program<'_> =
    Program { package: "reports-png", sources: &["reports/png/Cargo.toml", "reports/png/src", "reports/png/font"] };
const DRAW_LIMIT: Duration = Duration::from_secs(5 * 60);

/// Draws each SVG as a PNG beside it.
pub fn draw(charts: &[PathBuf], context: &Context) -> Result<()> {
    if charts.is_empty() {
        return Ok(());
    }
    let session = Session::unrecorded();
    let program = RENDERER
        .built(&context.root, &session, || {
            eprintln!("building the PNG renderer, once: this takes a minute or two (SVG charts need no build)");
        })
        .map_err(|failure| {
            failure.hint("leave `png` out of `--format`: the SVG charts and report.html show the same")
        })?;
    let drawn = Command::new("draw charts", &program).args(charts).timeout(DRAW_LIMIT).run(&session);
    drawn.map(|_| ()).map_err(|error| error.failure(Kind::Internal))
}
