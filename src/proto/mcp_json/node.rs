//! One value of a document with the path that leads to it. Values stay text
//! until somebody asks for a type.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{ITEMS_MAX, Problem};

/// A value, not yet read.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    raw: &'a RawValue,
    path: String,
}

/// An object's fields, not yet read. Of a repeated name the last counts.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    fields: BTreeMap<String, &'a RawValue>,
    path: String,
}

impl<'a> Node<'a> {
    pub(crate) fn document(text: &'a str) -> Result<Self, Problem> {
        let raw = serde_json::from_str(text).map_err(|cause| Problem {
            path: String::new(),
            problem: format!("is not valid (line {}, column {})", cause.line(), cause.column()),
        })?;
        Ok(Self { raw, path: String::new() })
    }

    pub(crate) fn problem(&self, problem: impl Into<String>) -> Problem {
        Problem { path: self.path.clone(), problem: problem.into() }
    }

    pub(crate) fn object(&self) -> Result<Object<'a>, Problem> {
        self.must_be('{', "an object")?;
        let Fields(fields) = self.parse()?;
        Ok(Object { fields, path: self.path.clone() })
    }

    pub(crate) fn array(&self) -> Result<Vec<Node<'a>>, Problem> {
        self.must_be('[', "an array")?;
        let Items(items) = self.parse()?;
        let nodes = items.into_iter().enumerate();
        Ok(nodes.map(|(i, raw)| Node { raw, path: format!("{}[{i}]", self.path) }).collect())
    }

    pub(crate) fn is_array(&self) -> bool {
        self.raw.get().starts_with('[')
    }

    pub(crate) fn is_object(&self) -> bool {
        self.raw.get().starts_with('{')
    }

    pub(crate) fn string(&self) -> Result<String, Problem> {
        self.must_be('"', "a string")?;
        serde_json::from_str(self.raw.get()).map_err(|_| self.problem("must be valid Unicode"))
    }

    pub(crate) fn boolean(&self) -> Result<bool, Problem> {
        serde_json::from_str(self.raw.get())
            .map_err(|_| self.problem(format!("must be true or false, not {}", self.kind())))
    }

    /// A number; MCP's numbers may be written as integers.
    pub(crate) fn number(&self) -> Result<f64, Problem> {
        if self.kind() != "a number" {
            return Err(self.problem(format!("must be a number, not {}", self.kind())));
        }
        serde_json::from_str(self.raw.get()).map_err(|_| self.problem("is too large"))
    }

    /// A whole number; `100.0` and `1e2` are whole as well.
    pub(crate) fn integer(&self) -> Result<i64, Problem> {
        if let Ok(whole) = self.raw.get().parse() {
            return Ok(whole);
        }
        let number = self.number()?;
        if number.fract().abs() > 0.0 {
            return Err(self.problem("must be a whole number"));
        }
        format!("{number:.0}").parse().map_err(|_| self.problem("is too large"))
    }

    /// The text of any JSON, as it was written.
    pub(crate) fn any_json(&self) -> String {
        self.raw.get().to_owned()
    }

    /// The text of an object, as it was written.
    pub(crate) fn object_json(&self) -> Result<String, Problem> {
        self.must_be('{', "an object")?;
        Ok(self.any_json())
    }

    fn parse<T: Deserialize<'a>>(&self) -> Result<T, Problem> {
        // The document was found valid, so only the bound on items is left to break.
        serde_json::from_str(self.raw.get())
            .map_err(|_| self.problem(format!("must have at most {ITEMS_MAX} items")))
    }

    fn must_be(&self, first: char, expected: &str) -> Result<(), Problem> {
        if self.raw.get().starts_with(first) {
            return Ok(());
        }
        Err(self.problem(format!("must be {expected}, not {}", self.kind())))
    }

    fn kind(&self) -> &'static str {
        match self.raw.get().bytes().next() {
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b'"') => "a string",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            _ => "a number",
        }
    }
}

impl<'a> Object<'a> {
    /// A field that may be absent; null counts as absent.
    pub(crate) fn get(&self, name: &str) -> Option<Node<'a>> {
        self.get_or_null(name).filter(|it| it.raw.get() != "null")
    }

    /// A field that may be absent, where null is a value.
    pub(crate) fn get_or_null(&self, name: &str) -> Option<Node<'a>> {
        let raw = self.fields.get(name).copied()?;
        Some(Node { raw, path: self.path_of(name) })
    }

    pub(crate) fn need(&self, name: &str) -> Result<Node<'a>, Problem> {
        self.get(name)
            .ok_or_else(|| Problem { path: self.path_of(name), problem: "is required".to_owned() })
    }

    pub(crate) fn string(&self, name: &str) -> Result<String, Problem> {
        self.need(name)?.string()
    }

    /// A string, or an empty one where the field is absent.
    pub(crate) fn string_or_empty(&self, name: &str) -> Result<String, Problem> {
        self.get(name).map_or_else(|| Ok(String::new()), |it| it.string())
    }

    /// An object's text, or an empty one where the field is absent.
    pub(crate) fn object_json_or_empty(&self, name: &str) -> Result<String, Problem> {
        self.get(name).map_or_else(|| Ok(String::new()), |it| it.object_json())
    }

    /// A list read element by element; empty where the field is absent.
    pub(crate) fn list<T>(
        &self,
        name: &str,
        read: impl Fn(&Node<'a>) -> Result<T, Problem>,
    ) -> Result<Vec<T>, Problem> {
        let items = self.get(name).map_or_else(|| Ok(Vec::new()), |it| it.array())?;
        items.iter().map(read).collect()
    }

    /// The names of all fields, null ones too.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(String::as_str)
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
}

/// An array of at most [`ITEMS_MAX`] elements: a short text can hold millions.
struct Items<'a>(Vec<&'a RawValue>);

/// An object of at most [`ITEMS_MAX`] fields.
struct Fields<'a>(BTreeMap<String, &'a RawValue>);

impl<'de> Deserialize<'de> for Items<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(ItemsVisitor).map(Self)
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(FieldsVisitor).map(Self)
    }
}

struct ItemsVisitor;

impl<'de> Visitor<'de> for ItemsVisitor {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = from.next_element()? {
            if items.len() == ITEMS_MAX {
                return Err(A::Error::custom("too many items"));
            }
            items.push(item);
        }
        Ok(items)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = BTreeMap<String, &'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some((name, value)) = from.next_entry()? {
            if fields.len() == ITEMS_MAX {
                return Err(A::Error::custom("too many fields"));
            }
            fields.insert(name, value);
        }
        Ok(fields)
    }
}
