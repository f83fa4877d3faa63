//! Draws SVG charts as PNG.

fn main() {}
