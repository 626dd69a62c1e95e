// SPDX-License-Identifier: GPL-3.0-or-later
use aho_corasick::AhoCorasick;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let words = std::fs::read_to_string(&a[1]).unwrap();
    let text = std::fs::read(&a[2]).unwrap();
    let all: Vec<&str> = words.lines().collect();
    let ac = AhoCorasick::new(&all);
    println!("{}", ac.find_iter(&text).map(|m| m.pattern()).sum::<usize>());
}
