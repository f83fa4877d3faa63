//! Checkouts of local repositories: everything that happens to a cache folder between two benchmark days.

use std::path::Path;

use super::*;
use crate::failure::{Failure, Kind};
use crate::process::Command;

/// A repository with commits, and an empty cache beside it.
struct World {
    folder: tempfile::TempDir,
    session: Session,
}

impl World {
    fn new() -> Self {
        let world = Self { folder: tempfile::tempdir().unwrap(), session: Session::unrecorded() };
        fs_err::create_dir_all(world.remote()).unwrap();
        world.git(&world.remote(), &["init", "--quiet", "--initial-branch", "main"]);
        world.commit("first");
        world
    }

    fn remote(&self) -> PathBuf {
        self.folder.path().join("remote")
    }

    fn git(&self, folder: &Path, arguments: &[&str]) -> String {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"];
        let command = Command::new("git", "git").args(identity).args(arguments).folder(folder).capture(1 << 20);
        command.env("HOME", self.folder.path()).run(&self.session).unwrap().stdout().trim().to_owned()
    }

    /// Adds a commit to the remote's main branch and returns its id.
    fn commit(&self, text: &str) -> String {
        fs_err::write(self.remote().join("file"), text).unwrap();
        self.git(&self.remote(), &["add", "."]);
        self.git(&self.remote(), &["commit", "--quiet", "-m", text]);
        self.git(&self.remote(), &["rev-parse", "HEAD"])
    }

    fn spec(&self, revision: &str) -> Spec {
        Spec {
            url: format!("file://{}", self.remote().display()),
            revision: revision.to_owned(),
            cache: self.folder.path().join("cache"),
            dir: None,
        }
    }

    fn sync(&self, revision: &str) -> Result<Checkout, Error> {
        sync(&self.session, &self.spec(revision))
    }

    fn state(&self, revision: &str) -> State {
        status(&self.spec(revision)).unwrap().state
    }

    fn content(&self) -> String {
        fs_err::read_to_string(self.spec("x").folder().join("file")).unwrap()
    }

    /// Takes the remote away, as a machine without network sees it.
    fn go_offline(&self) {
        fs_err::rename(self.remote(), self.folder.path().join("unreachable")).unwrap();
    }
}

#[test]
fn a_fresh_checkout_is_the_exact_commit_even_when_the_branch_has_moved_on() {
    let world = World::new();
    let pinned = world.commit("pinned");
    world.commit("later");
    assert_eq!(world.state(&pinned), State::Missing);
    let checkout = world.sync(&pinned).unwrap();
    assert_eq!((checkout.commit.as_str(), checkout.fetched, checkout.callers), (pinned.as_str(), true, false));
    assert_eq!((world.content().as_str(), world.state(&pinned)), ("pinned", State::Ready));
}

#[test]
fn a_checkout_that_is_there_needs_no_network() {
    let world = World::new();
    let pinned = world.commit("pinned");
    world.sync(&pinned).unwrap();
    world.go_offline();
    assert!(!world.sync(&pinned).unwrap().fetched);
}

