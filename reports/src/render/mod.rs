//! Documents over one comparison model: Markdown, CSV, JSON, SVG, HTML.
