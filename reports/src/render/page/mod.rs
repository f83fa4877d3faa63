//! What a page says, in words and numbers ready to print; Markdown and HTML differ only in how they print it.

mod evidence;
mod facts;
mod rows;
mod slo;
mod summary;

use serde::Serialize;

use crate::campaign::Campaign;
use crate::compare::{Comparison, Series};
use crate::forecast::Forecast;

use super::chart::Chart;
use super::charts::{Drawn, FIGURES, charts};

pub use evidence::Link;
pub use facts::Fact;
pub use rows::LevelRows;
pub use slo::Objectives;
pub use summary::{Cell, Summary, SummaryRow};

/// All that a report speaks about: treatments with their colours, comparisons, the campaign behind them.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// Where the numbers come from.
    pub campaign: &'a Campaign,
    /// Baselines first, each once, with the slot that it keeps on every page.
    pub treatments: Vec<Drawn<'a>>,
    /// The comparisons, in the order in which they were asked for.
    pub comparisons: &'a [Comparison],
    /// The forecast that the campaign is, or that it is held against.
    pub forecast: Option<&'a Forecast>,
}

/// A table with its heading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Section {
    /// Heading.
    pub title: String,
    /// Sentences above the table.
    pub text: Vec<String>,
    /// Heads of the columns.
    pub columns: Vec<String>,
    /// Rows, one cell a column.
    pub rows: Vec<Vec<String>>,
}

/// A chart's place on a page.
#[derive(Clone, Debug, Serialize)]
pub struct ChartView {
    /// File stem.
    pub id: String,
    /// Heading.
    pub title: String,
    /// How to read it.
    pub reading: String,
    /// What it shows; empty when the chart says all itself.
    pub shows: String,
    /// What must not be read into it.
    pub hides: String,
}

/// A page: one comparison, or the campaign.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    /// Heading.
    pub title: String,
    /// The campaign's name.
    pub campaign_id: String,
    /// What simulated the model servers, where they were simulated; said in the first lines.
    pub simulator: Option<&'static str>,
    /// Real proxies with their versions, in the order of the treatments.
    pub proxies: Vec<String>,
    /// Whether nobody measured: computed in virtual time; said in the first lines instead.
    pub forecast: bool,
    /// One line: model, hardware, load generator, repetitions.
    pub subject: String,
    /// The treatments' names, baseline first.
    pub treatments: Vec<String>,
    /// One table for each baseline.
    pub summaries: Vec<Summary>,
    /// Sentences on peak, knee, saturation and limits.
    pub turns: Vec<String>,
    /// How objectives are met; `None` when none were given.
    pub slo: Option<Objectives>,
    /// What the numbers can and cannot tell.
    pub notes: Vec<String>,
    /// Tables of their own, such as what a forecast says about repetitions.
    pub sections: Vec<Section>,
    /// Charts in order.
    pub charts: Vec<ChartView>,
    /// The table of all rates.
    pub levels: LevelRows,
    /// How to read ITL here; `None` where it was not measured.
    pub itl: Option<String>,
    /// Failures by treatment and label.
    pub failures: Vec<summary::FailureRow>,
    /// Whether any request failed or may have failed.
    pub any_failure: bool,
    /// Identity of the campaign: what must match for runs to be comparable.
    pub configuration: Vec<Fact>,
    /// What was deployed, by treatment.
    pub deployed: Vec<Fact>,
    /// How the campaign came about.
    pub provenance: Vec<Fact>,
    /// Evidence folders, linked where the link resolves.
    pub evidence: Vec<Link>,
    /// Pages of single comparisons, from the campaign's page.
    pub comparisons: Vec<Link>,
}

impl<'a> Report<'a> {
    /// A report over `comparisons`, and over `alone`: treatments that are in none of them.
    pub fn new(campaign: &'a Campaign, comparisons: &'a [Comparison], alone: &'a [Series]) -> Self {
        let baselines = comparisons.iter().map(|comparison| &comparison.baseline);
        let candidates = comparisons.iter().map(|comparison| &comparison.candidate);
        let mut treatments: Vec<Drawn> = Vec::new();
        for treatment in baselines.chain(candidates).chain(alone) {
            if treatments.iter().all(|drawn| drawn.treatment.name != treatment.name) {
                treatments.push(Drawn { treatment, slot: treatments.len() });
            }
        }
        Self { campaign, treatments, comparisons, forecast: None }
    }

    /// The same with what a forecast says about it: bands in charts, tables on pages.
    #[must_use]
    pub fn with_forecast(self, forecast: &'a Forecast) -> Self {
        Self { forecast: Some(forecast), ..self }
    }

