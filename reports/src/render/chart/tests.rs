use super::scale::Domain;
use super::*;

fn point(x: f64, y: f64) -> Point {
    Point { x: Some(x), y: Some(y), spread: None }
}

fn series(name: &str, slot: usize, points: Vec<Point>) -> Series {
    Series { name: name.to_owned(), slot, points, dense: false }
}

fn chart(series: Vec<Series>) -> Chart {
    Chart {
        id: "ttft-p50".to_owned(),
        title: "Time to first token, median".to_owned(),
        subtitle: "Lower is better.".to_owned(),
        x: Axis { label: "requested rate (requests/s)".to_owned(), scale: Scale::Linear },
        y: Axis { label: "TTFT p50 (s)".to_owned(), scale: choose_scale(&series) },
        series,
        identity: None,
        footer: vec!["Source: inference-perf.".to_owned()],
        stamp: None,
    }
}

#[test]
fn a_line_that_would_be_flat_on_a_linear_axis_makes_it_logarithmic() {
    let slow = series("service", 0, vec![point(3.0, 0.5), point(60.0, 62.9)]);
    let fast = series("routed", 1, vec![point(3.0, 0.08), point(60.0, 0.15)]);
    assert_eq!(choose_scale(&[slow.clone(), fast]), Scale::Log);
    let near = series("near", 1, vec![point(3.0, 0.4), point(60.0, 31.0)]);
    assert_eq!(choose_scale(&[slow.clone(), near]), Scale::Linear);
    let with_zero = series("zero", 1, vec![point(3.0, 0.0), point(60.0, 0.1)]);
    assert_eq!(choose_scale(&[slow, with_zero]), Scale::Linear);
}

#[test]
fn linear_domains_start_at_zero_and_end_on_a_tick_above_the_highest_value() {
    let domain = Domain::over([16_178.0, 6_910.0].into_iter(), Scale::Linear, 5);
    assert_eq!(domain.ticks, [0.0, 5_000.0, 10_000.0, 15_000.0, 20_000.0]);
    let empty = Domain::over(std::iter::empty(), Scale::Linear, 5);
    assert_eq!((empty.low, empty.high), (0.0, 1.0));
}

#[test]
fn logarithmic_domains_enclose_every_value() {
    let domain = Domain::over([0.082, 62.9].into_iter(), Scale::Log, 5);
    assert_eq!((domain.low, domain.high), (0.05, 100.0));
    assert_eq!(domain.ticks, [0.1, 1.0, 10.0, 100.0]);
    let narrow = Domain::over([2.0].into_iter(), Scale::Log, 5);
    assert_eq!((narrow.low, narrow.high), (2.0, 5.0));
    assert_eq!(domain.share(0.0), None);
}

#[test]
fn a_missing_point_leaves_a_gap_and_a_single_point_is_still_marked() {
    let gap = Point { x: Some(2.0), y: None, spread: None };
    let svg = draw(&chart(vec![series("service", 0, vec![point(1.0, 1.0), point(1.5, 1.0), gap, point(3.0, 2.0)])]));
    assert_eq!(svg.matches("stroke-linejoin").count(), 1, "one run of two points, one lone point");
    assert_eq!(svg.matches("<title>service: ").count(), 3);
    let single = draw(&chart(vec![series("service", 0, vec![point(5.0, 1.0)])]));
    assert_eq!(single.matches("<title>service: 1.00 at 5").count(), 1);
    assert!(!single.contains("NaN"));
}

#[test]
fn a_spread_is_drawn_only_where_there_are_repetitions() {
    let wide = |x: f64| Point { x: Some(x), y: Some(2.0), spread: Some((1.0, 3.0)) };
    let svg = draw(&chart(vec![series("service", 0, vec![wide(1.0), wide(2.0), point(3.0, 2.0)])]));
    assert_eq!(svg.matches("fill-opacity=\"0.16\"").count(), 1);
    assert!(svg.contains(">3<"), "the axis reaches the highest repetition");
}

#[test]
fn hostile_and_long_names_stay_text_and_inside_the_drawing() {
    let name = format!("<script>alert(1)</script>|`{}", "x".repeat(200));
    let svg = draw(&chart(vec![series(&name, 0, vec![point(1.0, 1.0)])]));
    assert!(!svg.contains("<script"));
    assert!(svg.contains("…</text>"));
}

#[test]
fn a_chart_without_any_value_has_no_data_and_still_draws() {
    let empty = chart(vec![series("service", 0, vec![Point { x: Some(1.0), y: None, spread: None }])]);
    assert!(!empty.has_data());
    assert!(draw(&empty).contains("service: n/a."));
}

#[test]
fn drawing_twice_gives_the_same_bytes() {
    let drawn = chart(vec![series("service", 0, vec![point(1.0, 0.1 + 0.2), point(2.0, 1.0 / 3.0)])]);
    assert_eq!(draw(&drawn), draw(&drawn));
}
