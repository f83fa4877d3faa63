//! Reads a campaign folder into the model, refusing what cannot be compared.
