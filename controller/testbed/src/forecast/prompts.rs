//! What requests ask: prompts hashed once for all seeds and treatments.

use std::sync::Arc;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64Mcg;

use crate::config::Hardware;
use crate::engine::{Prompt, Server, hash};

use super::Error;

/// Tokens of a prompt or an answer: around a mean, within bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lengths {
    /// The mean.
    pub mean: f64,
    /// The standard deviation of the normal distribution that is cut off at the bounds; 0 for always the mean.
    pub deviation: f64,
    /// The fewest.
    pub min: u32,
    /// The most.
    pub max: u32,
}

impl Lengths {
    /// Always the same.
    pub fn fixed(tokens: u32) -> Self {
        Self { mean: f64::from(tokens), deviation: 0.0, min: tokens, max: tokens }
    }

    fn draw(&self, random: &mut Pcg64Mcg) -> u32 {
        let normal: f64 = random.sample(StandardNormal);
        ((self.mean + self.deviation * normal).round() as u32).clamp(self.min, self.max)
    }
}

/// The shape of prompts and answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Groups of prompts that share a prefix, sent round and round in one shuffled order.
    SharedPrefix {
        /// Groups.
        groups: u32,
        /// Different prompts of a group.
        prompts_per_group: u32,
        /// Tokens that a group's prompts share.
        prefix_tokens: u32,
        /// Tokens of each prompt after them.
        question_tokens: u32,
        /// Tokens of each answer.
        output_tokens: u32,
    },
    /// Prompts that share nothing with any other.
    Distinct {
        /// How many lengths are drawn before they repeat.
        prompts: u32,
        /// Tokens of prompts.
        input: Lengths,
        /// Tokens of answers.
        output: Lengths,
    },
}

/// One request's prompt as server and picker see it, and how many tokens it asks for.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub server: Prompt,
    pub picker: Prompt,
    pub output_tokens: u32,
}

/// All prompts of a workload.
#[derive(Clone, Debug)]
pub struct Prompts {
    pub(super) all: Vec<Asked>,
    /// Whether prompts are sent in an order of their own rather than as they were drawn.
    pub(super) shuffled: bool,
}

/// A picker's blocks: pseudo-tokens of one, and how many of a prompt are looked at.
pub(super) type PickerBlocks = (u32, usize);

impl Prompts {
    /// Hashes the workload's prompts for servers of `hardware` and a picker that works in `blocks`; `seed` is that of
    /// lengths.
    ///
    /// # Errors
    /// When there is no prompt, or one could never be admitted.
    pub(super) fn new(shape: &Shape, hardware: &Hardware, blocks: PickerBlocks, seed: u64) -> Result<Self, Error> {
        let prompts = match *shape {
            Shape::SharedPrefix { groups, prompts_per_group, prefix_tokens, question_tokens, output_tokens } => {
                let one = |number: u32| {
                    let parts =
                        Parts { group: number / prompts_per_group.max(1), number, prefix_tokens, question_tokens };
                    Asked {
                        server: parts.in_server(hardware.kv_cache.block_tokens),
                        picker: parts.in_picker(hardware.bytes_per_token, blocks),
                        output_tokens,
                    }
                };
                let count = groups.checked_mul(prompts_per_group).ok_or(Error::TooManyPrompts)?;
                Self { all: (0..count).map(one).collect(), shuffled: true }
            }
            Shape::Distinct { prompts, input, output } => {
                let mut random = Pcg64Mcg::seed_from_u64(seed);
                // Nobody ever finds such a prompt again, so its blocks need no names.
                let unnamed = |tokens: u32| Prompt { tokens, hashes: Arc::from([]) };
                let mut one = |_| {
                    let tokens = input.draw(&mut random);
                    let pseudo = pseudo_tokens(tokens, hardware.bytes_per_token);
                    Asked { server: unnamed(tokens), picker: unnamed(pseudo), output_tokens: output.draw(&mut random) }
                };
                Self { all: (0..prompts).map(&mut one).collect(), shuffled: false }
            }
        };
        if prompts.all.is_empty() {
            return Err(Error::NoPrompts);
        }
        for asked in &prompts.all {
            Server::admissible(hardware, &asked.server, asked.output_tokens)?;
        }
        Ok(prompts)
    }

    /// Whether a server of this hardware can ever run a prompt of `input` tokens that asks for `output`.
    ///
    /// # Errors
    /// When it is larger than the KV cache, or empty.
    pub fn admissible(hardware: &Hardware, input: u32, output: u32) -> Result<(), Error> {
        Ok(Server::admissible(hardware, &Prompt { tokens: input, hashes: Arc::from([]) }, output)?)
    }

