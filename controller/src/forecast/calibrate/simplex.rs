//! Downhill simplex (Nelder and Mead 1965), with the coefficients of Gao and Han (Computational Optimization and
//! Applications 51, 2012) that keep it going in several dimensions.

/// A point and its value.
type Vertex = (Vec<f64>, f64);

/// The point with the lowest value of `cost` that is found from the origin within `evaluations`, and that value. `steps`
/// are the first distances tried in each dimension. Ends early once all vertices lie within `tolerance` of the best.
pub(super) fn minimize(
    steps: &[f64],
    evaluations: usize,
    tolerance: f64,
    mut cost: impl FnMut(&[f64]) -> f64,
) -> (Vec<f64>, f64) {
    let dimensions = steps.len();
    let n = dimensions as f64;
    let (expand, contract, shrink) = (1.0 + 2.0 / n, 0.75 - 0.5 / n, 1.0 - 1.0 / n);
    let mut used = 0;
    let mut at = |point: Vec<f64>, used: &mut usize| -> Vertex {
        *used += 1;
        let value = cost(&point);
        (point, value)
    };
    let mut simplex: Vec<Vertex> = vec![at(vec![0.0; dimensions], &mut used)];
    for (dimension, step) in steps.iter().enumerate() {
        let mut point = vec![0.0; dimensions];
        point[dimension] = *step;
        simplex.push(at(point, &mut used));
    }
    loop {
        simplex.sort_by(|one, two| one.1.total_cmp(&two.1));
        let far = |vertex: &Vertex| vertex.0.iter().zip(&simplex[0].0).any(|(a, b)| (a - b).abs() > tolerance);
        if used >= evaluations || !simplex.iter().any(far) || dimensions == 0 {
            return simplex.swap_remove(0);
        }
        let centre: Vec<f64> = (0..dimensions)
            .map(|dimension| simplex[..dimensions].iter().map(|vertex| vertex.0[dimension]).sum::<f64>() / n)
            .collect();
        let worst = simplex[dimensions].clone();
        let along = |factor: f64| -> Vec<f64> {
            centre.iter().zip(&worst.0).map(|(centre, worst)| centre + factor * (worst - centre)).collect()
        };
        let reflected = at(along(-1.0), &mut used);
        let replacement = if reflected.1 < simplex[0].1 {
            let expanded = at(along(-expand), &mut used);
            Some(if expanded.1 < reflected.1 { expanded } else { reflected })
        } else if reflected.1 < simplex[dimensions - 1].1 {
            Some(reflected)
        } else {
            let outside = reflected.1 < worst.1;
            let contracted = at(along(if outside { -contract } else { contract }), &mut used);
            (contracted.1 < worst.1.min(reflected.1)).then_some(contracted)
        };
        match replacement {
            Some(vertex) => simplex[dimensions] = vertex,
            None => {
                let best = simplex[0].0.clone();
                for vertex in &mut simplex[1..] {
                    let point =
                        best.iter().zip(&vertex.0).map(|(best, point)| best + shrink * (point - best)).collect();
                    *vertex = at(point, &mut used);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bottom_of_a_curved_valley_is_found() {
        let valley = |point: &[f64]| (1.0 - point[0]).powi(2) + 100.0 * (point[1] - point[0].powi(2)).powi(2);
        let (point, value) = minimize(&[0.5, 0.5], 400, 1e-6, valley);
        assert!(value < 1e-8 && (point[0] - 1.0).abs() < 1e-3, "{point:?} {value}");
    }

    #[test]
    fn no_more_is_tried_than_allowed_and_without_dimensions_nothing_moves() {
        let mut tried = 0;
        let (_, value) = minimize(&[1.0; 5], 30, 0.0, |point| {
            tried += 1;
            point.iter().map(|x| (x - 3.0).powi(2)).sum()
        });
        // A shrink that has begun is finished.
        assert!(tried <= 30 + 7 && value < 45.0, "{tried} {value}");
        assert_eq!(minimize(&[], 10, 1e-3, |_| 7.0), (Vec::new(), 7.0));
    }
}
