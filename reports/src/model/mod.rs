//! The numbers of a stage, independent of the file they were read from.
