// SPDX-License-Identifier: GPL-3.0-or-later
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&a[1]).unwrap();
    let mut n = 0;
    for _ in 0..a[2].parse::<u32>().unwrap() {
        let doc = roxmltree::Document::parse(&text).unwrap();
        n += doc.descendants().filter(|d| d.attribute("kind").map_or(false, |k| k.len() > 4)).count();
        n += doc.descendants().filter_map(|d| d.text()).map(|t| t.len()).sum::<usize>();
    }
    println!("{}", n);
}
