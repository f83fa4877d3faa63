//! `metrics.csv`: every number of every curve, one row a treatment, level and repetition.
//!
//! The first sixteen columns are those of the earlier workflow's published tables, in their order. A number that is not
//! available is an empty cell. A table can be read back: [`crate::campaign::from_metrics`].

use crate::compare::{Point, Series};
use crate::model::{INTERVALS, Level, Metric, Quantity, Stage, Statistic};
use crate::statistics::QuantileInterval;

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Column {
    /// The treatment's name.
    Treatment,
    /// A number of the stage.
    Metric(Metric),
    /// The repetition's number.
    Repetition,
    /// The stage's number in its ladder.
    Stage,
    /// Requested requests in flight, where the load was concurrent.
    Concurrency,
    /// Seconds that the rates are over.
    Seconds,
    /// The lower end of a percentile's confidence interval.
    Low(Metric),
    /// The upper end.
    High(Metric),
    /// 1 for a stage that is left out of curves, 0 otherwise.
    WarmUp,
}

/// The table's columns, in their order.
pub fn columns() -> Vec<Column> {
    use Column::{Concurrency, Metric as Of, Repetition, Seconds, Stage, Treatment, WarmUp};
    use Quantity::{Itl, Ntpot, Ttft};
    use Statistic::{Mean, P50, P90};
    let mut columns = vec![
        Treatment,
        Of(Metric::RequestedRate),
        Of(Metric::InputTokenRate),
        Of(Metric::OutputTokenRate),
        Of(Metric::TotalTokenRate),
        Of(Metric::RequestRate),
        Of(Metric::Latency(Ttft, Mean)),
        Of(Metric::Latency(Ttft, P50)),
        Of(Metric::Latency(Ttft, P90)),
        Of(Metric::Latency(Itl, Mean)),
        Of(Metric::Latency(Itl, P50)),
        Of(Metric::Latency(Ntpot, Mean)),
        Of(Metric::Latency(Ntpot, P50)),
        Of(Metric::Failures),
        Of(Metric::Requests),
        Of(Metric::FailureRate),
        Repetition,
        Stage,
        Concurrency,
        Seconds,
        WarmUp,
    ];
    for metric in Metric::all() {
        if !columns.contains(&Of(metric)) {
            columns.push(Of(metric));
        }
    }
    columns
}

/// The columns of confidence intervals, which follow where there are per-request records.
pub fn interval_columns() -> impl Iterator<Item = Column> {
    let percentiles = Quantity::ALL.into_iter().flat_map(|quantity| INTERVALS.map(|of| Metric::Latency(quantity, of)));
    percentiles.flat_map(|metric| [Column::Low(metric), Column::High(metric)])
}

impl Column {
    /// The column's head.
    pub fn head(self) -> String {
        match self {
            Self::Treatment => "treatment".into(),
            Self::Metric(metric) => metric.key(),
            Self::Repetition => "repetition".into(),
            Self::Stage => "stage".into(),
            Self::Concurrency => "requested_concurrency".into(),
            Self::Seconds => "measured_seconds".into(),
            Self::Low(metric) => format!("{}_low", metric.key()),
            Self::High(metric) => format!("{}_high", metric.key()),
            Self::WarmUp => "warm_up".into(),
        }
    }
}

/// The table of these treatments' curves; warm-up stages are not in it.
pub fn metrics(treatments: &[&Series]) -> String {
    table(treatments, |series| series.points.iter().map(|point| (point, false)).collect())
}

/// As [`metrics`], with warm-up stages before each curve: all that documents are made from.
pub fn with_warm_up(treatments: &[&Series]) -> String {
    table(treatments, |series| {
        let curve = series.points.iter().map(|point| (point, false));
        series.warm_up.iter().map(|point| (point, true)).chain(curve).collect()
    })
}

