//! The static SVG writer.

use super::layout::{
    LEFT, MARGIN, PLOT_HEIGHT, PLOT_WIDTH, WIDTH, coordinate as c, fitted, marker_path, spread_out, text_width, wrap,
};
use super::scale::Domain;
use super::theme::{DARK, LIGHT, css};
use super::{Chart, Scale, Series};
use crate::render::text::{number, plain, xml};

const TITLE: f64 = 17.0;
const SUBTITLE: f64 = 12.5;
const LEGEND: f64 = 12.5;
const TICK: f64 = 11.5;
const FOOTER: f64 = 10.5;

/// Draws `chart` as a complete SVG document: light by its attributes, dark where the viewer prefers it.
pub fn draw(chart: &Chart) -> String {
    let (body, height) = body(chart);
    let style = format!("<style>@media screen and (prefers-color-scheme: dark){{{}}}</style>\n", css(&DARK, ""));
    let font = "font-family=\"Inter, system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif\"";
    document(chart, &format!("xmlns=\"http://www.w3.org/2000/svg\" {font}"), &style, &body, height)
}

/// Draws `chart` for an HTML document that has the style rules of [`css`] and a font of its own.
pub fn draw_inline(chart: &Chart) -> String {
    let (body, height) = body(chart);
    document(chart, "", "", &body, height)
}

fn body(chart: &Chart) -> (String, f64) {
    let mut canvas = Canvas::default();
    let top = canvas.head(chart);
    let plot = Plot::new(chart, top);
    plot.grid(chart, &mut canvas);
    if let Some(name) = &chart.identity {
        plot.identity(name, &mut canvas);
    }
    for series in &chart.series {
        plot.band(series, &mut canvas);
    }
    // The baseline is drawn last of all lines: where lines coincide, the reader should see that it is there.
    for series in chart.series.iter().rev() {
        plot.line(series, &mut canvas);
    }
    plot.last_values(chart, &mut canvas);
    let height = canvas.foot(chart, plot.bottom() + 60.0);
    (canvas.body, height)
}

fn document(chart: &Chart, attributes: &str, style: &str, body: &str, height: f64) -> String {
    let (id, width, height) = (xml(&chart.id), c(WIDTH), c(height.ceil()));
    let description = xml(&description(chart));
    format!(
        "<svg {attributes} viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-labelledby=\"{id}-title {id}-description\">\n<title id=\"{id}-title\">{}</title>\n\
         <desc id=\"{id}-description\">{description}</desc>\n{style}\
         <rect class=\"paper\" width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n{body}</svg>\n",
        xml(&chart.title),
        LIGHT.paper
    )
}

/// The chart in words: for those who do not see it, every line's first and last value.
fn description(chart: &Chart) -> String {
    let mut words = vec![chart.subtitle.clone()];
    for series in &chart.series {
        let mut points = series.points.iter().filter_map(super::Point::position);
        words.push(match (points.next(), points.next_back()) {
            (Some((x, y)), Some((u, v))) => {
                format!("{}: {} at {}, {} at {}.", series.name, number(y), plain(x), number(v), plain(u))
            }
            (Some((x, y)), None) => format!("{}: {} at {}.", series.name, number(y), plain(x)),
            (None, _) => format!("{}: n/a.", series.name),
        });
    }
    words.join(" ")
}

/// How a text looks.
struct Style<'a> {
    size: f64,
    class: &'a str,
    fill: &'static str,
}

/// Main text of this size.
fn ink(size: f64) -> Style<'static> {
    Style { size, class: "ink", fill: LIGHT.ink }
}

/// Secondary text of this size.
fn muted(size: f64) -> Style<'static> {
    Style { size, class: "muted", fill: LIGHT.muted }
}

#[derive(Default)]
struct Canvas {
    body: String,
}

