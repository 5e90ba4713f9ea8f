//! Links between the files of a package lead somewhere, in a package as in the repository.

use std::path::{Component, Path, PathBuf};

use crate::{PACKAGES, UNPACKED};

#[test]
fn every_relative_link_of_a_packaged_page_leads_to_a_file_of_the_package_and_a_heading_in_it() {
    let mut checked = 0;
    for (name, _) in PACKAGES {
        let files = &UNPACKED[name];
        let pages = files.iter().filter(|(path, _)| path.extension().is_some_and(|extension| extension == "md"));
        for (page, content) in pages {
            let page_text = str::from_utf8(content).expect("Markdown is UTF-8");
            for link in links(page_text).filter(|link| !link.contains("://")) {
                let (file, heading) =
                    link.split_once('#').map_or((link, None), |(file, heading)| (file, Some(heading)));
                let target = if file.is_empty() { page.clone() } else { joined(page, file) };
                let found = files.get(&target);
                let found = found.unwrap_or_else(|| panic!("{name}: {} links to {link}, not packaged", page.display()));
                if let Some(heading) = heading {
                    let text = str::from_utf8(found).expect("Markdown is UTF-8");
                    assert!(headings(text).any(|there| there == heading), "{name}: {}: no {link}", page.display());
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 10, "{checked} links: they are not found any more");
}

#[test]
fn links_and_headings_are_found_outside_of_code_only() {
    let page = "# The `first` one: yes\nsee [a](b.md#c), [d](e)\n```sh\n# not [a](link)\n```\n";
    assert_eq!(links(page).collect::<Vec<_>>(), ["b.md#c", "e"]);
    assert_eq!(headings(page).collect::<Vec<_>>(), ["the-first-one-yes"]);
}

/// The targets of links.
fn links(page: &str) -> impl Iterator<Item = &str> {
    prose(page).flat_map(|line| line.split("](").skip(1)).filter_map(|rest| rest.split_once(')').map(|(link, _)| link))
}

/// Headings as links name them.
fn headings(page: &str) -> impl Iterator<Item = String> {
    prose(page).filter_map(|line| line.strip_prefix('#')).map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>().replace(' ', "-")
    })
}

/// The lines that are not code.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let blocks = page.split("\n```").enumerate();
    blocks.filter(|(index, _)| index % 2 == 0).flat_map(|(_, block)| block.lines())
}

/// What a link on this page names.
fn joined(page: &Path, link: &str) -> PathBuf {
    let mut path = page.parent().expect("a file is in a folder").to_owned();
    for component in Path::new(link).components() {
        match component {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path
}
