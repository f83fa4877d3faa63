//! `kubectl`: what this workspace asks of it, and some more.

mod change;
pub mod config;
pub mod life;
pub mod objects;
mod remove;
mod storage;

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::{Call, Verb};
use objects::{Kind, Selection, key, meta, named, shown};

macro_rules! global {
    ($more:literal) => {
        concat!("n/namespace= context= kubeconfig= request-timeout= v= as= ", $more)
    };
}

/// Its verbs.
pub const VERBS: [Verb; 24] = [
    Verb {
        words: "get",
        flags: global!(
            "o/output= l/selector= field-selector= A/all-namespaces ignore-not-found raw= no-headers chunk-size= show-labels sort-by="
        ),
        run: get,
    },
    Verb { words: "create", flags: global!("f/filename= o/output= save-config"), run: change::create },
    Verb { words: "create namespace", flags: global!("o/output="), run: change::create_namespace },
    Verb {
        words: "create secret generic",
        flags: global!("from-file= from-literal= o/output= dry-run= type="),
        run: change::create_secret,
    },
    Verb {
        words: "apply",
        flags: global!("f/filename= server-side force-conflicts field-manager= o/output= prune"),
        run: change::apply,
    },
    Verb { words: "replace", flags: global!("f/filename= force o/output="), run: change::replace },
    Verb { words: "label", flags: global!("overwrite l/selector= all"), run: change::label },
    Verb { words: "annotate", flags: global!("overwrite l/selector= all"), run: change::annotate },
    Verb { words: "patch", flags: global!("type= p/patch= o/output= patch-file="), run: change::patch },
    Verb { words: "scale", flags: global!("replicas= all l/selector= timeout= current-replicas="), run: change::scale },
    Verb {
        words: "delete",
        flags: global!(
            "f/filename= ignore-not-found wait= timeout= l/selector= field-selector= all grace-period= force now raw= A/all-namespaces cascade= o/output="
        ),
        run: remove::delete,
    },
    Verb {
        words: "wait",
        flags: global!("for= timeout= l/selector= all field-selector= A/all-namespaces f/filename="),
        run: succeed,
    },
    Verb { words: "rollout status", flags: global!("timeout= w/watch="), run: succeed },
    Verb { words: "rollout restart", flags: global!("l/selector="), run: succeed },
    Verb {
        words: "logs",
        flags: global!(
            "c/container= tail= since= since-time= f/follow l/selector= prefix timestamps all-containers previous ignore-errors max-log-requests= limit-bytes="
        ),
        run: logs,
    },
    Verb { words: "exec", flags: global!("c/container= i/stdin t/tty q/quiet"), run: exec },
    Verb { words: "cp", flags: global!("c/container= retries= no-preserve"), run: succeed },
    Verb { words: "version", flags: global!("o/output= client"), run: version },
    Verb { words: "cluster-info", flags: global!(""), run: reachable },
    Verb {
        words: "api-resources",
        flags: global!("o/output= api-group= no-headers namespaced= verbs="),
        run: reachable,
    },
    Verb { words: "auth can-i", flags: global!("q/quiet A/all-namespaces subresource="), run: can_i },
    Verb { words: "config view", flags: global!("raw minify flatten o/output="), run: config::view },
    Verb { words: "config get-contexts", flags: global!("o/output= no-headers"), run: config::get_contexts },
    Verb { words: "config current-context", flags: global!(""), run: config::current_context },
];

/// The context of a cluster that answers.
fn cluster(state: &Value, call: &Call) -> Result<String, Answer> {
    let context = config::context(call)?;
    if let ["gke", project, zone, name] = context.splitn(4, '_').collect::<Vec<_>>()[..] {
        let cluster = &state["gcloud"]["clusters"][format!("{project}/{zone}/{name}")];
        if cluster["status"] != "RUNNING" && cluster["status"] != "RECONCILING" {
            return Err(Answer::failed(1, "Unable to connect to the server: dial tcp 192.0.2.1:443: i/o timeout"));
        }
    } else if state["kubernetes"][&context].is_null() {
        return Err(Answer::failed(
            1,
            "The connection to the server 127.0.0.1:6443 was refused - did you specify the right host or port?",
        ));
    }
    Ok(context)
}

