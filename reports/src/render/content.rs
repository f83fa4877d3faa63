//! What a report is about: which treatments are compared with which.

use crate::campaign::Campaign;
use crate::compare::{Comparison, Error, Options, Series, compare, series};

use super::page::Report;

/// The treatment that others are compared with where a campaign has it.
pub const USUAL_BASELINE: &str = "service";

/// Comparisons, and treatments that stand alone; owned, so that a [`Report`] can borrow from it.
#[derive(Clone, Debug)]
pub struct Content {
    comparisons: Vec<Comparison>,
    alone: Vec<Series>,
}

impl Content {
    /// These pairs of baseline and candidate; without any, the usual ones.
    ///
    /// # Errors
    /// When a pair cannot be compared, or no treatment has a complete repetition.
    pub fn of(campaign: &Campaign, pairs: &[(String, String)], options: &Options) -> Result<Self, Error> {
        let usual;
        let pairs = if pairs.is_empty() {
            usual = usual_pairs(campaign);
            &usual
        } else {
            pairs
        };
        let comparisons: Vec<Comparison> = pairs
            .iter()
            .map(|(baseline, candidate)| compare(campaign, baseline, candidate, options))
            .collect::<Result<_, _>>()?;
        // Without a comparison a report still shows what there is: the one treatment that was measured.
        let alone = match measured(campaign).first().filter(|_| comparisons.is_empty()) {
            Some(name) => campaign.treatment(name).map(|treatment| series(treatment, options)).transpose()?,
            None => None,
        };
        if comparisons.is_empty() && alone.is_none() {
            let names: Vec<&str> = campaign.treatments.iter().map(|treatment| treatment.name.as_str()).collect();
            return Err(Error::NoRepetition { treatment: names.join(", ") });
        }
        Ok(Self { comparisons, alone: alone.into_iter().collect() })
    }

    /// The report over it.
    pub fn report<'a>(&'a self, campaign: &'a Campaign) -> Report<'a> {
        Report::new(campaign, &self.comparisons, &self.alone)
    }

    /// The comparisons.
    pub fn comparisons(&self) -> &[Comparison] {
        &self.comparisons
    }
}

/// `service`, or else the first treatment, against every other that has a complete repetition.
pub fn usual_pairs(campaign: &Campaign) -> Vec<(String, String)> {
    let measured = measured(campaign);
    let baseline = measured.iter().find(|name| **name == USUAL_BASELINE).or(measured.first());
    let Some(baseline) = baseline else { return Vec::new() };
    let pair = |candidate: &&str| ((*baseline).to_owned(), (*candidate).to_owned());
    measured.iter().filter(|name| *name != baseline).map(pair).collect()
}

fn measured(campaign: &Campaign) -> Vec<&str> {
    let complete = campaign.treatments.iter().filter(|treatment| !treatment.repetitions.is_empty());
    complete.map(|treatment| treatment.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixture;

    fn pairs(names: &[&str]) -> Vec<(String, String)> {
        let stages = || vec![fixture::stage(0, 4.0, 0.2)];
        let treatments = names.iter().map(|name| fixture::treatment(name, &[(1, stages())])).collect();
        usual_pairs(&fixture::campaign("pairs", treatments))
    }

    #[test]
    fn service_is_the_baseline_wherever_it_stands_and_the_first_treatment_otherwise() {
        let pair = |baseline: &str, candidate: &str| (baseline.to_owned(), candidate.to_owned());
        assert_eq!(pairs(&["a", "service", "b"]), [pair("service", "a"), pair("service", "b")]);
        assert_eq!(pairs(&["x", "y"]), [pair("x", "y")]);
        assert!(pairs(&["service"]).is_empty());
    }

    #[test]
    fn a_treatment_without_a_complete_repetition_is_not_compared() {
        let ladder = || vec![fixture::stage(0, 4.0, 0.2)];
        let treatments = vec![fixture::treatment("service", &[(1, ladder())]), fixture::treatment("broken", &[])];
        let campaign = fixture::campaign("broken", treatments);
        let content = Content::of(&campaign, &[], &Options::default()).unwrap();
        assert!(content.comparisons().is_empty());
        assert_eq!(content.report(&campaign).treatments.len(), 1);
        let none = fixture::campaign("none", vec![fixture::treatment("broken", &[])]);
        assert!(matches!(Content::of(&none, &[], &Options::default()), Err(Error::NoRepetition { .. })));
    }
}
