//! Where baselines live: a folder, gs:// or s3://, behind one interface.
