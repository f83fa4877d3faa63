//! Reports of a campaign after it ran: published copies, and whether they are still true.

use e2e::{Script, World};

#[test]
fn a_published_campaign_is_checked_and_a_change_by_hand_is_found() {
    let world = World::new(&Script::Measure);
    world.run(world.benchmark("a", &[])).expect(0);
    let campaign = world.of("a", "");
    let published = world.of("", "published");
    let (campaign, root) = (campaign.to_str().unwrap(), published.to_str().unwrap());
    let link = "https://example.org/evidence/a.tar.gz";
    let publish = ["report", campaign, "--publish", "--output", root, "--link", link];
    let done = world.run(world.command(&publish)).expect(0);
    let report = published.join("smoke/a");
    assert!(done.stdout.contains(report.join("README.md").to_str().unwrap()), "{}", done.stdout);
    let readme = fs_err::read_to_string(report.join("README.md")).unwrap();
    assert!(readme.contains("Simulated") && readme.contains(&format!("]({link})")), "{readme}");
    assert!(!readme.contains("runs/service"), "evidence stays on this machine");
    let manifest = fs_err::read_to_string(report.join("campaign-manifest.yaml")).unwrap();
    assert!(!manifest.contains(world.of("", "").to_str().unwrap()), "{manifest}");

    let done = world.run(world.command(&["report", "--check", root])).expect(0);
    assert!(done.stdout.contains("1 report as their numbers give"), "{}", done.stdout);
    fs_err::write(report.join("README.md"), readme.replacen("Simulated", "Measured", 1)).unwrap();
    let done = world.run(world.command(&["report", "--check", report.to_str().unwrap()])).expect(3);
    assert!(done.stdout.contains("differs from what its numbers give"), "{}", done.stdout);
}

#[test]
fn what_must_not_leave_the_machine_is_not_published() {
    let world = World::new(&Script::Measure);
    world.run(world.benchmark("a", &[])).expect(0);
    let manifest = world.of("a", "campaign-manifest.yaml");
    let text = fs_err::read_to_string(&manifest).unwrap();
    fs_err::write(&manifest, text.replacen("profile: smoke", "profile: smoke\n  note: /home/ada/load.yaml", 1))
        .unwrap();
    let campaign = world.of("a", "");
    let published = world.of("", "published");
    let publish = |more: &[&str]| {
        let mut all = vec!["report", campaign.to_str().unwrap(), "--publish", "--output", published.to_str().unwrap()];
        all.extend(more);
        world.run(world.command(&all)).expect(2)
    };
    assert!(publish(&[]).stderr.contains("a path on a machine"));
    assert!(publish(&["--link", "http://localhost/a"]).stderr.contains("is refused"));
    assert!(!published.join("smoke/a").exists());
}

#[test]
fn a_folder_without_published_reports_is_not_mistaken_for_a_good_one() {
    let world = World::new(&Script::Measure);
    let nothing = world.of("", "nothing");
    let check = |folder: &std::path::Path| world.run(world.command(&["report", "--check", folder.to_str().unwrap()]));
    assert!(check(&nothing).expect(2).stderr.contains("there is no such folder"));
    fs_err::create_dir_all(&nothing).unwrap();
    assert!(check(&nothing).expect(2).stderr.contains("holds no published report"));
}