/// What a call selects: the kind of a word, in the namespace of the flags.
fn selection<'a>(call: &'a Call, kind: Kind) -> Selection<'a> {
    Selection {
        kind,
        namespace: match call.has("all-namespaces") {
            true => None,
            false => Some(call.flag("namespace").unwrap_or("default")),
        },
        labels: call.flag("selector").unwrap_or_default(),
        fields: call.flag("field-selector").unwrap_or_default(),
    }
}

/// The complaint about a kind that nobody knows.
fn unknown_kind(word: &str) -> Answer {
    Answer::failed(1, format!("error: the server doesn't have a resource type \"{word}\""))
}

fn not_found(kind: Kind, name: &str) -> String {
    format!("Error from server (NotFound): {} \"{name}\" not found", kind.plural())
}

/// Kinds and names of the arguments: `pods a b`, `pod/a svc/b`, `pods,services`.
fn targets(call: &Call) -> Result<Vec<(Kind, Option<String>)>, Answer> {
    let mut found = Vec::new();
    let arguments = &call.arguments;
    if arguments.iter().all(|word| word.contains('/')) {
        for word in arguments {
            let (kind, name) = word.split_once('/').unwrap_or_default();
            found.push((named(kind).ok_or_else(|| unknown_kind(kind))?, Some(name.to_owned())));
        }
        return Ok(found);
    }
    for word in call.first().split(',') {
        let kind = named(word).ok_or_else(|| unknown_kind(word))?;
        match arguments.len() {
            1 => found.push((kind, None)),
            _ => found.extend(arguments[1..].iter().map(|name| (kind, Some(name.clone())))),
        }
    }
    Ok(found)
}

fn get(state: &mut Value, call: &Call) -> Answer {
    let context = match cluster(state, call) {
        Ok(context) => context,
        Err(answer) => return answer,
    };
    if call.flag("raw").is_some() {
        return Answer::text("ok");
    }
    life::tick(state, &context);
    let targets = match targets(call) {
        Ok(targets) => targets,
        Err(answer) => return answer,
    };
    let objects = &state["kubernetes"][&context]["objects"];
    let mut items = Vec::new();
    let single = targets.len() == 1 && targets[0].1.is_some();
    for (kind, name) in targets {
        let selection = selection(call, kind);
        match name {
            None => items.extend(selection.keys(objects).iter().map(|key| shown(&objects[key]))),
            Some(name) => {
                let object = &objects[&key(kind, selection.namespace.unwrap_or_default(), &name)];
                if !object.is_null() {
                    items.push(shown(object));
                } else if !call.has("ignore-not-found") {
                    return Answer::failed(1, not_found(kind, &name));
                }
            }
        }
    }
    render(call, items, single)
}

fn render(call: &Call, items: Vec<Value>, single: bool) -> Answer {
    match call.flag("output") {
        Some("json" | "yaml") if single => items.first().map_or_else(Answer::done, Answer::json),
        Some("json" | "yaml") => Answer::json(
            &json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items}),
        ),
        _ if items.is_empty() && call.has("ignore-not-found") => Answer::done(),
        _ if items.is_empty() => Answer { stderr: "No resources found\n".into(), ..Answer::done() },
        Some("name") => {
            let kind = |item: &Value| item["kind"].as_str().unwrap_or_default().to_ascii_lowercase();
            Answer::text(
                items.iter().map(|it| format!("{}/{}", kind(it), meta(it, "name"))).collect::<Vec<_>>().join("\n"),
            )
        }
        _ => Answer::text(items.iter().map(|item| meta(item, "name")).collect::<Vec<_>>().join("\n")),
    }
}