fn table<'a>(treatments: &[&'a Series], points: impl Fn(&'a Series) -> Vec<(&'a Point, bool)>) -> String {
    let mut columns = columns();
    let sampled = |series: &&Series| series.points.iter().any(Point::is_sampled);
    if treatments.iter().any(sampled) {
        columns.extend(interval_columns());
    }
    let mut text = columns.iter().map(|column| column.head()).collect::<Vec<_>>().join(",");
    text.push('\n');
    for series in treatments {
        for (point, warm_up) in points(series) {
            for (repetition, stage) in &point.repetitions {
                let row = Row { series, point, warm_up, repetition: *repetition, stage };
                text.push_str(&columns.iter().map(|&column| row.cell(column)).collect::<Vec<_>>().join(","));
                text.push('\n');
            }
        }
    }
    text
}

/// What one line speaks about.
struct Row<'a> {
    series: &'a Series,
    point: &'a Point,
    warm_up: bool,
    repetition: u32,
    stage: &'a Stage,
}

impl Row<'_> {
    fn interval(&self, metric: Metric) -> Option<QuantileInterval> {
        let runs = self.point.intervals(metric).into_iter();
        runs.filter(|run| run.repetition == self.repetition).map(|run| run.interval).next()
    }

    fn cell(&self, column: Column) -> String {
        let Self { series, point, warm_up, repetition, stage } = self;
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        match column {
            Column::Treatment => field(&series.name),
            Column::Metric(metric) => number(metric.of(stage)),
            Column::Repetition => repetition.to_string(),
            Column::Stage => stage.number.to_string(),
            Column::Concurrency => match point.level {
                Level::Concurrency(concurrency) => concurrency.to_string(),
                Level::Rate(_) => String::new(),
            },
            Column::Seconds => number(stage.throughput.seconds),
            Column::WarmUp => u8::from(*warm_up).to_string(),
            Column::Low(metric) => number(self.interval(metric).map(|interval| interval.low)),
            Column::High(metric) => number(self.interval(metric).map(|interval| interval.high)),
        }
    }
}

/// Characters at whose sight a spreadsheet takes a cell for a formula.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// A text cell: quoted where needed (RFC 4180), and never a formula to a spreadsheet.
fn field(text: &str) -> String {
    let guarded = if text.starts_with(FORMULA) { format!("'{text}") } else { text.to_owned() };
    if guarded.contains([',', '"', '\n', '\r']) { format!("\"{}\"", guarded.replace('"', "\"\"")) } else { guarded }
}

/// The text of a cell that [`metrics`] wrote, quotes already taken off.
pub(crate) fn unguarded(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|rest| rest.starts_with(FORMULA)).unwrap_or(cell)
}

/// The cells of one line; `None` when its quotes do not end. Names cannot contain line breaks, so a line is a row.
pub(crate) fn split(line: &str) -> Option<Vec<String>> {
    let mut cells = Vec::new();
    let mut rest = line;
    loop {
        let mut cell = String::new();
        let after = match rest.strip_prefix('"') {
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                cell.push_str(&rest[..end]);
                &rest[end..]
            }
            Some(mut quoted) => loop {
                let end = quoted.find('"')?;
                cell.push_str(&quoted[..end]);
                quoted = &quoted[end + 1..];
                match quoted.strip_prefix('"') {
                    Some(more) => {
                        cell.push('"');
                        quoted = more;
                    }
                    None => break quoted,
                }
            },
        };
        cells.push(cell);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Some(cells),
            None => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_columns_are_those_of_the_published_tables() {
        let published = include_str!("../../tests/fixtures/earlier/service-vs-agentgateway-gateway.csv");
        let heads: Vec<_> = columns().into_iter().map(Column::head).collect();
        assert_eq!(heads[..16].join(","), published.lines().next().unwrap());
    }

    #[test]
    fn a_name_is_never_a_formula_and_is_read_back() {
        for name in ["=1+1", "+x", "-x", "@x", "a,b", "say \"hi\"", "=\"a,b\"", "plain", "'quoted"] {
            let cell = field(name);
            assert!(!cell.trim_start_matches('"').starts_with(['=', '+', '-', '@']), "{cell}");
            let cells = split(&format!("{cell},1")).unwrap();
            assert_eq!((unguarded(&cells[0]), cells[1].as_str()), (name, "1"));
        }
        assert_eq!(split("\"open,1"), None);
        assert_eq!(split("\"a\"b,1"), None);
    }
}
