//! Pages in Markdown, for GitHub.

#[cfg(test)]
mod tests;

use serde::Serialize;

use super::page::Page;
use super::templates::{Error, fill};

/// What lies beside a page.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Beside<'a> {
    /// Where the page's charts lie: empty, or ending in `/`.
    pub charts_folder: &'a str,
    /// The charts' format: `svg` or `png`.
    pub extension: &'a str,
    /// Data files in the page's folder.
    pub files: &'a [&'a str],
}

/// A page as Markdown.
pub fn page(page: &Page, beside: Beside) -> Result<String, Error> {
    #[derive(Serialize)]
    struct Context<'a> {
        page: &'a Page,
        #[serde(flatten)]
        beside: Beside<'a>,
    }
    Ok(tidy(&fill("page.md", Context { page, beside })?))
}

/// No spaces at line ends, no runs of blank lines, one newline at the end: what conditions in the template leave behind.
fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blank = true;
    for line in text.lines().map(str::trim_end) {
        if !(line.is_empty() && blank) {
            out.push_str(line);
            out.push('\n');
        }
        blank = line.is_empty();
    }
    while out.ends_with("\n\n") {
        out.pop();
    }
    out
}