/// Done, when the cluster answers at all.
fn succeed(state: &mut Value, call: &Call) -> Answer {
    cluster(state, call).map_or_else(|answer| answer, |_| Answer::done())
}

fn reachable(state: &mut Value, call: &Call) -> Answer {
    cluster(state, call).map_or_else(|answer| answer, |_| Answer::text("Kubernetes control plane is running"))
}

fn can_i(state: &mut Value, call: &Call) -> Answer {
    cluster(state, call).map_or_else(|answer| answer, |_| Answer::text("yes"))
}

/// The log that a pod was given: `x-log`.
fn logs(state: &mut Value, call: &Call) -> Answer {
    match of_pod(state, call, "x-log") {
        Ok(text) => Answer { stdout: text.into_bytes(), ..Answer::done() },
        Err(answer) => answer,
    }
}

/// `cat FILE` in a pod reads what it was given in `x-files`; every other command succeeds and says nothing.
///
/// The metrics collector prints its archive.
fn exec(state: &mut Value, call: &Call) -> Answer {
    if call.arguments.last().is_some_and(|word| word == "archive") {
        return match pod(state, call) {
            Ok(_) => Answer { stdout: archive(), ..Answer::done() },
            Err(answer) => answer,
        };
    }
    let Some(file) = call.arguments.iter().skip_while(|word| *word != "cat").nth(1).cloned() else {
        return succeed(state, call);
    };
    let files = match pod(state, call) {
        Ok(pod) => pod["x-files"].clone(),
        Err(answer) => return answer,
    };
    match files[&file].as_str() {
        Some(text) => Answer { stdout: text.into(), ..Answer::done() },
        None => {
            Answer::failed(1, format!("cat: {file}: No such file or directory\ncommand terminated with exit code 1"))
        }
    }
}

/// What the collector sends: length and SHA-256 on a line, then a tar.gz of samples.
fn archive() -> Vec<u8> {
    use sha2::Digest;
    let samples: String = (0..10)
        .map(|second| {
            let metrics = json!({"vllm:num_requests_running": 2.0, "vllm:kv_cache_usage_perc": 0.25});
            format!("{}\n", json!({"at": format!("2026-08-17T10:00:{second:02}Z"), "elapsed_seconds": second, "source": "server-1", "metrics": metrics}))
        })
        .collect();
    let mut builder = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    let mut header = tar::Header::new_gnu();
    header.set_size(samples.len() as u64);
    header.set_cksum();
    builder.append_data(&mut header, "samples.jsonl", samples.as_bytes()).expect("an archive");
    let content = builder.into_inner().and_then(|gz| gz.finish()).expect("an archive");
    let digest: String = sha2::Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
    let mut all = format!("{} {digest}\n", content.len()).into_bytes();
    all.extend(content);
    all
}

fn of_pod(state: &Value, call: &Call, field: &str) -> Result<String, Answer> {
    Ok(pod(state, call)?[field].as_str().unwrap_or_default().to_owned())
}

fn pod<'a>(state: &'a Value, call: &Call) -> Result<&'a Value, Answer> {
    let context = cluster(state, call)?;
    let objects = &state["kubernetes"][&context]["objects"];
    let kind = named("pods").expect("a kind");
    let found = match call.flag("selector") {
        Some(_) => selection(call, kind).keys(objects).first().cloned(),
        None => {
            let name = call.first().trim_start_matches("pod/").trim_start_matches("pods/");
            Some(key(kind, call.flag("namespace").unwrap_or("default"), name))
        }
    };
    match found.map(|key| &objects[key]) {
        Some(object) if !object.is_null() => Ok(object),
        _ => Err(Answer::failed(1, not_found(kind, call.first()))),
    }
}

fn version(_: &mut Value, _: &Call) -> Answer {
    Answer::json(&json!({"clientVersion": {"gitVersion": "v1.32.4"}, "serverVersion": {"gitVersion": "v1.32.4"}}))
}
