//! Draws SVG charts as PNG: `reports-png [--scale N] FILE.svg...` writes `FILE.png` beside each.
//!
//! A program of its own, because its rasteriser costs a minute of building that only those pay who ask for PNG, and because
//! one process for all of a report's charts loads the font once. The font is embedded: the same pixels on every machine.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};
use png::{BitDepth, ColorType, DeflateCompression, Encoder, Filter};
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};

/// Inter Regular, under the SIL Open Font License; see `font/OFL.txt`.
const FONT: &[u8] = include_bytes!("../font/Inter-Regular.otf");
const USAGE: &str = "usage: reports-png [--scale N] FILE.svg...";
/// 1140 pixels wide: what a page shows across its column.
const DEFAULT_SCALE: f32 = 1.5;
/// Beyond this many pixels a side an image is a mistake.
const LARGEST: f32 = 16_384.0;

fn main() -> Result<()> {
    let (scale, files) = arguments(std::env::args_os().skip(1).map(PathBuf::from))?;
    let options = options();
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(files.len());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let work = || -> Result<()> {
            while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                convert(file, scale, &options)?;
            }
            Ok(())
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(outcome) => outcome,
            Err(_) => bail!("a drawing thread panicked"),
        })
    })
}

fn arguments(given: impl Iterator<Item = PathBuf>) -> Result<(f32, Vec<PathBuf>)> {
    let mut given = given.peekable();
    let mut scale = DEFAULT_SCALE;
    if given.peek().is_some_and(|first| first == Path::new("--scale")) {
        given.next();
        let value = given.next().context(USAGE)?;
        scale = value
            .to_str()
            .and_then(|text| text.parse().ok())
            .filter(|scale| (0.1..=8.0).contains(scale))
            .with_context(|| format!("--scale is {}, which is not a number from 0.1 to 8", value.display()))?;
    }
    let files: Vec<PathBuf> = given.collect();
    if files.is_empty() {
        bail!(USAGE);
    }
    Ok((scale, files))
}

/// Every family name leads to the embedded font; files that an SVG refers to are never opened.
fn options() -> Options<'static> {
    let mut fonts = Database::new();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family("Inter");
    let mut options = Options { font_family: "Inter".to_owned(), fontdb: Arc::new(fonts), ..Options::default() };
    options.image_href_resolver.resolve_string = Box::new(|_, _| None);
    options
}

fn convert(file: &Path, scale: f32, options: &Options) -> Result<()> {
    let png = draw(&fs_err::read(file)?, scale, options).with_context(|| format!("cannot draw {}", file.display()))?;
    let target = file.with_extension("png");
    let beside = file.with_extension("png.part");
    fs_err::write(&beside, png)?;
    fs_err::rename(&beside, target)?;
    Ok(())
}

fn draw(svg: &[u8], scale: f32, options: &Options) -> Result<Vec<u8>> {
    let tree = Tree::from_data(svg, options)?;
    let (width, height) = ((tree.size().width() * scale).ceil(), (tree.size().height() * scale).ceil());
    if width.max(height) > LARGEST {
        bail!("the image would be {width} x {height} pixels");
    }
    let mut pixels = Pixmap::new(width as u32, height as u32).context("the image has no area")?;
    pixels.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    encode(&pixels)
}

/// Charts are opaque and mostly flat: without alpha and filters and with zlib-rs (chosen by this crate's manifest) they take a
/// third of the time of the rasteriser's own encoder, and less space.
fn encode(pixels: &Pixmap) -> Result<Vec<u8>> {
    let colours: Vec<u8> =
        pixels.data().as_chunks::<4>().0.iter().map(|[r, g, b, _]| [*r, *g, *b]).collect::<Vec<_>>().into_flattened();
    let mut file = Vec::with_capacity(64 * 1024);
    let mut encoder = Encoder::new(&mut file, pixels.width(), pixels.height());
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_deflate_compression(DeflateCompression::Level(3));
    encoder.set_filter(Filter::NoFilter);
    encoder.write_header()?.write_image_data(&colours)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHART: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" width="60" height="20"><rect width="60" height="20"
        fill="#fff"/><text x="2" y="15" font-family="No Such Font, sans-serif" font-size="14">60 s</text></svg>"##;

    fn pixels(svg: &str) -> Pixmap {
        Pixmap::decode_png(&draw(svg.as_bytes(), 1.0, &options()).unwrap()).unwrap()
    }

    #[test]
    fn text_is_drawn_with_the_embedded_font_whatever_family_is_named() {
        let ink = pixels(CHART).pixels().iter().filter(|pixel| pixel.red() < 128).count();
        assert!(ink > 40, "only {ink} dark pixels: the text is missing");
    }

    #[test]
    fn a_style_sheet_for_dark_viewers_leaves_the_image_light() {
        let dark = CHART.replace("<rect", "<style>@media (prefers-color-scheme: dark){rect{fill:#000}}</style><rect");
        let first = pixels(&dark).pixels()[0];
        assert_eq!((first.red(), first.green(), first.blue()), (255, 255, 255));
    }

    #[test]
    fn a_file_is_drawn_beside_its_source_and_a_broken_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("chart.svg");
        fs_err::write(&file, CHART).unwrap();
        convert(&file, 2.0, &options()).unwrap();
        let drawn = Pixmap::decode_png(&fs_err::read(folder.path().join("chart.png")).unwrap()).unwrap();
        assert_eq!((drawn.width(), drawn.height()), (120, 40));
        fs_err::write(&file, "<svg").unwrap();
        assert!(convert(&file, 2.0, &options()).unwrap_err().to_string().contains("chart.svg"));
    }

    #[test]
    fn arguments_are_checked() {
        let parse = |given: &[&str]| arguments(given.iter().map(PathBuf::from));
        assert_eq!(parse(&["--scale", "3", "a.svg"]).unwrap(), (3.0, vec![PathBuf::from("a.svg")]));
        assert_eq!(parse(&["a.svg", "b.svg"]).unwrap().1.len(), 2);
        for wrong in [&[][..], &["--scale"], &["--scale", "0", "a.svg"], &["--scale", "nan", "a.svg"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
