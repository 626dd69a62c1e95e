// SPDX-License-Identifier: GPL-3.0-or-later
fn main() {
    let text = std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap();
    let words: Vec<&str> = text.lines().collect();
    let (mut near, mut alike) = (0, 0.0);
    for a in &words {
        for b in &words {
            near += strsim::levenshtein(a, b) + strsim::osa_distance(a, b);
            alike += strsim::jaro_winkler(a, b);
        }
    }
    println!("{} {:.3}", near, alike);
}
