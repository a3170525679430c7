//! Soft wishes about the model.

/// A priority in thousandths, from 0 to 1,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority(u16);

/// A number that is not a priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a number from 0 to 1")]
pub struct NotAPriority;

impl Priority {
    /// Reads a number from 0 to 1; anything else, infinities and NaN included, is an error.
    pub fn parse(value: f64) -> Result<Self, NotAPriority> {
        if !(0.0..=1.0).contains(&value) {
            return Err(NotAPriority);
        }
        // Through decimal text, since a cast would have to be trusted and this need not be.
        let text = format!("{value:.3}").replace('.', "");
        text.parse().map(Self).map_err(|_| NotAPriority)
    }

    /// In thousandths.
    pub const fn thousandths(self) -> u16 {
        self.0
    }
}

/// What a request wishes for. Hints outrank priorities.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Preferences {
    /// Parts of model names, most wanted first.
    pub hints: Vec<String>,
    /// How much a low price matters.
    pub cost: Option<Priority>,
    /// How much speed matters.
    pub speed: Option<Priority>,
    /// How much ability matters.
    pub intelligence: Option<Priority>,
}
