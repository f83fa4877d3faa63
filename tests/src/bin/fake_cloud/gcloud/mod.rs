//! `gcloud`: projects and their surroundings, Kubernetes Engine, Filestore, instance groups.

mod clusters;
mod pools;
mod project;

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::{Call, Verb};

macro_rules! wide {
    ($more:literal) => {
        concat!("project= q/quiet format= account= verbosity= configuration= impersonate-service-account= billing-project= ", $more)
    };
}

/// Its verbs, with the flags of version 528.
pub const VERBS: [Verb; 24] = [
    Verb { words: "auth list", flags: wide!("filter= filter-account= limit= sort-by="), run: project::auth_list },
    Verb { words: "version", flags: wide!(""), run: project::version },
    Verb { words: "projects describe", flags: wide!(""), run: project::describe },
    Verb {
        words: "projects get-iam-policy",
        flags: wide!("filter= flatten= limit= sort-by="),
        run: project::iam_policy,
    },
    Verb {
        words: "services list",
        flags: wide!("enabled available filter= limit= page-size= sort-by="),
        run: project::services,
    },
    Verb { words: "iam service-accounts describe", flags: wide!(""), run: project::service_account },
    Verb { words: "compute zones describe", flags: wide!(""), run: project::zone },
    Verb { words: "compute machine-types describe", flags: wide!("zone="), run: project::machine_type },
    Verb { words: "compute accelerator-types describe", flags: wide!("zone="), run: project::accelerator_type },
    Verb { words: "compute networks subnets describe", flags: wide!("region="), run: project::subnetwork },
    Verb {
        words: "compute forwarding-rules list",
        flags: wide!("filter= limit= sort-by= regions= global page-size="),
        run: project::forwarding_rules,
    },
    Verb { words: "compute instance-groups managed describe", flags: wide!("region= zone="), run: pools::group },
    Verb {
        words: "compute instance-groups managed list-instances",
        flags: wide!("region= zone= filter= limit= sort-by= page-size= uri"),
        run: pools::instances,
    },
    Verb {
        words: "filestore instances list",
        flags: wide!("location= region= zone= filter= limit= page-size= sort-by= uri"),
        run: project::filestores,
    },
    Verb {
        words: "filestore instances delete",
        flags: wide!("location= region= zone= async force"),
        run: project::delete_filestore,
    },
    Verb {
        words: "container clusters list",
        flags: wide!("location= region= z/zone= filter= limit= page-size= sort-by= uri"),
        run: clusters::list,
    },
    Verb { words: "container clusters describe", flags: wide!("location= region= z/zone="), run: clusters::describe },
    Verb {
        words: "container clusters create",
        flags: wide!(
            "location= region= z/zone= async release-channel= cluster-version= network= subnetwork= enable-ip-alias machine-type= num-nodes= service-account= scopes= workload-pool= workload-metadata= addons= enable-managed-prometheus monitoring= logging= labels= node-labels= disk-size= disk-type= enable-autoupgrade enable-autorepair gateway-api= enable-shielded-nodes"
        ),
        run: clusters::create,
    },
    Verb {
        words: "container clusters update",
        flags: wide!(
            "location= region= z/zone= async update-addons= enable-managed-prometheus monitoring= workload-pool= release-channel= update-labels= gateway-api="
        ),
        run: clusters::update,
    },
    Verb {
        words: "container clusters resize",
        flags: wide!("location= region= z/zone= async node-pool= num-nodes= size="),
        run: pools::resize,
    },
    Verb { words: "container clusters delete", flags: wide!("location= region= z/zone= async"), run: clusters::delete },
    Verb {
        words: "container clusters get-credentials",
        flags: wide!("location= region= z/zone= internal-ip dns-endpoint"),
        run: clusters::credentials,
    },
    Verb {
        words: "container node-pools create",
        flags: wide!(
            "cluster= location= region= z/zone= async machine-type= num-nodes= accelerator= spot preemptible service-account= scopes= node-labels= labels= node-taints= workload-metadata= disk-size= disk-type= node-locations= enable-autorepair enable-autoupgrade enable-autoscaling min-nodes= max-nodes= enable-gvnic local-ssd-count="
        ),
        run: pools::create,
    },
    Verb {
        words: "container node-pools list",
        flags: wide!("cluster= location= region= z/zone= filter= limit= page-size= sort-by= uri"),
        run: pools::list,
    },
];

/// The project a call is about, when the account may see it.
fn project<'a>(state: &Value, call: &'a Call, command: &str) -> Result<&'a str, Answer> {
    let name = call.flag("project").unwrap_or_default();
    if state["gcloud"]["account"].as_str().is_none() {
        let complaint = format!(
            "ERROR: ({command}) You do not currently have an active account selected.\nPlease run:\n\n  $ gcloud auth login"
        );
        return Err(Answer::failed(1, complaint));
    }
    if state["gcloud"]["projects"][name].is_null() {
        let complaint =
            format!("ERROR: ({command}) PERMISSION_DENIED: permission denied on project {name} (or it may not exist)");
        return Err(Answer::failed(1, complaint));
    }
    Ok(name)
}

/// The location of a call.
fn location(call: &Call) -> &str {
    call.flag("location").or(call.flag("zone")).or(call.flag("region")).unwrap_or_default()
}

/// Where a cluster is kept: `project/location/name`.
fn cluster_key(call: &Call, name: &str) -> String {
    format!("{}/{}/{name}", call.flag("project").unwrap_or_default(), location(call))
}

/// The context that stands for a cluster.
fn context(key: &str) -> String {
    format!("gke_{}", key.replace('/', "_"))
}

/// `name=x`, `name:x` or nothing: the only filters that are asked for here.
fn filtered(call: &Call, name: &str) -> bool {
    call.flag("filter").is_none_or(|filter| filter.trim_matches('"') == format!("name={name}"))
}

fn list(items: Vec<Value>) -> Answer {
    Answer::json(&json!(items))
}

/// `a=b,c=d` as an object.
fn pairs(text: &str) -> Value {
    text.split(',')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect()
}