#[test]
fn another_pin_replaces_the_checkout() {
    let world = World::new();
    let first = world.commit("one");
    let second = world.commit("two");
    world.sync(&first).unwrap();
    assert_eq!(world.state(&second), State::Outdated);
    world.sync(&second).unwrap();
    assert_eq!(world.content(), "two");
    world.sync(&first).unwrap();
    assert_eq!((world.content().as_str(), world.state(&first)), ("one", State::Ready));
    let left: Vec<_> = fs_err::read_dir(world.spec("x").cache).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn tags_and_branches_can_be_pinned_and_a_branch_that_moved_is_followed() {
    let world = World::new();
    let tagged = world.commit("tagged");
    world.git(&world.remote(), &["tag", "-a", "v1", "-m", "one"]);
    world.commit("newer");
    assert_eq!(world.sync("v1").unwrap().commit, tagged);
    world.sync("main").unwrap();
    assert_eq!(world.content(), "newer");
    let newest = world.commit("newest");
    assert_eq!(world.sync("main").unwrap().commit, newest);
    assert_eq!(world.sync("main").unwrap().commit, newest);
    assert_eq!((world.content().as_str(), world.state("main")), ("newest", State::Ready));
}

#[test]
fn offline_the_last_commit_of_a_branch_is_used_and_said_to_be_unchecked() {
    let world = World::new();
    let known = world.commit("known");
    world.sync("main").unwrap();
    world.go_offline();
    let checkout = world.sync("main").unwrap();
    assert_eq!((checkout.commit, checkout.fetched), (known, false));
    assert!(checkout.warnings[0].starts_with("main could not be checked for news"), "{:?}", checkout.warnings);
    assert!(matches!(world.sync("v2"), Err(Error::Unreachable { .. })), "another revision is not in it");
}

#[test]
fn offline_without_a_checkout_the_error_says_what_can_be_done() {
    let world = World::new();
    let pinned = world.commit("pinned");
    world.go_offline();
    let error = world.sync(&pinned).unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    let failure = Failure::from(error);
    assert_eq!(failure.kind, Kind::Usage);
    assert!(failure.hints.iter().any(|hint| hint.contains("LLM_D_BENCHMARK_DIR")), "{:?}", failure.hints);
    assert!(!world.spec("x").folder().exists());
}

#[test]
fn a_revision_that_does_not_exist_is_told_from_a_repository_that_cannot_be_reached() {
    let world = World::new();
    for revision in ["no-such-branch", "0123456789012345678901234567890123456789"] {
        let error = world.sync(revision).unwrap_err();
        assert!(matches!(error, Error::NoSuchRevision { .. }), "{revision}: {error}");
    }
}

#[test]
fn names_that_are_no_revisions_are_refused_before_git_sees_them() {
    let world = World::new();
    for revision in ["", "--upload-pack=touch /tmp/x", "a b", "main..other", "HEAD~1", "x:y", "8bc9f1d"] {
        assert!(matches!(world.sync(revision), Err(Error::Revision { .. })), "{revision}");
    }
    let spec = Spec { url: "--upload-pack=evil".into(), ..world.spec("main") };
    assert!(matches!(sync(&world.session, &spec), Err(Error::Url { .. })));
}

#[test]
fn work_that_someone_did_in_the_checkout_is_never_lost() {
    let world = World::new();
    let first = world.commit("one");
    let second = world.commit("two");
    world.sync(&first).unwrap();
    let folder = world.spec("x").folder();
    fs_err::write(folder.join("file"), "an afternoon's work").unwrap();
    fs_err::write(folder.join("new"), "more of it").unwrap();
    assert_eq!(world.state(&first), State::Modified);
    for revision in [&first, &second] {
        let Err(Error::Dirty { files, .. }) = world.sync(revision) else { panic!("{revision} was synced") };
        assert_eq!(files, ["file", "new"]);
    }
    assert!(matches!(clean(&world.spec("x").cache), Err(Error::Dirty { .. })));
    assert_eq!(world.content(), "an afternoon's work");
}

#[test]
fn what_we_did_not_make_is_left_alone() {
    let world = World::new();
    let folder = world.spec("x").folder();
    fs_err::create_dir_all(&folder).unwrap();
    fs_err::write(folder.join("file"), "mine").unwrap();
    assert_eq!(world.state("main"), State::Foreign);
    assert!(matches!(world.sync("main"), Err(Error::Foreign { .. })));
    assert!(matches!(clean(&world.spec("x").cache), Err(Error::Foreign { .. })));
    world.git(&folder, &["init", "--quiet"]);
    assert_eq!(world.state("main"), State::Foreign);
    assert!(matches!(world.sync("main"), Err(Error::Foreign { .. })));
    assert_eq!(world.content(), "mine");
}

#[test]
fn a_checkout_whose_commit_was_moved_is_put_right() {
    let world = World::new();
    let first = world.commit("one");
    world.sync(&first).unwrap();
    let folder = world.spec("x").folder();
    world.git(&folder, &["commit", "--quiet", "--allow-empty", "-m", "moved"]);
    assert_eq!(world.state(&first), State::Outdated);
    assert!(world.sync(&first).unwrap().fetched);
    assert_eq!((world.state(&first), world.content().as_str()), (State::Ready, "one"));
}

#[test]
fn a_checkout_from_another_repository_is_replaced() {
    let world = World::new();
    let first = world.commit("one");
    world.sync(&first).unwrap();
    let folder = world.spec("x").folder();
    world.git(&folder, &["remote", "set-url", "origin", "https://elsewhere.example/fork.git"]);
    assert_eq!(world.state(&first), State::WrongRemote);
    assert!(world.sync(&first).unwrap().fetched);
    assert_eq!(world.state(&first), State::Ready);
    let moved = World::new();
    let other = moved.commit("other");
    let spec = Spec { cache: world.spec("x").cache, ..moved.spec(&other) };
    assert_eq!(status(&spec).unwrap().state, State::WrongRemote);
    assert_eq!(sync(&world.session, &spec).unwrap().commit, other);
}

#[test]
fn an_interrupted_clone_is_neither_used_nor_left_behind() {
    let world = World::new();
    let first = world.commit("one");
    let cache = world.spec("x").cache;
    let partial = cache.join("llm-d-benchmark.partial-1");
    fs_err::create_dir_all(&partial).unwrap();
    world.git(&partial, &["init", "--quiet"]);
    let mark = Mark { url: "u".into(), revision: "r".into(), commit: String::new(), complete: false };
    mark.write(&partial).unwrap();
    fs_err::write(partial.join("half"), "a file").unwrap();
    let foreign = cache.join("llm-d-benchmark.partial-notes");
    fs_err::create_dir_all(&foreign).unwrap();
    fs_err::write(foreign.join("notes"), "mine").unwrap();
    world.sync(&first).unwrap();
    assert!(!partial.exists() && foreign.exists());

    // The same in the checkout's own place, as a crash of the rename would leave it.
    let folder = world.spec("x").folder();
    mark.write(&folder).unwrap();
    assert_eq!(world.state(&first), State::Incomplete);
    assert!(world.sync(&first).unwrap().fetched);
    fs_err::remove_dir_all(folder.join(".git/objects")).unwrap();
    assert_eq!(world.state(&first), State::Incomplete);
}

#[test]
fn clean_removes_what_we_made() {
    let world = World::new();
    let first = world.commit("one");
    let cache = world.spec("x").cache;
    assert!(clean(&cache).unwrap().is_empty());
    world.sync(&first).unwrap();
    assert_eq!(clean(&cache).unwrap(), [world.spec("x").folder()]);
    assert_eq!(world.state(&first), State::Missing);
}

#[test]
fn a_checkout_of_the_callers_is_used_as_it_is_and_its_differences_are_told() {
    let world = World::new();
    let pinned = world.commit("pinned");
    world.commit("later");
    fs_err::write(world.remote().join("extra"), "x").unwrap();
    let spec = Spec { dir: Some(world.remote()), ..world.spec(&pinned) };
    let checkout = sync(&world.session, &spec).unwrap();
    assert!(checkout.callers && !checkout.fetched);
    assert_eq!(checkout.warnings.len(), 2, "{:?}", checkout.warnings);
    let missing = Spec { dir: Some(world.folder.path().join("nowhere")), ..world.spec(&pinned) };
    assert!(matches!(sync(&world.session, &missing), Err(Error::NotARepository { .. })));
    let below = Spec { dir: Some(world.remote().join(".git/objects")), ..world.spec(&pinned) };
    assert!(matches!(status(&below), Err(Error::NotARepository { .. })), "a folder inside a checkout is not one");
}

#[test]
fn a_password_in_the_url_is_not_shown() {
    let world = World::new();
    let spec = Spec { url: "https://user:pass-word-1@127.0.0.1:1/x.git".into(), ..world.spec("main") };
    let error = sync(&world.session, &spec).unwrap_err();
    assert!(!error.to_string().contains("pass-word-1"), "{error}");
    let shown = serde_json::to_string(&status(&spec).unwrap()).unwrap();
    assert!(!shown.contains("pass-word-1"), "{shown}");
}
