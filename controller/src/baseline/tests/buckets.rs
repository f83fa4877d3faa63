//! The command lines that buckets are driven by, against scripted programs that keep objects in a folder.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::super::bucket::{Bucket, Service};
use super::super::place::{Error as PlaceError, Place};
use super::*;

/// Answers as `gcloud storage` does, and records what it was asked.
const GCLOUD: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/asked"
shift
path() { echo "$here/data/$(echo "$1" | sed 's|^gs://||')"; }
case "$1 $2" in
  "objects describe") f=$(path "$3"); [ -f "$f" ] || { echo "ERROR: $3 not found: 404." >&2; exit 1; }; cat "$f.generation" ;;
  "cat "*) f=$(path "$2"); [ -f "$f" ] || { echo "ERROR: The following URLs matched no objects or files" >&2; exit 1; }; cat "$f" ;;
  "cp -") f=$(path "$3"); want=${4#--if-generation-match=}; have=0; [ -f "$f" ] && have=$(cat "$f.generation")
    [ "$have" = "$want" ] || { echo "ERROR: HTTPError 412: At least one of the pre-conditions you specified did not hold." >&2; exit 1; }
    mkdir -p "$(dirname "$f")"; cat > "$f"; echo $((have + 1)) > "$f.generation" ;;
  "ls "*) d=$(path "${2%/\*\*}"); [ -d "$d" ] || { echo "ERROR: matched no objects" >&2; exit 1; }
    find "$d" -type f ! -name '*.generation' | sed "s|^$here/data/|gs://|" ;;
  *) echo "unexpected: $*" >&2; exit 9 ;;
esac
"#;

/// Answers as `aws s3` and `aws s3api` do.
const AWS: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/asked"
case "$1 $2" in
  "s3 cp") f="$here/data/${3#s3://}"; [ -f "$f" ] || { echo "fatal error: An error occurred (404) when calling the HeadObject operation: Key does not exist" >&2; exit 1; }; cat "$f" ;;
  "s3 ls") d="$here/data/${3#s3://}"; b="$here/data/$(echo "${3#s3://}" | cut -d/ -f1)"; [ -d "$d" ] || exit 1
    find "$d" -type f | while read -r f; do echo "2026-10-01 12:00:00 7 ${f#"$b"/}"; done ;;
  "s3api head-object") f="$here/data/$4/$6"; [ -f "$f" ] || { echo "An error occurred (404) when calling the HeadObject operation: Not Found" >&2; exit 254; }; cksum < "$f" | cut -d' ' -f1 ;;
  "s3api put-object") f="$here/data/$4/$6"; have=none; [ -f "$f" ] && have=$(cksum < "$f" | cut -d' ' -f1)
    want=none; [ "$9" = --if-match ] && want=${10}
    [ "$have" = "$want" ] || { echo "An error occurred (PreconditionFailed) when calling the PutObject operation" >&2; exit 254; }
    mkdir -p "$(dirname "$f")"; cp "$8" "$f" ;;
  *) echo "unexpected: $*" >&2; exit 9 ;;
esac
"#;

struct Fake {
    folder: tempfile::TempDir,
    program: &'static str,
}

impl Fake {
    fn new(program: &'static str, script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(program);
        fs_err::write(&path, script).unwrap();
        fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder, program }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(self.program)
    }

    fn place(&self, service: Service) -> Bucket {
        Bucket::new(service, "bench".into(), "base/lines".into(), Session::unrecorded()).with_program(self.path())
    }

    fn asked(&self) -> String {
        let text = fs_err::read_to_string(self.folder.path().join("asked")).unwrap();
        // The body of an upload is a temporary file.
        text.lines()
            .map(|line| match line.split_once("--body ") {
                Some((before, after)) => format!("{before}--body FILE {}", after.split_once(' ').unwrap().1),
                None => line.to_owned(),
            })
            .collect::<Vec<_>>()
            .join("\n")
    }
}

fn exercise(place: &dyn Place) {
    assert_eq!(place.get("objects/a").unwrap(), None);
    assert_eq!(place.list("objects").unwrap(), [""; 0]);
    place.put("objects/a", b"content").unwrap();
    place.put("objects/a", b"content").unwrap();
    assert_eq!(place.get("objects/a").unwrap().unwrap(), b"content");
    assert_eq!(place.list("objects").unwrap(), ["objects/a"]);
    place.swap("CURRENT", None, b"one").unwrap();
    assert!(matches!(place.swap("CURRENT", None, b"two"), Err(PlaceError::Changed { .. })));
    assert!(matches!(place.swap("CURRENT", Some(b"zero"), b"two"), Err(PlaceError::Changed { .. })));
    place.swap("CURRENT", Some(b"one"), b"two").unwrap();
    assert_eq!(place.get("CURRENT").unwrap().unwrap(), b"two");
}

#[test]
fn a_folder_stores_lists_and_swaps() {
    let folder = tempfile::tempdir().unwrap();
    exercise(&super::super::folder::Folder::new(folder.path().join("not/yet/there")));
}

#[test]
fn google_storage_is_asked_with_generations() {
    let fake = Fake::new("gcloud", GCLOUD);
    exercise(&fake.place(Service::Google));
    insta::assert_snapshot!(fake.asked());
}

#[test]
fn s3_is_asked_with_etags() {
    let fake = Fake::new("aws", AWS);
    exercise(&fake.place(Service::Amazon));
    insta::assert_snapshot!(fake.asked());
}

#[test]
fn a_failing_program_is_an_error_and_not_an_empty_store() {
    let fake = Fake::new(
        "gcloud",
        "#!/bin/sh\necho 'ERROR: (gcloud.storage.cat) You do not currently have an active account' >&2\nexit 1\n",
    );
    let error = fake.place(Service::Google).get("objects/a").unwrap_err();
    assert!(matches!(error, PlaceError::Program(_)), "{error}");
}

#[test]
fn a_missing_program_is_named() {
    let place = Bucket::new(Service::Google, "bench".into(), String::new(), Session::unrecorded())
        .with_program(Path::new("/nowhere/gcloud").into());
    let error = place.get("objects/a").unwrap_err().to_string();
    assert!(error.contains("/nowhere/gcloud"), "{error}");
}