    /// The treatments of one comparison, in the campaign's colours.
    pub fn drawn(&self, comparison: &'a Comparison) -> Vec<Drawn<'a>> {
        let slot = |name: &str| {
            self.treatments.iter().find(|drawn| drawn.treatment.name == name).map_or(0, |drawn| drawn.slot)
        };
        [&comparison.baseline, &comparison.candidate]
            .map(|treatment| Drawn { treatment, slot: slot(&treatment.name) })
            .to_vec()
    }

    /// Whether any of the report's treatments ran on simulated components.
    pub fn simulated(&self) -> bool {
        self.treatments.iter().any(|drawn| drawn.treatment.stack.is_simulated())
    }

    /// The charts of the campaign's page.
    pub fn charts(&self) -> Vec<Chart> {
        let charts = charts(&self.treatments, &self.campaign.manifest.campaign_id, self.simulated());
        self.overlaid(charts, &self.treatments)
    }

    /// The charts of one comparison's page.
    pub fn comparison_charts(&self, comparison: &'a Comparison) -> Vec<Chart> {
        let drawn = self.drawn(comparison);
        self.overlaid(charts(&drawn, &comparison.campaign_id, comparison.simulated), &drawn)
    }

    fn overlaid(&self, charts: Vec<Chart>, drawn: &[Drawn]) -> Vec<Chart> {
        match self.forecast {
            Some(forecast) => charts.into_iter().map(|chart| forecast.overlaid(chart, drawn)).collect(),
            None => charts,
        }
    }

    /// The page over all treatments.
    pub fn campaign_page(&self, charts: &[Chart], place: &evidence::Place) -> Page {
        let comparisons: Vec<&Comparison> = self.comparisons.iter().collect();
        let title = match self.treatments.as_slice() {
            [only] => only.treatment.display_name.clone(),
            _ => format!("Benchmark {}", self.campaign.manifest.campaign_id),
        };
        let links = self.comparisons.iter().map(|comparison| Link {
            label: format!("{} against {}", comparison.candidate.display_name, comparison.baseline.display_name),
            href: format!("{}/README.md", evidence::encoded(&folder(comparison))),
        });
        let mut page = self.page(title, &self.treatments, &comparisons, charts, place);
        page.comparisons = links.collect();
        page
    }

    /// The page of one comparison.
    pub fn comparison_page(&self, comparison: &'a Comparison, charts: &[Chart], place: &evidence::Place) -> Page {
        let title = format!("{} against {}", comparison.candidate.display_name, comparison.baseline.display_name);
        self.page(title, &self.drawn(comparison), &[comparison], charts, place)
    }

    fn page(
        &self,
        title: String,
        drawn: &[Drawn],
        comparisons: &[&Comparison],
        charts: &[Chart],
        place: &evidence::Place,
    ) -> Page {
        let treatments: Vec<&Series> = drawn.iter().map(|drawn| drawn.treatment).collect();
        let failures = summary::failures(&treatments);
        let failed = |treatment: &&Series| treatment.totals.failures.is_none_or(|failures| failures > 0);
        Page {
            title,
            campaign_id: self.campaign.manifest.campaign_id.clone(),
            simulator: treatments.iter().find_map(|treatment| treatment.stack.simulator()),
            proxies: facts::proxies(&treatments),
            forecast: treatments.iter().any(|treatment| treatment.is_forecast()),
            subject: facts::subject(self.campaign, &treatments),
            treatments: treatments.iter().map(|treatment| treatment.display_name.clone()).collect(),
            summaries: summary::summaries(&treatments, comparisons),
            turns: treatments.iter().flat_map(|treatment| facts::turns(treatment)).collect(),
            slo: slo::objectives(&treatments),
            notes: facts::notes(self.campaign, &treatments, comparisons),
            sections: self.forecast.iter().flat_map(|forecast| forecast.sections(&treatments)).collect(),
            charts: charts.iter().map(chart_view).collect(),
            levels: rows::rows(&treatments, comparisons),
            itl: facts::itl(&treatments, comparisons),
            any_failure: treatments.iter().any(failed),
            failures,
            configuration: facts::flattened(&self.campaign.manifest.identity),
            deployed: facts::deployed(&treatments),
            provenance: facts::provenance(self.campaign),
            evidence: evidence::links(self.campaign, &treatments, place),
            comparisons: Vec::new(),
        }
    }
}

pub use evidence::Place;

/// The folder of one comparison's documents.
pub fn folder(comparison: &Comparison) -> String {
    format!("{}-vs-{}", comparison.baseline.name, comparison.candidate.name)
}

/// What a page says about a chart.
pub(super) fn chart_view(chart: &Chart) -> ChartView {
    let figure = FIGURES.iter().find(|figure| figure.id == chart.id);
    ChartView {
        id: chart.id.clone(),
        title: chart.title.clone(),
        reading: chart.subtitle.clone(),
        shows: figure
            .map_or_else(|| chart.footer.first().cloned().unwrap_or_default(), |figure| figure.shows.to_owned()),
        hides: figure.map_or_else(String::new, |figure| figure.hides.to_owned()),
    }
}
