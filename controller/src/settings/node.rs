//! YAML with line numbers, so that a setting can say where in a file it was given.

use std::fmt;

use indexmap::IndexMap;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use serde_yaml::Value;

/// A mapping whose entries know their line, or any other value.
#[derive(Debug)]
pub enum Node {
    /// A mapping with string keys.
    Map(IndexMap<String, Spanned<Node>>),
    /// A scalar or a sequence.
    Leaf(Value),
}

impl Node {
    /// Parses a document; the error is the parser's message with line and column.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_saphyr::from_str(text).map_err(|error| error.to_string())
    }

    /// The value without its lines.
    pub fn into_value(self) -> Value {
        match self {
            Self::Leaf(value) => value,
            Self::Map(entries) => Value::Mapping(
                entries.into_iter().map(|(key, node)| (Value::String(key), node.value.into_value())).collect(),
            ),
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Leaf(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Leaf(Value::Number(value.into())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Leaf(Value::Number(value.into())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Leaf(Value::Number(value.into())))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Leaf(Value::String(value.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Leaf(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Leaf(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        let mut values = Vec::new();
        while let Some(node) = seq.next_element::<Node>()? {
            values.push(node.into_value());
        }
        Ok(Node::Leaf(Value::Sequence(values)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries = IndexMap::new();
        while let Some((key, node)) = map.next_entry::<String, Spanned<Node>>()? {
            entries.insert(key, node);
        }
        Ok(Node::Map(entries))
    }
}
