//! A scenario as the objects that its charts would make.

use serde_json::{Value, json};

use super::{context, scenario};
use crate::answer::Answer;
use crate::call::Call;
use crate::kubectl::objects::{key, named, put};

pub fn standup(state: &mut Value, call: &Call) -> Answer {
    let (scenario, context) = match (scenario(call), context(call)) {
        (Ok(scenario), Ok(context)) => (scenario, context),
        (Err(answer), _) | (_, Err(answer)) => return answer,
    };
    let namespace = call.flag("namespace").unwrap_or_default().to_owned();
    let home = key(named("namespace").expect("a kind"), "", &namespace);
    if state["kubernetes"][&context]["objects"][&home].is_null() {
        return Answer::failed(1, format!("namespace {namespace} does not exist"));
    }
    for object in objects(&scenario, &namespace) {
        let kind = named(object["kind"].as_str().unwrap_or_default()).expect("a kind");
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        put(state, &context, &key(kind, &namespace, &name), object);
    }
    Answer::text("standup complete")
}

fn image(of: &Value) -> String {
    format!("{}:{}", of["repository"].as_str().unwrap_or_default(), of["tag"].as_str().unwrap_or_default())
}

fn objects(scenario: &Value, namespace: &str) -> Vec<Value> {
    let images = &scenario["common"]["images"];
    let model = scenario["common"]["model"]["shortName"].as_str().unwrap_or("model");
    let service = &scenario["modelservice"];
    let object = |kind: &str, name: String, labels: Value, spec: Value| {
        json!({"apiVersion": "v1", "kind": kind, "spec": spec,
               "metadata": {"name": name, "namespace": namespace, "labels": labels}})
    };
    let container = |name: &str, image: String| json!({"name": name, "image": image});
    let ports = |port: u64| json!({"clusterIP": "10.96.0.10", "ports": [{"name": "http", "port": port}]});
    let mut made = Vec::new();
    for number in 0..service["decode"]["replicas"].as_u64().unwrap_or(1) {
        let labels = json!({"llm-d.ai/inferenceServing": "true"});
        let spec = json!({"nodeName": "kind-control-plane", "containers": [container("vllm", image(&images["vllm"]))]});
        made.push(object("Pod", format!("{model}-decode-{number}"), labels, spec));
    }
    let class = service["gateway"]["className"].as_str().unwrap_or("none");
    if class == "none" {
        made.push(object("Service", format!("{model}-direct"), json!({}), ports(80)));
        return made;
    }
    let mut picker = vec![container("epp", image(&images["routerEndpointPicker"]))];
    if class == "epponly" {
        let proxy = service["router"]["proxy"]["image"].as_str().unwrap_or_default();
        picker.push(container("proxy", proxy.to_owned()));
    }
    made.push(object(
        "Pod",
        format!("{model}-router-epp-0"),
        json!({"inferencepool": model}),
        json!({"containers": picker}),
    ));
    made.push(object("Service", format!("{model}-router-epp"), json!({}), ports(8000)));
    if class != "epponly" {
        let name = "infra-inference-gateway";
        let gateway = json!({"gatewayClassName": class, "listeners": [{"protocol": "HTTP", "port": 80}]});
        made.push(object("Gateway", name.to_owned(), json!({}), gateway));
        let labels = json!({"gateway.networking.k8s.io/gateway-name": name});
        // The controller gives a new Gateway its own version's image; the wanted one comes by parameters.
        let data_plane =
            json!({"containers": [container("agentgateway", "cr.agentgateway.dev/agentgateway:v1.4.1".to_owned())]});
        made.push(object("Pod", format!("{name}-0"), labels.clone(), data_plane));
        made.push(object("Service", name.to_owned(), labels, ports(80)));
    }
    made
}

/// Whether model servers are there.
pub fn is_up(state: &Value, context: &str, namespace: &str) -> bool {
    let objects = state["kubernetes"][context]["objects"].as_object();
    objects.into_iter().flatten().any(|(key, _)| key.starts_with(&format!("pods/{namespace}/")))
}

pub fn teardown(state: &mut Value, call: &Call) -> Answer {
    let context = match context(call) {
        Ok(context) => context,
        Err(answer) => return answer,
    };
    let namespace = call.flag("namespace").unwrap_or_default();
    if let Some(objects) = state["kubernetes"][&context]["objects"].as_object_mut() {
        objects.retain(|key, _| key.split('/').nth(1) != Some(namespace));
    }
    Answer::text("teardown complete")
}
