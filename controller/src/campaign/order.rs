//! In which order the treatments of each repetition run.

use std::fmt;

use crate::settings::Order;

/// One treatment of one repetition: the unit that is run, published and resumed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cell {
    /// The treatment's name.
    pub treatment: String,
    /// The repetition's number, from 1.
    pub repetition: u32,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} repetition {}", self.treatment, self.repetition)
    }
}

/// Every cell of a campaign in the order in which it runs: repetition by repetition.
///
/// In a rotated order repetition n starts at the nth treatment and wraps around, so that no treatment always runs first
/// (on the coldest machine) or last.
pub fn schedule(treatments: &[String], repetitions: u32, order: Order) -> Vec<Cell> {
    let mut cells = Vec::new();
    for repetition in 1..=repetitions {
        let mut row = treatments.to_vec();
        if order == Order::Rotated && !row.is_empty() {
            let start = (repetition as usize - 1) % row.len();
            row.rotate_left(start);
        }
        cells.extend(row.into_iter().map(|treatment| Cell { treatment, repetition }));
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(order: Order, repetitions: u32) -> Vec<String> {
        let treatments = ["a", "b", "c"].map(str::to_owned);
        schedule(&treatments, repetitions, order)
            .into_iter()
            .map(|cell| format!("{}{}", cell.treatment, cell.repetition))
            .collect()
    }

    #[test]
    fn a_fixed_order_repeats_itself() {
        assert_eq!(names(Order::Fixed, 2), ["a1", "b1", "c1", "a2", "b2", "c2"]);
    }

    #[test]
    fn a_rotated_order_gives_each_treatment_each_place_once() {
        assert_eq!(names(Order::Rotated, 3), ["a1", "b1", "c1", "b2", "c2", "a2", "c3", "a3", "b3"]);
        assert_eq!(names(Order::Rotated, 4)[9..], ["a4", "b4", "c4"]);
    }

    #[test]
    fn a_campaign_without_treatments_or_repetitions_has_nothing_to_run() {
        assert!(schedule(&[], 3, Order::Rotated).is_empty());
        assert!(names(Order::Fixed, 0).is_empty());
    }
}
