//! The verbs that create and change objects.

use serde::Deserialize;
use serde_json::{Value, json};

use super::objects::{Kind, key, meta, named, put, refused};
use super::{cluster, life, not_found, selection, targets, unknown_kind};
use crate::answer::Answer;
use crate::call::Call;
use crate::state::{entry, lag};

/// The documents of `--filename`, lists taken apart.
pub fn documents(call: &Call) -> Result<Vec<Value>, Answer> {
    let text = match call.flag("filename") {
        Some("-") => String::from_utf8_lossy(&call.stdin).into_owned(),
        Some(file) => std::fs::read_to_string(file)
            .map_err(|_| Answer::failed(1, format!("error: the path \"{file}\" does not exist")))?,
        None => return Err(Answer::failed(1, "error: must specify one of -f and -k")),
    };
    let mut documents = Vec::new();
    for document in serde_yaml::Deserializer::from_str(&text) {
        let document = Value::deserialize(document)
            .map_err(|error| Answer::failed(1, format!("error: error parsing STDIN: {error}")))?;
        match document["items"].as_array() {
            Some(items) if document["kind"] == "List" => documents.extend(items.clone()),
            _ if document.is_null() => {}
            _ => documents.push(document),
        }
    }
    if documents.is_empty() {
        return Err(Answer::failed(1, "error: no objects passed"));
    }
    Ok(documents)
}

/// An object with its kind and key; its namespace is written into it.
fn placed(call: &Call, mut object: Value) -> Result<(Kind, String, Value), Answer> {
    let word = object["kind"].as_str().unwrap_or_default().to_owned();
    let kind = named(&word).ok_or_else(|| {
        Answer::failed(1, format!("error: resource mapping not found: no matches for kind \"{word}\""))
    })?;
    let name = meta(&object, "name").to_owned();
    let mut namespace = meta(&object, "namespace").to_owned();
    if namespace.is_empty() {
        namespace = call.flag("namespace").unwrap_or("default").to_owned();
    }
    if kind.namespaced {
        entry(&mut object, "metadata")["namespace"] = namespace.as_str().into();
    }
    Ok((kind, key(kind, &namespace, &name), object))
}

/// Goes through the documents of a call; `how` gets what is there already and what is to be.
fn each(state: &mut Value, call: &Call, done: &str, how: fn(Kind, &Value, Value) -> Result<Value, String>) -> Answer {
    let work = |state: &mut Value| -> Result<Answer, Answer> {
        let context = cluster(state, call)?;
        let mut lines = Vec::new();
        for document in documents(call)? {
            let (kind, key, object) = placed(call, document)?;
            let objects = &state["kubernetes"][&context]["objects"];
            if let Some(reason) = refused(objects, kind, meta(&object, "namespace")) {
                return Err(Answer::failed(1, reason));
            }
            let name = meta(&object, "name").to_owned();
            let object = how(kind, &objects[&key], object).map_err(|reason| Answer::failed(1, reason))?;
            put(state, &context, &key, object);
            lines.push(format!("{}/{name} {done}", kind.kind.to_ascii_lowercase()));
        }
        Ok(Answer::text(lines.join("\n")))
    };
    work(state).unwrap_or_else(|answer| answer)
}

pub fn create(state: &mut Value, call: &Call) -> Answer {
    each(state, call, "created", |kind, before, object| match before.is_null() {
        true => Ok(object),
        false => Err(format!(
            "Error from server (AlreadyExists): error when creating \"STDIN\": {} \"{}\" already exists",
            kind.plural(),
            meta(&object, "name")
        )),
    })
}

pub fn apply(state: &mut Value, call: &Call) -> Answer {
    each(state, call, "serverside-applied", |_, before, object| {
        let mut merged = before.clone();
        merge(&mut merged, &object);
        Ok(merged)
    })
}

pub fn replace(state: &mut Value, call: &Call) -> Answer {
    each(state, call, "replaced", |kind, before, object| {
        let name = meta(&object, "name");
        if before.is_null() {
            return Err(not_found(kind, name));
        }
        let version = meta(&object, "resourceVersion");
        if !version.is_empty() && version != meta(before, "resourceVersion") {
            return Err(format!(
                "Error from server (Conflict): error when replacing \"STDIN\": Operation cannot be fulfilled on {} \
                 \"{name}\": the object has been modified; please apply your changes to the latest version and try again",
                kind.plural()
            ));
        }
        Ok(object)
    })
}

/// JSON merge patch.
fn merge(into: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *into = patch.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (name, value) in fields {
        match value {
            Value::Null => {
                into.as_object_mut().expect("an object").remove(name);
            }
            value => merge(entry(into, name), value),
        }
    }
}

pub fn create_namespace(state: &mut Value, call: &Call) -> Answer {
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": call.first()}});
    made(state, call, object)
}

pub fn create_secret(state: &mut Value, call: &Call) -> Answer {
    let name = call.first();
    let object = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": name, "namespace": call.flag("namespace").unwrap_or("default")},
    });
    made(state, call, object)
}

