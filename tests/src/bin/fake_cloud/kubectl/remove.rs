//! Deletion: asked for now, done some looks later.

use serde_json::Value;

use super::objects::{Kind, key, meta, named};
use super::{change, cluster, life, not_found, selection, targets};
use crate::answer::Answer;
use crate::call::Call;
use crate::state::lag;

/// The looks after which we stop waiting for something that does not go.
const PATIENCE: u32 = 200;

pub fn delete(state: &mut Value, call: &Call) -> Answer {
    let work = |state: &mut Value| -> Result<Answer, Answer> {
        let context = cluster(state, call)?;
        let keys = match call.flag("raw") {
            Some(path) => vec![guarded(state, call, &context, path)?],
            None => chosen(state, call, &context)?,
        };
        let looks = lag(state);
        for key in &keys {
            let object = &mut state["kubernetes"][&context]["objects"][key];
            object["x-looks"] = looks.into();
            life::mark(object, looks);
        }
        if call.flag("wait") != Some("false") {
            wait(state, &context, &keys)?;
        }
        Ok(match keys.is_empty() {
            true => Answer { stderr: "No resources found\n".into(), ..Answer::done() },
            false => Answer::text(keys.iter().map(|key| format!("{key} deleted")).collect::<Vec<_>>().join("\n")),
        })
    };
    work(state).unwrap_or_else(|answer| answer)
}

/// The keys of what the flags and arguments name.
fn chosen(state: &Value, call: &Call, context: &str) -> Result<Vec<String>, Answer> {
    let objects = &state["kubernetes"][context]["objects"];
    let mut keys = Vec::new();
    let mut add = |kind: Kind, namespace: &str, name: &str| {
        let key = key(kind, namespace, name);
        match objects[&key].is_null() {
            false => keys.push(key),
            true if call.has("ignore-not-found") => {}
            true => return Err(Answer::failed(1, not_found(kind, name))),
        }
        Ok(())
    };
    let namespace = call.flag("namespace").unwrap_or("default");
    if call.flag("filename").is_some() {
        for document in change::documents(call)? {
            let Some(kind) = document["kind"].as_str().and_then(named) else { continue };
            let own = meta(&document, "namespace");
            add(kind, if own.is_empty() { namespace } else { own }, meta(&document, "name"))?;
        }
        return Ok(keys);
    }
    let mut selected = Vec::new();
    for (kind, name) in targets(call)? {
        match name {
            Some(name) => add(kind, namespace, &name)?,
            None if call.has("all") || call.flag("selector").is_some() => {
                selected.extend(selection(call, kind).keys(objects))
            }
            None => return Err(Answer::failed(1, "error: resource(s) were provided, but no name was specified")),
        }
    }
    keys.extend(selected);
    Ok(keys)
}

/// `--raw /api/v1/namespaces/NS/configmaps/NAME`, with preconditions in the options on standard input.
fn guarded(state: &Value, call: &Call, context: &str, path: &str) -> Result<String, Answer> {
    let key = match path.trim_start_matches("/api/v1/").split('/').collect::<Vec<_>>()[..] {
        ["namespaces", namespace, plural, name] => format!("{plural}/{namespace}/{name}"),
        [plural, name] => format!("{plural}//{name}"),
        _ => {
            return Err(Answer::failed(
                1,
                "Error from server (NotFound): the server could not find the requested resource",
            ));
        }
    };
    let object = &state["kubernetes"][context]["objects"][&key];
    let name = path.rsplit('/').next().unwrap_or_default();
    if object.is_null() {
        return Err(Answer::failed(1, format!("Error from server (NotFound): \"{name}\" not found")));
    }
    let options = change::documents(call).ok().and_then(|documents| documents.into_iter().next()).unwrap_or_default();
    let wanted = options["preconditions"]["resourceVersion"].as_str();
    if wanted.is_some_and(|wanted| wanted != meta(object, "resourceVersion")) {
        let complaint = format!(
            "Error from server (Conflict): Operation cannot be fulfilled on \"{name}\": the ResourceVersion in the \
             precondition does not match the ResourceVersion in record. The object might have been modified"
        );
        return Err(Answer::failed(1, complaint));
    }
    Ok(key)
}

fn wait(state: &mut Value, context: &str, keys: &[String]) -> Result<(), Answer> {
    for _ in 0..PATIENCE {
        life::tick(state, context);
        let objects = &state["kubernetes"][context]["objects"];
        if keys.iter().all(|key| objects[key].is_null()) {
            return Ok(());
        }
    }
    Err(Answer::failed(1, "error: timed out waiting for the condition"))
}
