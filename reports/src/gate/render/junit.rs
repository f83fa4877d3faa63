//! JUnit: a test case a row.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::super::document::Document;
use super::super::outcome::GateVerdict;
use super::super::rows::{Row, Verdict};
use super::words::describe;

/// The result as JUnit XML: a regression is a failure, missing and suspect are errors, what says nothing is skipped.
/// Problems of the whole campaign are test cases of their own, so that an invalid campaign is never all green.
///
/// # Errors
///
/// The XML cannot be written.
pub fn junit(document: &Document) -> Result<String, quick_junit::SerializeError> {
    let mut report = Report::new("regression gate");
    let mut campaign = TestSuite::new("campaign");
    for problem in &document.outcome.problems {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message(problem.what.clone());
        campaign.add_test_case(TestCase::new("the campaign is valid", status));
    }
    match document.outcome.verdict {
        GateVerdict::NoBaseline | GateVerdict::OtherIdentity => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(document.warnings.first().unwrap_or(&document.headline).clone());
            campaign.add_test_case(TestCase::new("there is a baseline", status));
        }
        _ if document.outcome.compared == 0 => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(document.headline.clone());
            campaign.add_test_case(TestCase::new("something was compared", status));
        }
        _ => {}
    }
    if !campaign.test_cases.is_empty() {
        report.add_test_suite(campaign);
    }
    let mut treatments: Vec<&str> = Vec::new();
    for row in &document.outcome.rows {
        if !treatments.contains(&row.treatment.as_str()) {
            treatments.push(&row.treatment);
        }
    }
    for treatment in treatments {
        let mut suite = TestSuite::new(treatment);
        let rows = document.outcome.rows.iter().filter(|row| row.treatment == treatment);
        suite.add_test_cases(rows.map(case));
        report.add_test_suite(suite);
    }
    report.to_string()
}

fn case(row: &Row) -> TestCase {
    let mut status = match row.verdict {
        Verdict::Regression if row.waived.is_some() => TestCaseStatus::skipped(),
        Verdict::Regression => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Verdict::Suspect | Verdict::Missing => TestCaseStatus::non_success(NonSuccessKind::Error),
        Verdict::Inconclusive | Verdict::Void | Verdict::NotGated => TestCaseStatus::skipped(),
        Verdict::Improvement | Verdict::Pass => TestCaseStatus::success(),
    };
    if !matches!(row.verdict, Verdict::Improvement | Verdict::Pass) {
        status.set_message(describe(row));
    }
    let mut case = TestCase::new(row.name(), status);
    case.set_classname(row.metric.key());
    case
}
