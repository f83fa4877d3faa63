//! Promotion, history, verification, copies.

use super::*;

fn main_channel() -> Channel {
    Channel::new("main").unwrap()
}

#[test]
fn a_baseline_of_few_repetitions_needs_a_reason() {
    let scene = Scene::empty();
    let campaign = Spec { repetitions: 2, ..Spec::default() }.write(scene.folder.path());
    let stored = scene.propose(&[campaign], "2026-10-01");
    let refused = scene.promote(&stored, None, "2026-10-01").unwrap_err().to_string();
    assert!(refused.contains("only 2 repetitions"), "{refused}");
    assert!(scene.store.pointers().unwrap().is_empty(), "nothing points at it");
}

#[test]
fn two_promotions_at_once_cannot_both_win() {
    let scene = Scene::with_baseline();
    let campaign = Spec { name: "late-1", ..Spec::default() }.write(scene.folder.path());
    let stored = scene.propose(&[campaign], "2026-10-02");
    // It was prepared when there was no baseline yet.
    let refused = scene.promote(&stored, None, "2026-10-02").unwrap_err().to_string();
    assert!(refused.contains("was changed by somebody else meanwhile"), "{refused}");
}

#[test]
fn history_keeps_every_promotion_with_author_and_reason() {
    let scene = Scene::with_baseline();
    let (identity, channel, first) = scene.store.pointers().unwrap().remove(0);
    let campaign = Spec { name: "next-1", ..Spec::default() }.write(scene.folder.path());
    let stored = scene.propose(&[campaign], "2026-10-20");
    scene.promote(&stored, Some(&first), "2026-10-20").unwrap();
    let history = scene.store.history(&identity, &channel).unwrap();
    assert_eq!(history.len(), 2);
    assert_eq!((history[1].previous.as_deref(), history[1].author.as_str()), (Some(first.as_str()), "someone"));
    assert_eq!(scene.store.current(&identity, &channel).unwrap(), Some(stored.digest));
}

#[test]
fn campaigns_of_different_identities_make_no_baseline() {
    let scene = Scene::empty();
    let one = Spec::default().write(scene.folder.path());
    let other = Spec { name: "other-1", model: "facebook/opt-125m", ..Spec::default() }.write(scene.folder.path());
    let validity = limits(LIMITS).validity;
    let mixed = propose(&[one.clone(), other], None, &scene.store, None, &validity, at("2026-10-01"));
    assert_eq!(mixed.unwrap_err().to_string(), "other-1 has another identity than aa-1: campaign.model");
    let twice = propose(&[one.clone(), one], None, &scene.store, None, &validity, at("2026-10-01"));
    assert_eq!(twice.unwrap_err().to_string(), "campaign aa-1 is given twice");
    let broken = Spec { name: "nan-1", itl: f64::NAN, ..Spec::default() }.write(scene.folder.path());
    let invalid = propose(&[broken], None, &scene.store, None, &validity, at("2026-10-01"));
    assert!(invalid.unwrap_err().to_string().contains("is not a valid measurement"));
}

#[test]
fn verification_finds_damaged_and_missing_objects() {
    let scene = Scene::with_baseline();
    assert_eq!(scene.store.verify().unwrap(), []);
    let digest = scene.store.pointers().unwrap()[0].2.clone();
    let path = scene.folder.path().join("baselines").join(super::super::store::object(&digest));
    let text = fs_err::read(&path).unwrap();
    fs_err::write(&path, [text.as_slice(), b" "].concat()).unwrap();
    let problems = scene.store.verify().unwrap();
    assert_eq!(problems[0].what, "its content has another digest");
    fs_err::remove_file(&path).unwrap();
    let problems = scene.store.verify().unwrap();
    assert!(problems.iter().all(|problem| problem.what.contains("which is gone")), "{problems:?}");
    assert!(problems.iter().any(|problem| problem.path.ends_with("/CURRENT")), "{problems:?}");
}

#[test]
fn samples_can_live_in_a_store_of_their_own() {
    let scene = Scene::empty();
    let elsewhere = Store::open(&Location::Folder(scene.folder.path().join("bucket")), &Session::unrecorded());
    let campaign = Spec::default().write(scene.folder.path());
    let validity = limits(LIMITS).validity;
    let proposal = propose(&[campaign], None, &scene.store, Some(&elsewhere), &validity, at("2026-10-01")).unwrap();
    assert_eq!(proposal.stored.baseline.samples.len(), 6);
    assert_eq!(scene.store.place.list("objects").unwrap().len(), 1);
    assert_eq!(elsewhere.place.list("objects").unwrap().len(), 6);
    assert_eq!(elsewhere.verify().unwrap(), []);
}

#[test]
fn a_copy_has_everything_and_moves_pointers_only_when_asked_and_forward() {
    let scene = Scene::with_baseline();
    let copy = Store::open(&Location::Folder(scene.folder.path().join("copy")), &Session::unrecorded());
    let done = transfer(&scene.store, &copy, false).unwrap();
    assert_eq!((done.records, done.pointers), (1, 0));
    assert!(copy.pointers().unwrap().is_empty());
    assert_eq!(transfer(&scene.store, &copy, true).unwrap(), Transfer { pointers: 1, ..Transfer::default() });
    assert_eq!(copy.verify().unwrap(), []);
    // A promotion that only the copy knows is not overwritten.
    let (identity, _, first) = copy.pointers().unwrap().remove(0);
    let campaign = Spec { name: "only-here", ..Spec::default() }.write(scene.folder.path());
    let validity = limits(LIMITS).validity;
    let stored = propose(&[campaign], None, &copy, None, &validity, at("2026-10-05")).unwrap().stored;
    copy.promote(&stored, &main_channel(), &promotion(&stored, Some(&first), "2026-10-05")).unwrap();
    let done = transfer(&scene.store, &copy, true).unwrap();
    assert_eq!(done.diverged.len(), 1);
    assert_eq!(copy.current(&identity, &main_channel()).unwrap(), Some(stored.digest));
}

#[test]
fn names_that_would_leave_the_store_are_refused() {
    assert!(Channel::new("../main").is_err() && Channel::new("").is_err() && Channel::new(".x").is_err());
    assert!(Location::parse("ftp://bucket/x").is_err() && Location::parse("gs://").is_err());
    assert!(Location::parse("gs://bucket/../other").is_err());
    assert_eq!(Location::parse("s3://bucket/a/b/").unwrap().to_string(), "s3://bucket/a/b");
    assert_eq!(Location::parse("gs://bucket").unwrap().to_string(), "gs://bucket");
}