impl Canvas {
    fn push(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    /// Text at (`x`, `y`); `rest` is further attributes.
    fn text(&mut self, (x, y): (f64, f64), style: &Style, rest: &str, text: &str) {
        let Style { size, class, fill } = style;
        self.push(&format!(
            "<text class=\"{class}\" x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{fill}\"{rest}>{}</text>",
            c(x),
            c(y),
            c(*size),
            xml(text)
        ));
    }

    /// Title, subtitle, legend; returns where the plot may begin.
    fn head(&mut self, chart: &Chart) -> f64 {
        let mut y = 30.0;
        let stamp = chart.stamp.unwrap_or_default();
        let stamp_room = text_width(stamp, FOOTER) + 24.0;
        let title = fitted(&chart.title, TITLE, WIDTH - 2.0 * MARGIN - stamp_room);
        self.text((MARGIN, y), &ink(TITLE), " font-weight=\"600\"", &title);
        if !stamp.is_empty() {
            let rest = " text-anchor=\"end\" letter-spacing=\"0.8\"";
            self.text((WIDTH - MARGIN, y - 1.0), &muted(FOOTER), rest, stamp);
        }
        for line in wrap(&chart.subtitle, SUBTITLE, WIDTH - 2.0 * MARGIN) {
            y += 18.0;
            self.text((MARGIN, y), &muted(SUBTITLE), "", &line);
        }
        y += 26.0;
        let mut x = MARGIN + 2.0;
        for series in &chart.series {
            let name = fitted(&series.name, LEGEND, 320.0);
            let width = 30.0 + text_width(&name, LEGEND) + 18.0;
            if x > MARGIN + 2.0 && x + width > WIDTH - MARGIN {
                x = MARGIN + 2.0;
                y += 20.0;
            }
            let slot = series.slot;
            self.push(&format!(
                "<path class=\"s{k}\" d=\"M{} {}h22\" stroke=\"{}\" stroke-width=\"2\"/>",
                c(x),
                c(y - 4.0),
                colour(slot),
                k = slot % LIGHT.series.len(),
            ));
            self.mark(slot, x + 11.0, y - 4.0, "");
            self.text((x + 30.0, y), &ink(LEGEND), "", &name);
            x += width;
        }
        y + 20.0
    }

    /// A marker with a rim in the paper's colour, so that overlapping ones stay apart.
    fn mark(&mut self, slot: usize, x: f64, y: f64, title: &str) {
        let (path, hollow) = marker_path(slot, x, y);
        let (k, colour) = (slot % LIGHT.series.len(), colour(slot));
        let title = if title.is_empty() { String::new() } else { format!("<title>{}</title>", xml(title)) };
        self.push(&if hollow {
            format!(
                "<path class=\"s{k} paper\" d=\"{path}\" fill=\"{}\" stroke=\"{colour}\" stroke-width=\"1.6\">{title}</path>",
                LIGHT.paper
            )
        } else {
            format!("<path class=\"f{k}\" d=\"{path}\" fill=\"{colour}\">{title}</path>")
        });
    }

    /// Footer lines from `y`; returns the drawing's height.
    fn foot(&mut self, chart: &Chart, mut y: f64) -> f64 {
        for text in &chart.footer {
            for line in wrap(text, FOOTER, WIDTH - 2.0 * MARGIN) {
                self.text((MARGIN, y), &muted(FOOTER), "", &line);
                y += 15.0;
            }
        }
        y + 4.0
    }
}

fn colour(slot: usize) -> &'static str {
    LIGHT.series[slot % LIGHT.series.len()]
}

/// The plotting area and its two domains.
struct Plot {
    top: f64,
    x: Domain,
    y: Domain,
}

impl Plot {
    fn new(chart: &Chart, top: f64) -> Self {
        let points = || chart.series.iter().flat_map(|series| &series.points);
        let xs = points().filter_map(|point| point.x);
        let ys = points().flat_map(|point| {
            let (low, high) = point.spread.unzip();
            [point.y, low, high].into_iter().flatten()
        });
        Self { top, x: Domain::over(xs, chart.x.scale, 8), y: Domain::over(ys, chart.y.scale, 5) }
    }

    fn bottom(&self) -> f64 {
        self.top + PLOT_HEIGHT
    }

    fn place_x(&self, value: f64) -> Option<f64> {
        Some(LEFT + self.x.share(value)? * PLOT_WIDTH)
    }

    fn place_y(&self, value: f64) -> Option<f64> {
        Some(self.bottom() - self.y.share(value)? * PLOT_HEIGHT)
    }

    fn place(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        Some((self.place_x(x)?, self.place_y(y)?))
    }

    fn grid(&self, chart: &Chart, canvas: &mut Canvas) {
        for tick in &self.y.ticks {
            let Some(y) = self.place_y(*tick) else { continue };
            canvas.push(&format!(
                "<path class=\"grid\" d=\"M{} {}h{}\" stroke=\"{}\"/>",
                c(LEFT),
                c(y),
                c(PLOT_WIDTH),
                LIGHT.grid
            ));
            canvas.text((LEFT - 8.0, y + 4.0), &muted(TICK), " text-anchor=\"end\"", &plain(*tick));
        }
        let (left, bottom) = (c(LEFT), c(self.bottom()));
        canvas.push(&format!(
            "<path class=\"axis\" d=\"M{left} {bottom}h{}\" stroke=\"{}\"/>",
            c(PLOT_WIDTH),
            LIGHT.muted
        ));
        for tick in &self.x.ticks {
            let Some(x) = self.place_x(*tick) else { continue };
            canvas.push(&format!("<path class=\"axis\" d=\"M{} {bottom}v5\" stroke=\"{}\"/>", c(x), LIGHT.muted));
            let anchor = " text-anchor=\"middle\"";
            canvas.text((x, self.bottom() + 18.0), &muted(TICK), anchor, &plain(*tick));
        }
        let scaled = |axis: &super::Axis| match axis.scale {
            Scale::Linear => axis.label.clone(),
            Scale::Log => format!("{}, log scale", axis.label),
        };
        let middle = " text-anchor=\"middle\"";
        let x_middle = LEFT + PLOT_WIDTH / 2.0;
        canvas.text((x_middle, self.bottom() + 37.0), &muted(TICK), middle, &scaled(&chart.x));
        let (x, y) = (16.0, self.top + PLOT_HEIGHT / 2.0);
        let turned = format!(" text-anchor=\"middle\" transform=\"rotate(-90 {} {})\"", c(x), c(y));
        canvas.text((x, y), &muted(TICK), &turned, &scaled(&chart.y));
    }