fn made(state: &mut Value, call: &Call, object: Value) -> Answer {
    let work = |state: &mut Value| -> Result<Answer, Answer> {
        let context = cluster(state, call)?;
        let (kind, key, object) = placed(call, object)?;
        let objects = &state["kubernetes"][&context]["objects"];
        if let Some(reason) = refused(objects, kind, meta(&object, "namespace")) {
            return Err(Answer::failed(1, reason));
        }
        let name = meta(&object, "name").to_owned();
        if !objects[&key].is_null() {
            let complaint = format!("Error from server (AlreadyExists): {} \"{name}\" already exists", kind.plural());
            return Err(Answer::failed(1, complaint));
        }
        put(state, &context, &key, object);
        Ok(Answer::text(format!("{}/{name} created", kind.kind.to_ascii_lowercase())))
    };
    work(state).unwrap_or_else(|answer| answer)
}

pub fn label(state: &mut Value, call: &Call) -> Answer {
    marks(state, call, "labels")
}

pub fn annotate(state: &mut Value, call: &Call) -> Answer {
    marks(state, call, "annotations")
}

/// `KIND NAME KEY=VALUE…`; `KEY-` removes one.
fn marks(state: &mut Value, call: &Call, field: &str) -> Answer {
    let work = |state: &mut Value| -> Result<Answer, Answer> {
        let context = cluster(state, call)?;
        let names = if call.first().contains('/') { 1 } else { 2 };
        let (kind, name) = match call.first().split_once('/') {
            Some((kind, name)) => (kind.to_owned(), name.to_owned()),
            None => (call.first().to_owned(), call.arguments.get(1).cloned().unwrap_or_default()),
        };
        let kind = named(&kind).ok_or_else(|| unknown_kind(&kind))?;
        let key = key(kind, call.flag("namespace").unwrap_or("default"), &name);
        let mut object = state["kubernetes"][&context]["objects"][&key].clone();
        if object.is_null() {
            return Err(Answer::failed(1, not_found(kind, &name)));
        }
        let marks = entry(entry(&mut object, "metadata"), field);
        for mark in call.arguments.iter().skip(names) {
            match mark.split_once('=') {
                Some((name, value)) => marks[name] = value.into(),
                None => drop(marks.as_object_mut().and_then(|map| map.remove(mark.trim_end_matches('-')))),
            }
        }
        put(state, &context, &key, object);
        Ok(Answer::text(format!("{}/{name} {field}", kind.kind.to_ascii_lowercase())))
    };
    work(state).unwrap_or_else(|answer| answer)
}

pub fn patch(state: &mut Value, call: &Call) -> Answer {
    let work = |state: &mut Value| -> Result<Answer, Answer> {
        let context = cluster(state, call)?;
        let patch: Value = serde_json::from_str(call.flag("patch").unwrap_or_default())
            .map_err(|error| Answer::failed(1, format!("error: unable to parse patch: {error}")))?;
        for (kind, name) in targets(call)? {
            let name = name.unwrap_or_default();
            let key = key(kind, call.flag("namespace").unwrap_or("default"), &name);
            let mut object = state["kubernetes"][&context]["objects"][&key].clone();
            if object.is_null() {
                return Err(Answer::failed(1, not_found(kind, &name)));
            }
            merge(&mut object, &patch);
            put(state, &context, &key, object);
        }
        Ok(Answer::text("patched"))
    };
    work(state).unwrap_or_else(|answer| answer)
}

/// Scales workloads; on the way down their pods go.
pub fn scale(state: &mut Value, call: &Call) -> Answer {
    let work = |state: &mut Value| -> Result<Answer, Answer> {
        let context = cluster(state, call)?;
        let replicas: u64 = call.flag("replicas").and_then(|text| text.parse().ok()).unwrap_or(0);
        let looks = lag(state);
        let mut lines = Vec::new();
        for (kind, name) in targets(call)? {
            let objects = &mut state["kubernetes"][&context]["objects"];
            let keys = match &name {
                Some(name) => vec![key(kind, call.flag("namespace").unwrap_or("default"), name)],
                None => selection(call, kind).keys(objects),
            };
            for key in keys {
                if objects[&key].is_null() {
                    return Err(Answer::failed(1, not_found(kind, name.as_deref().unwrap_or_default())));
                }
                objects[&key]["spec"]["replicas"] = replicas.into();
                lines.push(format!("{} scaled", meta(&objects[&key], "name")));
                let (owner, namespace) =
                    (meta(&objects[&key], "name").to_owned(), meta(&objects[&key], "namespace").to_owned());
                let pods = objects.as_object_mut().into_iter().flatten().filter(|(key, pod)| {
                    key.starts_with(&format!("pods/{namespace}/")) && pod["x-owner"] == owner.as_str()
                });
                if replicas == 0 {
                    pods.for_each(|(_, pod)| life::mark(pod, looks));
                }
            }
        }
        Ok(match lines.is_empty() {
            true => Answer { stderr: "error: no objects passed to scale\n".into(), code: 1, ..Answer::done() },
            false => Answer::text(lines.join("\n")),
        })
    };
    work(state).unwrap_or_else(|answer| answer)
}
