//! Names of models: what they are matched by, and which class they speak of, so that a
//! wish for one vendor's model can be met by another's of the same class.

use memchr::memmem::Finder;

/// How big a model is within its vendor's line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Quick and cheap, such as Haiku, mini, Flash.
    Small,
    /// The middle, such as Sonnet, GPT-4o, Gemini Pro.
    Medium,
    /// The biggest, such as Opus, Ultra, Large.
    Large,
}

/// Words that speak of a class. A small one's name often has another's word as well
/// (`gpt-4o-mini`), so the small ones are looked for first.
const WORDS: [(Class, &[&str]); 3] = [
    (
        Class::Small,
        &[
            "haiku", "mini", "nano", "micro", "tiny", "small", "flash", "lite", "instant", "fast",
            "1b", "2b", "3b", "4b", "7b", "8b", "9b",
        ],
    ),
    (Class::Large, &["opus", "ultra", "large", "max", "heavy", "405b", "o1", "o3"]),
    (
        Class::Medium,
        &["sonnet", "medium", "pro", "plus", "turbo", "4o", "gpt", "chat", "70b", "72b"],
    ),
];

impl Class {
    /// The class that a name speaks of, if it speaks of one.
    pub fn of(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        let words: Vec<&str> = name.split(|it: char| !it.is_ascii_alphanumeric()).collect();
        let speaks = |of: &[&str]| words.iter().any(|it| of.contains(it));
        WORDS.iter().find(|(_, of)| speaks(of)).map(|(class, _)| *class)
    }

    /// A word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }
}

/// A model's names, as wishes are matched with them; worked out once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    lowered: [String; 2],
    class: Option<Class>,
}

impl Names {
    /// Of an alias and a vendor's name.
    pub fn of(alias: &str, vendor_model: &str) -> Self {
        Self {
            lowered: [alias.to_lowercase(), vendor_model.to_lowercase()],
            class: Class::of(vendor_model).or_else(|| Class::of(alias)),
        }
    }

    /// Whether a hint is part of one of them.
    pub fn match_hint(&self, hint: &Hint) -> bool {
        self.lowered.iter().any(|it| hint.lowered.find(it.as_bytes()).is_some())
    }

    /// The class that a hint speaks of, if it is this model's too.
    pub fn match_class(&self, hint: &Hint) -> Option<Class> {
        self.class.filter(|it| hint.class == Some(*it))
    }
}

/// A wish for a model by part of its name.
#[derive(Debug, Clone)]
pub struct Hint {
    /// Made ready once to be looked for in thousands of names.
    lowered: Finder<'static>,
    class: Option<Class>,
}

impl Hint {
    /// Of a request's own words.
    pub fn of(text: &str) -> Self {
        let lowered = Finder::new(text.to_lowercase().as_bytes()).into_owned();
        Self { lowered, class: Class::of(text) }
    }
}
