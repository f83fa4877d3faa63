//! Where what can be made again is kept between campaigns.

use std::path::PathBuf;

/// A folder of the user's cache: `$XDG_CACHE_HOME` or `~/.cache`, below `inference-benchmark`.
pub fn folder(name: &str) -> PathBuf {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    cache.unwrap_or_else(std::env::temp_dir).join("inference-benchmark").join(name)
}
