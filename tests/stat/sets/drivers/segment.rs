// SPDX-License-Identifier: GPL-3.0-or-later
use unicode_segmentation::UnicodeSegmentation;
fn main() {
    let text = std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap();
    println!("{} {} {}", text.graphemes(true).count(), text.unicode_words().map(|w| w.len()).max().unwrap(), text.split_sentence_bounds().count());
}
