//! From values to places on the drawing.

/// Values from 0 to `most`, spread from one place to another.
pub(super) struct Axis {
    most: f64,
    begin: f64,
    end: f64,
}

impl Axis {
    pub(super) fn new(most: f64, begin: f64, end: f64) -> Self {
        Self { most: most.max(f64::MIN_POSITIVE), begin, end }
    }

    pub(super) fn place(&self, value: f64) -> f64 {
        self.begin + (self.end - self.begin) * (value / self.most).clamp(0.0, 1.0)
    }

    /// Round values with their places: as many as there may be, in the smallest of these steps.
    pub(super) fn ticks(&self, most: usize, steps: &[f64]) -> Vec<(f64, f64)> {
        let fits = |step: &&f64| self.most / **step <= most as f64;
        let step = steps.iter().find(fits).copied().unwrap_or(self.most);
        let values = (0..).map(|number| f64::from(number) * step).take_while(|value| *value <= self.most);
        values.map(|value| (value, self.place(value))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        let axis = Axis::new(130.0, 0.0, 1300.0);
        assert_eq!(axis.ticks(5, &[10.0, 30.0, 60.0]), [0.0, 30.0, 60.0, 90.0, 120.0].map(|at| (at, at * 10.0)));
        assert_eq!(axis.place(1000.0), 1300.0);
    }
}
