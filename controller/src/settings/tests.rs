//! The settings as a whole, against the real `config/` folder.