    /// The order in which a run sends them.
    pub(super) fn order(&self, random: &mut Pcg64Mcg) -> Vec<u32> {
        let mut order: Vec<u32> = (0..u32::try_from(self.all.len()).unwrap_or(u32::MAX)).collect();
        if self.shuffled {
            order.shuffle(random);
        }
        order
    }
}

/// A prompt of a group.
struct Parts {
    group: u32,
    number: u32,
    prefix_tokens: u32,
    question_tokens: u32,
}

impl Parts {
    fn tokens(&self) -> u32 {
        self.prefix_tokens.saturating_add(self.question_tokens)
    }

    /// Full blocks of `block` tokens; the block in which the prefix ends belongs to the prompt alone.
    fn in_server(&self, block: u32) -> Prompt {
        let (shared, all) = ((self.prefix_tokens / block) as usize, (self.tokens() / block) as usize);
        Prompt { tokens: self.tokens(), hashes: self.hashes(shared, all) }
    }

    /// Blocks of pseudo-tokens, the tail included.
    fn in_picker(&self, bytes_per_token: f64, (block, most): PickerBlocks) -> Prompt {
        let tokens = pseudo_tokens(self.tokens(), bytes_per_token);
        let shared = (pseudo_tokens(self.prefix_tokens, bytes_per_token) / block) as usize;
        let all = (tokens.div_ceil(block) as usize).min(most);
        Prompt { tokens, hashes: self.hashes(shared.min(all), all) }
    }

    fn hashes(&self, shared: usize, all: usize) -> Arc<[u64]> {
        let mut hashes: Vec<u64> = hash::named(0, u64::from(self.group), shared).collect();
        let last = hashes.last().copied().unwrap_or_default();
        // A group and a prompt of the same number are different names.
        hashes.extend(hash::named(last, !u64::from(self.number), all - shared));
        hashes.into()
    }
}

fn pseudo_tokens(tokens: u32, bytes_per_token: f64) -> u32 {
    (f64::from(tokens) * bytes_per_token / hash::PSEUDO_TOKEN_BYTES as f64).ceil() as u32
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn hardware(name: &str) -> Hardware {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/hardware");
        Hardware::read(&folder.join(name)).unwrap()
    }

    const LAPTOP: Shape = Shape::SharedPrefix {
        groups: 3,
        prompts_per_group: 2,
        prefix_tokens: 1200,
        question_tokens: 192,
        output_tokens: 60,
    };

    #[test]
    fn prompts_of_a_group_share_what_they_share_on_the_wire() {
        let prompts = Prompts::new(&LAPTOP, &hardware("laptop-4-fast.yaml"), (64, 2048), 0).unwrap();
        let common =
            |one: &Prompt, two: &Prompt| one.hashes.iter().zip(two.hashes.iter()).filter(|(a, b)| a == b).count();
        let (first, second, other) = (&prompts.all[0], &prompts.all[1], &prompts.all[2]);
        assert_eq!((first.server.hashes.len(), common(&first.server, &second.server)), (87, 75));
        assert_eq!((first.picker.hashes.len(), common(&first.picker, &second.picker)), (28, 23));
        assert_eq!((common(&first.server, &other.server), common(&first.picker, &other.picker)), (0, 0));
    }

    #[test]
    fn a_prompt_that_could_never_be_admitted_is_refused_before_anything_runs() {
        let shape = Shape::Distinct { prompts: 4, input: Lengths::fixed(17_990), output: Lengths::fixed(60) };
        let error = Prompts::new(&shape, &hardware("laptop-4-fast.yaml"), (64, 0), 0).unwrap_err().to_string();
        assert!(error.contains("18000") && error.contains("never"), "{error}");
        let none = Shape::Distinct { prompts: 0, input: Lengths::fixed(1), output: Lengths::fixed(1) };
        assert!(matches!(Prompts::new(&none, &hardware("laptop-4.yaml"), (64, 0), 0), Err(Error::NoPrompts)));
    }

    #[test]
    fn lengths_stay_within_their_bounds_around_their_mean() {
        let input = Lengths { mean: 500.0, deviation: 100.0, min: 200, max: 800 };
        let shape = Shape::Distinct { prompts: 4000, input, output: Lengths::fixed(7) };
        let prompts = Prompts::new(&shape, &hardware("laptop-4-fast.yaml"), (64, 0), 1).unwrap();
        let tokens: Vec<u32> = prompts.all.iter().map(|asked| asked.server.tokens).collect();
        assert!(tokens.iter().all(|tokens| (200..=800).contains(tokens)));
        let mean = tokens.iter().map(|&tokens| f64::from(tokens)).sum::<f64>() / 4000.0;
        assert!((mean - 500.0).abs() < 8.0, "{mean}");
    }
}