    /// The line y = x, as far as both axes show it.
    fn identity(&self, name: &str, canvas: &mut Canvas) {
        let end = self.x.high.min(self.y.high);
        let start = self.x.low.max(self.y.low);
        let (Some((x1, y1)), Some((x2, y2))) = (self.place((start, start)), self.place((end, end))) else { return };
        canvas.push(&format!(
            "<path class=\"axis\" d=\"M{} {}L{} {}\" stroke=\"{}\" stroke-dasharray=\"3 4\" fill=\"none\"/>",
            c(x1),
            c(y1),
            c(x2),
            c(y2),
            LIGHT.muted
        ));
        let beyond = x2 + text_width(name, FOOTER) > LEFT + PLOT_WIDTH;
        // To the left it stands above the line, which falls away from its end.
        let (anchor, dx) = if beyond { (" text-anchor=\"end\"", -24.0) } else { ("", 8.0) };
        canvas.text((x2 + dx, y2 + 10.0), &muted(FOOTER), anchor, name);
    }

    /// Runs of consecutive points that can be shown; a gap ends a run.
    fn runs<T>(&self, series: &Series, pick: impl Fn(&super::Point) -> Option<T>) -> Vec<Vec<T>> {
        let mut runs = vec![Vec::new()];
        for point in &series.points {
            match pick(point) {
                Some(placed) => {
                    if let Some(run) = runs.last_mut() {
                        run.push(placed);
                    }
                }
                None => runs.push(Vec::new()),
            }
        }
        runs.retain(|run| !run.is_empty());
        runs
    }

    fn band(&self, series: &Series, canvas: &mut Canvas) {
        let edges = |point: &super::Point| {
            let x = self.place_x(point.x?)?;
            let (low, high) = point.spread?;
            Some((x, self.place_y(low)?, self.place_y(high)?))
        };
        let (k, colour) = (series.slot % LIGHT.series.len(), colour(series.slot));
        for run in self.runs(series, edges) {
            if let [(x, low, high)] = run[..] {
                canvas.push(&format!(
                    "<path class=\"s{k}\" d=\"M{} {}V{}\" stroke=\"{colour}\" stroke-width=\"6\" stroke-opacity=\"0.25\"/>",
                    c(x),
                    c(low),
                    c(high)
                ));
                continue;
            }
            let upper = run.iter().map(|(x, _, high)| format!("{} {}", c(*x), c(*high)));
            let lower = run.iter().rev().map(|(x, low, _)| format!("{} {}", c(*x), c(*low)));
            let outline: Vec<String> = upper.chain(lower).collect();
            canvas.push(&format!(
                "<path class=\"f{k}\" d=\"M{}Z\" fill=\"{colour}\" fill-opacity=\"0.16\"/>",
                outline.join("L")
            ));
        }
    }

    fn line(&self, series: &Series, canvas: &mut Canvas) {
        let (k, colour) = (series.slot % LIGHT.series.len(), colour(series.slot));
        for run in self.runs(series, |point| self.place(point.position()?)) {
            if run.len() < 2 {
                continue;
            }
            let path: Vec<String> = run.iter().map(|(x, y)| format!("{} {}", c(*x), c(*y))).collect();
            canvas.push(&format!(
                "<path class=\"s{k}\" d=\"M{}\" stroke=\"{colour}\" stroke-width=\"2\" stroke-linejoin=\"round\" fill=\"none\"/>",
                path.join("L")
            ));
        }
        if series.dense {
            return;
        }
        for point in &series.points {
            if let Some((value, (x, y))) = point.position().and_then(|value| Some((value, self.place(value)?))) {
                let title = format!("{}: {} at {}", series.name, number(value.1), plain(value.0));
                canvas.mark(series.slot, x, y, &title);
            }
        }
    }

    /// The value of each line's last point, written beside it.
    fn last_values(&self, chart: &Chart, canvas: &mut Canvas) {
        let mut labels = Vec::new();
        for series in chart.series.iter().filter(|series| !series.dense) {
            let last = series.points.iter().rev().find_map(super::Point::position);
            let placed = last.and_then(|last| Some((last.1, self.place(last)?)));
            if let Some((value, (x, y))) = placed {
                labels.push((series.slot, value, x, y));
            }
        }
        let wanted: Vec<f64> = labels.iter().map(|label| label.3).collect();
        let heights = spread_out(&wanted, 14.0, self.top + 2.0, self.bottom() - 2.0);
        for ((slot, value, x, _), y) in labels.into_iter().zip(heights) {
            let class = format!("f{}", slot % LIGHT.series.len());
            let style = Style { size: TICK, class: &class, fill: colour(slot) };
            canvas.text((x + 9.0, y + 4.0), &style, " font-weight=\"600\"", &number(value));
        }
    }
}
